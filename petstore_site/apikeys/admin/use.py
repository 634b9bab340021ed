"""The use of keys in the back office."""

from typing import ClassVar

from django.contrib import admin

from history.admin import RecordAdmin, number
from petstore_site.apikeys.models import KeyUsage


@admin.register(KeyUsage)
class KeyUsageAdmin(RecordAdmin):
    """How much each key was used, to be read; the list behind the figures of the dashboard."""

    list_display = ("key", "day", "route", "answers", number("count"))
    list_display_links = None
    list_filter = ("day",)
    linked_by: ClassVar = {"key", "route", "status_class"}
    list_select_related = ("key",)
    search_fields = ("key__name", "=key__key_id", "=route")
    ordering = ("-day", "-count")
    show_full_result_count = False

    @admin.display(description="Answers", ordering="status_class")
    def answers(self, usage: KeyUsage) -> str:
        """Return the class of the status, such as 4xx."""
        return f"{usage.status_class}xx"
