"""The record of imports in the back office."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.timezone import localtime

from pets.models import ImportRun


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
