"""What all lists and forms of the back office share, and how it shows a record that nobody changes."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ERROR_FLAG, IGNORED_PARAMS, PAGE_VAR
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import SuspiciousOperation
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from history.times import NOTHING, when
from history.values import row_number

GONE = "Not found. Perhaps someone deleted it."

LIST_PARAMETERS = {*IGNORED_PARAMS, PAGE_VAR, ERROR_FLAG}
"""Django's own names in the query of a list."""

LOOKUPS = "(__id)?(__(exact|gte|lte|lt|gt|isnull))?"
"""What Django's filters put behind the name of a field."""


def moment(field: str, title: str = "", form: str = "said") -> Any:
    """Return a column of a list that shows the time in a field as `when` writes it."""

    @admin.display(description=title or field.removesuffix("_at").replace("_", " "), ordering=field)
    def shown(row: Any) -> str:
        return when(getattr(row, field), form)

    shown.__name__ = field
    return shown


class OfficeAdmin(admin.ModelAdmin):
    """A list that is filtered only by what it declares: Django allows any look-up of any column, also of a digest."""

    empty_value_display: ClassVar = NOTHING
    linked_by: ClassVar[set[str]] = set()
    """Fields that other pages link to the list by, beside those in `list_filter`."""

    @property
    def media(self) -> forms.Media:
        """Return none of Django's scripts: no form needs them. A form's widgets and `class Media` bring their own."""
        return forms.Media()

    def page(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        """Return a page of ours; its template is in the folder of the model, or in that of all."""
        shared = self.admin_site.each_context(request) | {"opts": self.opts}
        folder = f"admin/{self.opts.app_label}/{self.opts.model_name}"
        return TemplateResponse(request, [f"{folder}/{template}", f"admin/{template}"], shared | context)

    def formfield_for_dbfield(self, *given: Any, **options: Any) -> Any:
        """Return the field without the buttons that open another form in a window of its own."""
        field = super().formfield_for_dbfield(*given, **options)
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        return field

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list with the one script that it needs."""
        scripts = {"media": forms.Media(js=["admin/js/actions.js"])}
        return super().changelist_view(request, scripts | (extra_context or {}))

    def response_add(self, request: Any, obj: Any, *given: Any) -> HttpResponse:
        request.said = format_html("“{}” was added.", obj), ""
        return super().response_add(request, obj, *given)

    def response_change(self, request: Any, obj: Any) -> HttpResponse:
        request.said = self.said_of_change(obj)
        return super().response_change(request, obj)

    def said_of_change(self, obj: Any) -> tuple[str, str]:
        """Return what is said of a form that was saved, and the tags of the message."""
        return format_html("“{}” was saved.", obj), ""

    def response_delete(self, request: Any, obj_display: str, obj_id: Any) -> HttpResponse:
        request.said = self.said_of_deletion(request, obj_display, obj_id)
        return super().response_delete(request, obj_display, obj_id)

    def said_of_deletion(self, _request: HttpRequest, name: str, _number: Any) -> tuple[str, str]:
        """Return what is said of a thing that was deleted, and the tags of the message."""
        return format_html("“{}” was deleted. You can't undo it.", name), ""

    def message_user(self, request: Any, message: Any, level: Any = messages.INFO, *given: Any, **more: Any) -> None:
        """Say it, in our words if Django's are about the thing that was saved."""
        said = getattr(request, "said", None)
        if level == messages.SUCCESS and said:
            message, more["extra_tags"] = said
        super().message_user(request, message, level, *given, **more)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, *_given: Any) -> HttpResponse:
        self.message_user(request, GONE, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:index"))

    def delete_model(self, _request: HttpRequest, obj: Any) -> None:
        """Delete it as it is now, if no one has: what was read before may have been changed or deleted since.

        It is locked before what belongs to it, as where it is saved.
        """
        for thing in self.model.objects.select_for_update().filter(pk=obj.pk):
            thing.delete()

    def delete_queryset(self, request: Any, queryset: Any) -> None:
        """Delete the selected rows, and say how many unless there is a message already."""
        count, names = len(queryset), (self.opts.verbose_name, self.opts.verbose_name_plural)
        if not hasattr(request, "said"):
            done = "was deleted" if count == 1 else "were deleted"
            request.said = f"{count} {names[count != 1]} {done}. You can't undo it.", ""
        super().delete_queryset(request, queryset)

    @admin.display(description="")
    def action_checkbox(self, obj: Any) -> Any:
        box = forms.CheckboxInput({"class": "action-select", "aria-label": f"Select {obj}"}, lambda _value: False)
        return box.render(ACTION_CHECKBOX_NAME, str(obj.pk))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list, without the parameters that are none of ours."""
        request.GET = self.known_parameters(request)  # type: ignore[assignment]  # a copy
        return super().get_changelist_instance(request)

    def known_parameters(self, request: HttpRequest) -> QueryDict:
        """Return the query without what names no column and no filter, such as `utm_source` of a link in a mail."""
        known, columns = request.GET.copy(), {field.name for field in self.opts.get_fields()}
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
        item: Any
        for item in self.list_filter:
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
        return super().response_action(request, *args, **kwargs)


def _parameters(filter_class: Any) -> Sequence[str]:
    """Return the names in the query that a filter reads, as its class says."""
    return getattr(filter_class, "parameters", None) or [filter_class.parameter_name]


class RecordAdmin(OfficeAdmin):
    """What the store itself wrote down: nobody adds, changes or deletes it by hand."""

    def has_add_permission(self, _request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False
