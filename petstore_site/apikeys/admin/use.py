"""The use of keys in the back office."""

from django.contrib import admin
from django.http import HttpRequest

from petstore_site.apikeys.models import KeyUsage


@admin.register(KeyUsage)
class KeyUsageAdmin(admin.ModelAdmin):
    """How much each key was used, to be read; the list behind the figures of the dashboard."""

    list_display = ("key", "day", "route", "answers", "count")
    list_display_links = None
    list_filter = ("day",)
    list_select_related = ("key",)
    search_fields = ("key__name", "=key__key_id", "=route")
    ordering = ("-day", "-count")
    show_full_result_count = False

    @admin.display(description="Answers", ordering="status_class")
    def answers(self, usage: KeyUsage) -> str:
        """Return the class of the status, such as 4xx."""
        return f"{usage.status_class}xx"

    def has_add_permission(self, _request: HttpRequest) -> bool:
        """Return that nobody adds one here."""
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: KeyUsage | None = None) -> bool:
        """Return that nobody changes one."""
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: KeyUsage | None = None) -> bool:
        """Return that nobody deletes one."""
        return False
