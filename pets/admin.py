"""Animals in the back office, with their history and the imports that brought them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.timezone import localtime
from simple_history.admin import SimpleHistoryAdmin

from pets.models import ImportRun, Pet


@admin.register(Pet)
class PetAdmin(SimpleHistoryAdmin):  # type: ignore[misc]  # the library has no types
    """Search, filter, add and change; the list has no total of the unfiltered catalogue beside its own."""

    list_display = ["name", "id", "category", "status", "external_reference", "created_at"]
    list_filter = ["status", "category", "created_at"]
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


@admin.register(ImportRun)
class ImportRunAdmin(admin.ModelAdmin):
    """The record of imports, to be read; `import_pets` and `undo_import` write it."""

    list_display = ["id", "file_name", "state", "created", "updated", "unchanged", "refused", "who", "started"]
    list_filter = ["state", "started_at"]
    search_fields = ["file_name", "=sha256"]

    @admin.display(description="started", ordering="-started_at")
    def started(self, run: ImportRun) -> str:
        """Return when it began, to the minute."""
        return f"{localtime(run.started_at):%Y-%m-%d %H:%M}"

    def has_add_permission(self, _request: HttpRequest) -> bool:
        """Return that nobody adds one here."""
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Return that nobody changes one."""
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Return that nobody deletes one: the history points at it."""
        return False
