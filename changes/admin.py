"""How the back office shows and changes a thing that has a history, and shows a record that nobody changes."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ERROR_FLAG, IGNORED_PARAMS, PAGE_VAR
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import IntegrityError
from django.db.models.constants import LOOKUP_SEP
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from simple_history.admin import SimpleHistoryAdmin

from changes.conflicts import MEANWHILE, SeenForm
from changes.numbers import row_number
from changes.pages import EditPages
from changes.paging import HistoryPage, page_of
from changes.times import NOTHING, when
from changes.undoing import labels

NOT_SAVED = f"Not saved. {MEANWHILE} Try again."

GONE = "Not found. Perhaps someone deleted it."

LIST_PARAMETERS = {*IGNORED_PARAMS, PAGE_VAR, ERROR_FLAG}
"""Django's own names in the query of a list."""

LOOKUPS = "(__id)?(__(exact|gte|lte|lt|gt|isnull))?"
"""What Django's filters put behind the name of a field."""


def column(field: str, show: Callable[[Any], str], title: str = "") -> Any:
    """Return a column of a list that shows the value of a field so."""

    @admin.display(description=title or field.removesuffix("_at").replace("_", " "), ordering=field)
    def shown(row: Any) -> str:
        return show(getattr(row, field))

    shown.__name__ = field
    return shown


def moment(field: str, title: str = "", form: str = "said") -> Any:
    """Return a column that shows the time in a field as `when` writes it."""
    return column(field, partial(when, form=form), title)


class OfficeAdmin:
    """Mix it into a `ModelAdmin`: its list is filtered only by what it declares.

    Django allows any look-up of any column, also of a digest.
    """

    empty_value_display: ClassVar = NOTHING
    linked_by: ClassVar[set[str]] = set()
    """Fields that other pages link to the list by, beside those in `list_filter`."""

    @property
    def media(self) -> forms.Media:
        """Return none of Django's scripts: no form needs them. A form's widgets and `class Media` bring their own."""
        return forms.Media()

    def formfield_for_dbfield(self, *given: Any, **options: Any) -> Any:
        """Return the field without the buttons that open another form in a window of its own."""
        field = super().formfield_for_dbfield(*given, **options)  # type: ignore[misc]  # of the ModelAdmin
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        return field

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list with the one script that it needs."""
        scripts = {"media": forms.Media(js=["admin/js/actions.js"])}
        answer: HttpResponse = super().changelist_view(request, scripts | (extra_context or {}))  # type: ignore[misc]  # as above
        return answer

    def response_add(self, request: Any, obj: Any, *given: Any) -> HttpResponse:
        request.said = format_html("“{}” was added.", obj), ""
        answer: HttpResponse = super().response_add(request, obj, *given)  # type: ignore[misc]  # as above
        return answer

    def response_change(self, request: Any, obj: Any) -> HttpResponse:
        request.said = self.said_of_change(obj)
        answer: HttpResponse = super().response_change(request, obj)  # type: ignore[misc]  # as above
        return answer

    def said_of_change(self, obj: Any) -> tuple[str, str]:
        """Return what is said of a form that was saved, and the tags of the message."""
        return format_html("“{}” was saved.", obj), ""

    def response_delete(self, request: Any, obj_display: str, obj_id: Any) -> HttpResponse:
        request.said = self.said_of_deletion(request, obj_display, obj_id)
        answer: HttpResponse = super().response_delete(request, obj_display, obj_id)  # type: ignore[misc]  # as above
        return answer

    def said_of_deletion(self, _request: HttpRequest, name: str, _number: Any) -> tuple[str, str]:
        """Return what is said of a thing that was deleted, and the tags of the message."""
        return format_html("“{}” was deleted.", name), ""

    def message_user(self, request: Any, message: Any, level: Any = messages.INFO, *given: Any, **more: Any) -> None:
        """Say it, in our words if Django's are about the thing that was saved."""
        said = getattr(request, "said", None)
        if level == messages.SUCCESS and said:
            message, more["extra_tags"] = said
        super().message_user(request, message, level, *given, **more)  # type: ignore[misc]  # as above

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, *_given: Any) -> HttpResponse:
        """Say that it is gone, in our words, and go on."""
        self.message_user(request, GONE, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:index"))

    def delete_queryset(self, request: Any, queryset: Any) -> None:
        """Delete the selected rows, and say how many unless there is a message already."""
        count, names = len(queryset), (self.opts.verbose_name, self.opts.verbose_name_plural)  # type: ignore[attr-defined]  # of the ModelAdmin
        if not hasattr(request, "said"):
            request.said = f"{count} {names[count != 1]} {'was' if count == 1 else 'were'} deleted.", ""
        super().delete_queryset(request, queryset)  # type: ignore[misc]  # as above

    @admin.display(description="")
    def action_checkbox(self, obj: Any) -> Any:
        box = forms.CheckboxInput({"class": "action-select", "aria-label": f"Select {obj}"}, lambda _value: False)
        return box.render(ACTION_CHECKBOX_NAME, str(obj.pk))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list, without the parameters that are none of ours."""
        request.GET = self.known_parameters(request)  # type: ignore[assignment]  # a copy
        return super().get_changelist_instance(request)  # type: ignore[misc]  # of the ModelAdmin

    def known_parameters(self, request: HttpRequest) -> QueryDict:
        """Return the query without what names no column and no filter, such as `utm_source` of a link in a mail."""
        known, columns = request.GET.copy(), {field.name for field in self.opts.get_fields()}  # type: ignore[attr-defined]  # of the ModelAdmin
        for name in request.GET:
            is_ours = name in LIST_PARAMETERS or self.lookup_allowed(name, "")
            if not is_ours and name.split(LOOKUP_SEP)[0] not in columns:
                del known[name]
        return known

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        """Return whether this parameter of the query belongs to a filter."""
        return any(re.fullmatch(f"{field}{LOOKUPS}", lookup) for field in self._declared())

    def _declared(self) -> set[str]:
        declared = set(self.linked_by)
        for item in self.list_filter:  # type: ignore[attr-defined]  # of the ModelAdmin
            if isinstance(item, type):
                declared |= set(_parameters(item))
            else:
                declared.add(str(item if isinstance(item, str) else item[0]))
        return declared

    def response_action(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Do an action with the selected rows; a selection that is no number comes from no form of ours."""
        if None in map(row_number, request.POST.getlist(ACTION_CHECKBOX_NAME)):
            message = "A selection of rows with a key that is no number"
            raise SuspiciousOperation(message)
        return super().response_action(request, *args, **kwargs)  # type: ignore[misc]  # as above


def _parameters(filter_class: Any) -> Sequence[str]:
    """Return the names in the query that a filter reads, as its class says."""
    return getattr(filter_class, "parameters", None) or [filter_class.parameter_name]


class HistoryAdmin(OfficeAdmin, EditPages, SimpleHistoryAdmin):  # type: ignore[misc]  # the library has no types
    """Shows who did what, and every former state, for reading only."""

    object_history_template = "admin/history.html"

    def history_view_title(self, _request: HttpRequest, obj: Any) -> str:
        return f"History of {obj}"

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show a page of the changes. The library's view counts them, and fails for an address without a number."""
        _number(object_id)
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        page = page_of(self.get_history_queryset(request, self.model.history, "id", object_id), request.GET)
        thing = self.model.objects.filter(pk=object_id).first()
        if thing is None and not page.changes:
            raise Http404
        shown = thing or page.changes[0].instance
        context = self.admin_site.each_context(request) | {
            "title": self.history_view_title(request, shown),
            "opts": self.opts,
            "object": shown,
            "is_gone": thing is None,
            "page": page,
            "may_undo": thing is not None and self.has_change_permission(request, thing),
        }
        context |= self.history_context(request, page) | (extra_context or {})
        return TemplateResponse(request, self.object_history_template, context)

    def history_context(self, request: HttpRequest, page: HistoryPage) -> dict[str, Any]:
        """Return what the template shows of the changes beside themselves: here, it notes in each what changed."""
        self.set_history_delta_changes(request, [*page.changes, *filter(None, [page.former])])
        return {}

    def set_history_delta_changes(self, request: HttpRequest, page: Sequence[Any], **kwargs: Any) -> None:
        """Let each change on the page know whether it changed only fields whose edits can be undone."""
        super().set_history_delta_changes(request, page, **kwargs)
        can_be = {capfirst(label) for label in labels(self.model, self.undoable)}
        for change in page:
            fields = {capfirst(str(delta["field"])) for delta in getattr(change, "history_delta_changes", [])}
            change.is_edit = bool(fields) and change.history_type == "~" and fields <= can_be

    def said_of_change(self, obj: Any) -> tuple[str, str]:
        """Return what is said of a form that was saved, with a button that undoes it if it changed something."""
        address = self.undo_address(obj)
        return format_html("“{}” was saved.", obj), f"undo {address}" if address else ""

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_undo_edit"
        view = self.admin_site.admin_view(self.undo_edit_view)
        return [path("<object_id>/undo/<version_id>/", view, name=name), *super().get_urls()]


def _number(object_id: str) -> None:
    if row_number(object_id) is None:
        raise Http404


class ChangesAdmin(HistoryAdmin):
    """Saves nothing over what its user has not seen, and no row of history for a change of nothing."""

    form = SeenForm

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Return what a form shows, and for a change the field that says which state is changed."""
        seen = ["seen"] if obj is not None and self.has_change_permission(request, obj) else []
        return [*self.fields, *seen]

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form or save it; what others committed after it was checked may make that impossible."""
        try:
            response: HttpResponse = super().changeform_view(request, *args, **kwargs)
        except IntegrityError:
            self.message_user(request, NOT_SAVED, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        """Save what was changed, if anything was."""
        if not change or form.changed_data:
            super().save_model(request, obj, form, change)


class RecordAdmin(OfficeAdmin, admin.ModelAdmin):
    """What the store itself wrote down: nobody adds, changes or deletes it by hand."""

    def has_add_permission(self, _request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False
