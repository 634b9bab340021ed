"""The use of keys in the back office."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from history.admin import RecordAdmin, column, moment
from petstore_site.apikeys.admin.summary import summary
from petstore_site.apikeys.models import KeyUsage
from petstore_site.apikeys.routes import operation


@admin.register(KeyUsage)
class KeyUsageAdmin(RecordAdmin):
    """How much each key was used, to be read: a page for all, and the list behind its figures and the dashboard's."""

    list_display = ("key_id", moment("day", form="day"), "called", "answers", column("count", "{:,}".format))
    list_display_links = None
    fields = ("key_id", "day", "called", "answers", "count")
    list_filter = ("day",)
    linked_by: ClassVar = {"key", "route", "status_class"}
    list_select_related = ("key",)
    search_fields = ("=key__key_id", "=route")
    ordering = ("-day", "-count")
    show_full_result_count = False

    @admin.display(description="Key", ordering="key__name")
    def of_key(self, usage: KeyUsage) -> str:
        """Return the key by its name, with whom to ask, for readers who can see keys."""
        return render_to_string("admin/apikeys/apikey/named.html", {"key": usage.key, "may_see_keys": True})

    @admin.display(description="Key", ordering="key__key_id")
    def key_id(self, usage: KeyUsage) -> str:
        return usage.key.key_id

    def get_list_display(self, request: HttpRequest) -> Any:
        """Name the keys only for readers who can see them."""
        return ["of_key", *self.list_display[1:]] if _may_see_keys(request) else self.list_display

    def get_fields(self, request: HttpRequest, _obj: Any = None) -> Any:
        return ["of_key", *self.fields[1:]] if _may_see_keys(request) else self.fields

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Search the names only for them, too."""
        return [*self.search_fields, "key__name"] if _may_see_keys(request) else self.search_fields

    @admin.display(description="Operation", ordering="route")
    def called(self, usage: KeyUsage) -> str:
        return operation(usage.route)

    @admin.display(description="Responses", ordering="status_class")
    def answers(self, usage: KeyUsage) -> str:
        return f"{usage.status_class}xx"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the last days, or the list if a link or a filter asks for some of it."""
        if self.known_parameters(request) or request.method != "GET":
            return super().changelist_view(request, extra_context)
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self.page(request, "summary.html", title="Usage", may_see_keys=_may_see_keys(request), **summary())


def _may_see_keys(request: Any) -> bool:
    return bool(request.user.has_perm("apikeys.view_apikey"))
