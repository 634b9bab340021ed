"""How the back office shows and changes a thing that has a history, and shows a record that nobody changes."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import SuspiciousOperation
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe
from simple_history.admin import SimpleHistoryAdmin

from history.conflicts import SeenForm

MEANWHILE = "Not saved. Someone else just used a value that must be unique, or deleted what this belongs to. Try again."


LOOKUPS = "(__id)?(__(exact|gte|lte|lt|gt|isnull))?"
"""What Django's filters put behind the name of a field."""


def number(field: str) -> Any:
    """Return a column that shows the number in a field with a comma between thousands, as everything else does."""

    @admin.display(description=field.replace("_", " "), ordering=field)
    def shown(row: Any) -> str:
        return f"{getattr(row, field):,}"

    shown.__name__ = field
    return shown


class OfficeAdmin:
    """Mix it into a `ModelAdmin`: its list is filtered only by what it declares.

    Django allows any look-up of any column, also of a digest.
    """

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
        if not all(re.fullmatch("[0-9]{1,18}", key) for key in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            message = "A selection of rows with a key that is no number"
            raise SuspiciousOperation(message)
        return super().response_action(request, *args, **kwargs)  # type: ignore[misc]  # as above


def _parameters(filter_class: Any) -> Sequence[str]:
    """Return the names in the query that a filter reads, as its class says."""
    return getattr(filter_class, "parameters", None) or [filter_class.parameter_name]


class HistoryAdmin(OfficeAdmin, SimpleHistoryAdmin):  # type: ignore[misc]  # the library has no types
    """Shows who did what, and every former state, for reading only."""

    object_history_template = "admin/history.html"

    def history_view_title(self, _request: HttpRequest, obj: Any) -> str:
        """Return the heading."""
        return f"History of {obj}"

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show the changes; the library's view fails for an address without a number."""
        _number(object_id)
        response: HttpResponse = super().history_view(request, object_id, extra_context)
        return response

    @method_decorator(require_safe)
    def history_form_view(self, request: HttpRequest, object_id: str, version_id: str, **kwargs: Any) -> HttpResponse:
        """Show the thing as it was; the library's view would also write it, without the permission to change it."""
        _number(object_id)
        response: HttpResponse = super().history_form_view(request, object_id, version_id, **kwargs)
        return response


def _number(object_id: str) -> None:
    if not re.fullmatch("[0-9]{1,18}", object_id):
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
            self.message_user(request, MEANWHILE, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        """Save what was changed, if anything was."""
        if not change or form.changed_data:
            super().save_model(request, obj, form, change)

    def get_history_queryset(self, *args: Any) -> Any:
        """Return the changes in the order in which they were made, newest first."""
        return super().get_history_queryset(*args).order_by("-history_id")

    def set_history_delta_changes(self, request: HttpRequest, page: Sequence[Any], **kwargs: Any) -> None:
        """Let each change on the page know what was before it, the oldest one too."""
        changes = list(page)
        if changes:
            oldest = changes[-1]
            earlier = type(oldest).objects.filter(id=oldest.id, history_id__lt=oldest.history_id)
            changes += earlier.order_by("-history_id")[:1]
        super().set_history_delta_changes(request, changes, **kwargs)


class RecordAdmin(OfficeAdmin, admin.ModelAdmin):
    """What the store itself wrote down: nobody adds, changes or deletes it by hand."""

    def has_add_permission(self, _request: HttpRequest) -> bool:
        """Return that nobody adds one here."""
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Return that nobody changes one."""
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Return that nobody deletes one."""
        return False
