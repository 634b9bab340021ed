"""Animals in the back office, with their history."""

from typing import Any

from django.contrib import admin
from simple_history.admin import SimpleHistoryAdmin

from pets.models import Pet


@admin.register(Pet)
class PetAdmin(SimpleHistoryAdmin):  # type: ignore[misc]  # the library has no types
    """Search, filter, add and change; the list has no total of the unfiltered catalogue beside its own."""

    list_display = ["name", "id", "category", "status", "external_reference", "created_at"]
    list_filter = ["status", "category", "created_at", "sale__day"]
    list_select_related = ["category"]
    search_fields = ["name", "=id", "=external_reference"]
    autocomplete_fields = ["category"]
    readonly_fields = ["created_at", "updated_at"]
    ordering = ["-id"]
    show_full_result_count = False
    object_history_list_template = "admin/pets/history.html"

    def get_history_queryset(self, *args: Any) -> Any:
        """Return the changes with the imports they came from."""
        return super().get_history_queryset(*args).select_related("import_run")
