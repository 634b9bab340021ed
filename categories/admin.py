"""Categories in the back office, with their history."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db import IntegrityError
from django.db.models import ProtectedError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from categories.models import Category
from categories.similar import Similar
from history.admin import moment
from history.conflicts import SeenForm
from history.pages import ChangesAdmin

COUNTED = 1_000
"""Animals of a category that are counted to say why it cannot be deleted."""

TIMES = [moment("created_at", "added", "minute"), moment("updated_at", "changed", "minute")]

TOO_SIMILAR = "This is too similar to “{}”. If it is another category, say so below."

USED_MEANWHILE = "Nothing was deleted. Someone just added an animal to the category. Reload the page."


class CategoryForm(SeenForm):
    """Asks once more before a name is saved that looks like that of another category: an import rejects it."""

    different = forms.BooleanField(required=False, label="It is another category", widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        name = self.cleaned_data.get("name")
        if name and "name" in self.changed_data:
            others = Category.objects.exclude(pk=self.instance.pk).values_list("name", flat=True)
            similar = Similar(others).find(name)
            if similar is not None:
                self.fields["different"].widget = forms.CheckboxInput()
                if not self.cleaned_data.get("different"):
                    self.add_error("name", TOO_SIMILAR.format(similar))
        return cleaned


@admin.register(Category)
class CategoryAdmin(ChangesAdmin):
    """Search, add, rename, choose an icon; a category that animals belong to cannot be deleted."""

    form = CategoryForm
    list_display = ["name"]  # the template has the columns
    radio_fields: ClassVar = {"icon": admin.HORIZONTAL}
    search_fields = ["name__matches"]
    undoable: ClassVar[list[Any]] = ["name", "icon"]
    fields: ClassVar = undoable
    readonly_fields = TIMES

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return what a form shows. A new category has no times yet."""
        may_save = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return [*super().get_fields(request, obj), *(["different"] if may_save else []), *(TIMES if obj else [])]

    def get_deleted_objects(self, objs: Iterable[Category], _request: HttpRequest) -> tuple[Any, ...]:
        """Return the names, and why some cannot be deleted: without reading the animals, which may be a million."""
        names = [str(category) for category in objs]
        used = [reason for category in objs if (reason := why_not(category))]
        return names, {"categories": len(names)}, set(), used

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return self._warned_if_used_meanwhile(request, super().changelist_view, request, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        return self._warned_if_used_meanwhile(request, super().delete_view, request, object_id, extra_context)

    def _warned_if_used_meanwhile(self, request: HttpRequest, view: Any, *args: Any) -> HttpResponse:
        try:
            response: HttpResponse = view(*args)
        except (ProtectedError, IntegrityError):
            self.message_user(request, USED_MEANWHILE, messages.ERROR)
            return HttpResponseRedirect(reverse("admin:categories_category_changelist"))
        return response


def why_not(category: Category) -> SafeString | None:
    """Return why the category cannot be deleted, with a link to the animals that it has; None if it can."""
    animals = category.pets.order_by().values_list("pk")[: COUNTED + 1].count()
    if not animals:
        return None
    return format_html(
        '“{}” has <a href="{}?category__id__exact={}">{}</a>. Move or delete them first.',
        category.name,
        reverse("admin:pets_pet_changelist"),
        category.pk,
        f"more than {COUNTED:,} animals" if animals > COUNTED else f"{animals:,} animal{'s' * (animals > 1)}",
    )
