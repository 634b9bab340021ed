"""A thing that has a history: its form, its history, undoing one edit, reading and restoring an old version."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst, get_text_list
from django.views.decorators.http import require_http_methods, require_POST
from simple_history.admin import SimpleHistoryAdmin

from history.acting import acting
from history.admin import OfficeAdmin
from history.conflicts import MEANWHILE, SeenForm, latest_change, latest_change_of_each
from history.edits import NotUndoneError, before, edited, labels, restore_version, undo_edit
from history.paging import HistoryPage, page_of
from history.times import to_the_minute
from history.values import row_number, shown

NOT_SAVED = f"Not saved. {MEANWHILE} Try again."


class HistoryAdmin(OfficeAdmin, SimpleHistoryAdmin):  # type: ignore[misc]  # the library has no types
    """Shows who did what, and every former state, for reading only."""

    undoable: ClassVar[Sequence[str]] = ()
    """The fields whose edits can be undone."""

    states: ClassVar[Sequence[str]] = ()
    """Those of them that are shown as a badge."""

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show a page of the changes. The library's view counts them, and fails for an address without a number."""
        if row_number(object_id) is None:
            raise Http404
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        page = page_of(self.get_history_queryset(request, self.model.history, "id", object_id), request.GET)
        thing = self.model.objects.filter(pk=object_id).first()
        if thing is None and not page.changes:
            raise Http404
        shown = thing or page.changes[0].instance
        context = {
            "title": f"History of {shown}",
            "object": shown,
            "is_gone": thing is None,
            "page": page,
            "may_undo": thing is not None and self.has_change_permission(request, thing),
        }
        context |= self.history_context(request, page) | (extra_context or {})
        return self.page(request, "history.html", **context)

    def history_context(self, _request: HttpRequest, page: HistoryPage) -> dict[str, Any]:
        """Return what the template shows of the changes beside themselves: here, it notes in each what changed."""
        for former, change in pairwise([page.former, *reversed(page.changes)]):
            names = edited(former, change)
            values = zip(labels(change, names), names, strict=True)
            change.edits = [(label, shown(former, name), shown(change, name)) for label, name in values]
            change.is_edit = bool(names) and {*names} <= {*self.undoable}
        return {}

    def said_of_change(self, obj: Any) -> tuple[str, str]:
        """Return what is said of a form that was saved, with a button that undoes it if it changed something."""
        address = self.undo_address(obj)
        return format_html("“{}” was saved.", obj), f"undo {address}" if address else ""

    def get_object(self, request: HttpRequest, object_id: str, *given: Any) -> Any:
        """Return it, and for a form what it has seen, which is read before: no one overwrites a change in between."""
        number = row_number(object_id) if request.method == "GET" else None
        seen = latest_change(self.model(pk=number)) if number else None
        thing = super().get_object(request, object_id, *given)
        if thing is not None:
            thing.latest_change = seen
        return thing

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_undo_edit"
        view = self.admin_site.admin_view(self.undo_edit_view)
        return [path("<object_id>/undo/<version_id>/", view, name=name), *super().get_urls()]

    @method_decorator(require_POST)
    def undo_edit_view(self, request: Any, object_id: str, version_id: str) -> HttpResponse:
        """Undo one edit, and go back to where the button was."""
        row, thing = self._version(object_id, version_id)
        if not self.has_change_permission(request, thing):
            raise PermissionDenied
        try:
            thing, fields = undo_edit(row, self.undoable, reader=request.user)
        except NotUndoneError as error:
            messages.error(request, _why_not(error))
        else:
            self._say(request, thing, f"“{thing}” has the former {get_text_list(fields, 'and')} again.")
        return HttpResponseRedirect(self._back(request, row.id))

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def history_form_view(self, request: Any, object_id: str, version_id: str, **_given: Any) -> HttpResponse:
        """Show an old version beside today's values, read only, or restore it."""
        row, thing = self._version(object_id, version_id)
        if not self.has_view_permission(request, thing):
            raise PermissionDenied
        if request.method != "POST":
            return self._version_page(request, row, thing)
        if not self.has_change_permission(request, thing):
            raise PermissionDenied
        seen = request.POST.get("seen", "")
        try:
            thing = restore_version(row, self.undoable, seen=row_number(seen) or 0, reader=request.user)
        except NotUndoneError as error:
            messages.error(request, _why_not(error))
            return HttpResponseRedirect(request.path)
        self._say(request, thing, f"“{thing}” has the values of {to_the_minute(row.history_date)} again.")
        return HttpResponseRedirect(self._back(request, row.id))

    def undo_address(self, thing: Any) -> str:
        """Return the address that undoes the newest edit if this request made it; nothing if it made none."""
        newest = thing.history.order_by("-history_id").first()
        is_ours = newest and newest.history_type == "~" and newest.request_id == acting().request_id
        return self.undoing_of(newest) if is_ours and self.undoable else ""

    def undoing_of(self, row: Any) -> str:
        return self._address("undo_edit", row.id, row.pk)

    def _version(self, object_id: str, version_id: str) -> tuple[Any, Any]:
        """Return a row of history, and the thing as it is today; None if it was deleted."""
        if None in {row_number(object_id), row_number(version_id)}:
            raise Http404
        rows = self.model.history.filter(id=object_id, pk=version_id)
        row = rows.first()
        if row is None:
            raise Http404
        with_latest = self.model.objects.annotate(latest_change=latest_change_of_each(self.model.history))
        return row, with_latest.filter(pk=object_id).first()

    def _version_page(self, request: HttpRequest, row: Any, thing: Any) -> HttpResponse:
        rows = type(row).objects.filter(id=row.id)
        values = [*self._values(row, thing)]
        context = {
            "title": f"As it was on {to_the_minute(row.history_date)}",
            "object": row if thing is None else thing,
            "row": row,
            "rows": [row],
            "thing": thing,
            "values": values,
            "different": sum(value["is_different"] for value in values),
            "seen": thing.latest_change if thing else None,
            "older": before(row),
            "newer": rows.filter(pk__gt=row.pk).order_by("pk").first(),
            "may_restore": thing and self.has_change_permission(request, thing),
        }
        return self.page(request, "version.html", **context)

    def _values(self, row: Any, thing: Any) -> Iterator[dict[str, Any]]:
        """Yield each field as it was then and is now, with the kinds of its badges if it is a state."""
        for name, label in zip(self.undoable, labels(row, self.undoable), strict=True):
            then, now = shown(row, name), shown(thing, name) if thing else ""
            badges = (getattr(row, name), getattr(thing, name, "")) if name in self.states else None
            differs = thing is not None and then != now
            yield {"label": capfirst(label), "then": then, "now": now, "badges": badges, "is_different": differs}

    def _say(self, request: HttpRequest, thing: Any, text: str) -> None:
        address = self.undo_address(thing)
        messages.success(request, text, extra_tags=f"undo {address}" if address else "")

    def _address(self, page: str, *arguments: Any) -> str:
        opts = self.opts
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=arguments)

    def _back(self, request: HttpRequest, number: int) -> str:
        return sent_from(request, otherwise=self._address("change", number))


class ChangesAdmin(HistoryAdmin):
    """Saves nothing over what its user has not seen, and no row of history for a change of nothing."""

    form = SeenForm

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return what a form shows, and for a change the field that says which state is changed."""
        seen = ["seen"] if obj is not None and self.has_change_permission(request, obj) else []
        return [*(self.fields or ()), *seen]

    def get_form(self, *args: Any, **kwargs: Any) -> Any:
        form: Any = super().get_form(*args, **kwargs)
        form.states = self.states
        return form

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form or save it; what others committed after it was checked may make that impossible."""
        try:
            response: HttpResponse = super().changeform_view(request, *args, **kwargs)
        except IntegrityError:
            self.message_user(request, NOT_SAVED, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        if not change or form.changed_data:
            super().save_model(request, obj, form, change)


def sent_from(request: HttpRequest, *, otherwise: str) -> str:
    """Return the page of the back office that the form says it was sent from; `otherwise` for any other address."""
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith(reverse("admin:index"))
    return back if is_ours else otherwise


def _why_not(error: NotUndoneError) -> Any:
    return format_html("{}{}", str(error), format_html_join("", " {}.", [(each,) for each in error.details]))
