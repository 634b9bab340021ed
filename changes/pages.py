"""The pages of a history on which one edit is undone, and an old version is read and restored."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods, require_POST

from changes.acting import acting
from changes.conflicts import latest_change
from changes.numbers import row_number
from changes.times import to_the_minute
from changes.undoing import NotUndoneError, before, labels, listed, restore_version, undo_edit
from changes.values import shown


class Value(NamedTuple):
    """A field of an old version beside that of today; `badges` are the kinds of its badge, if it is a state."""

    label: str
    then: str
    now: str
    badges: tuple[str, str] | None
    is_different: bool


class EditPages:
    """Mix it into a `ModelAdmin` of something that has a history."""

    undoable: ClassVar[Sequence[str]] = ()
    """The fields whose edits can be undone."""

    states: ClassVar[Sequence[str]] = ()
    """Those of them that are shown as a badge."""

    @method_decorator(require_POST)
    def undo_edit_view(self, request: Any, object_id: str, version_id: str) -> HttpResponse:
        """Undo one edit, and go back to where the button was."""
        row, thing = self._version(object_id, version_id)
        if not self.has_change_permission(request, thing):  # type: ignore[attr-defined]  # of the ModelAdmin
            raise PermissionDenied
        try:
            done = undo_edit(row, self.undoable, reader=request.user)
        except NotUndoneError as error:
            messages.error(request, _why_not(error))
        else:
            self._say(request, done.thing, f"“{done.thing}” has the former {listed(done.labels)} again.")
        return HttpResponseRedirect(self._back(request, row.id))

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def history_form_view(self, request: Any, object_id: str, version_id: str, **_given: Any) -> HttpResponse:
        """Show an old version beside today's values, read only, or restore it."""
        row, thing = self._version(object_id, version_id)
        if not self.has_view_permission(request, thing):  # type: ignore[attr-defined]  # as above
            raise PermissionDenied
        if request.method != "POST":
            return self._version_page(request, row, thing)
        if not self.has_change_permission(request, thing):  # type: ignore[attr-defined]  # as above
            raise PermissionDenied
        seen = request.POST.get("seen", "")
        try:
            done = restore_version(row, self.undoable, seen=row_number(seen) or 0, reader=request.user)
        except NotUndoneError as error:
            messages.error(request, _why_not(error))
            return HttpResponseRedirect(request.path)
        self._say(request, done.thing, f"“{done.thing}” has the values of {to_the_minute(row.history_date)} again.")
        return HttpResponseRedirect(self._back(request, row.id))

    def undo_address(self, thing: Any) -> str:
        """Return the address that undoes the newest edit if this request made it; nothing if it made none."""
        newest = thing.history.order_by("-history_id").first()
        is_ours = newest and newest.history_type == "~" and newest.request_id == acting().request_id
        return self.undoing_of(newest) if is_ours and self.undoable else ""

    def undoing_of(self, row: Any) -> str:
        """Return the address that undoes the edit of this row of history."""
        return self._address("undo_edit", row.id, row.pk)

    def _version(self, object_id: str, version_id: str) -> tuple[Any, Any]:
        """Return a row of history, and the thing as it is today; None if it was deleted."""
        if None in {row_number(object_id), row_number(version_id)}:
            raise Http404
        rows = self.model.history.filter(id=object_id, pk=version_id)  # type: ignore[attr-defined]  # as above
        row = rows.first()
        if row is None:
            raise Http404
        return row, self.model.objects.filter(pk=object_id).first()  # type: ignore[attr-defined]  # as above

    def _version_page(self, request: HttpRequest, row: Any, thing: Any) -> HttpResponse:
        rows = type(row).objects.filter(id=row.id)
        values = [*self._values(row, thing)]
        context = self.admin_site.each_context(request) | {  # type: ignore[attr-defined]  # as above
            "title": f"As it was on {to_the_minute(row.history_date)}",
            "opts": self.opts,  # type: ignore[attr-defined]  # as above
            "object": row if thing is None else thing,
            "row": row,
            "rows": [row],
            "thing": thing,
            "values": values,
            "different": sum(value.is_different for value in values),
            "seen": latest_change(thing) if thing else None,
            "older": before(row),
            "newer": rows.filter(pk__gt=row.pk).order_by("pk").first(),
            "may_restore": thing and self.has_change_permission(request, thing),  # type: ignore[attr-defined]  # as above
        }
        return TemplateResponse(request, "admin/version.html", context)

    def _values(self, row: Any, thing: Any) -> Iterator[Value]:
        for name, label in zip(self.undoable, labels(row, self.undoable), strict=True):
            then, now = shown(row, name), shown(thing, name) if thing else ""
            badges = (getattr(row, name), getattr(thing, name, "")) if name in self.states else None
            yield Value(capfirst(label), then, now, badges, thing is not None and then != now)

    def _say(self, request: HttpRequest, thing: Any, text: str) -> None:
        address = self.undo_address(thing)
        messages.success(request, text, extra_tags=f"undo {address}" if address else "")

    def _address(self, page: str, *arguments: Any) -> str:
        opts = self.opts  # type: ignore[attr-defined]  # as above
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=arguments)

    def _back(self, request: HttpRequest, number: int) -> str:
        return sent_from(request, otherwise=self._address("change", number))


def sent_from(request: HttpRequest, *, otherwise: str) -> str:
    """Return the page of the back office that the form says it was sent from; `otherwise` for any other address."""
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith(reverse("admin:index"))
    return back if is_ours else otherwise


def _why_not(error: NotUndoneError) -> Any:
    return format_html("{}{}", str(error), format_html_join("", " {}.", [(each,) for each in error.details]))
