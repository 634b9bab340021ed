"""The request desk: what happened to the request with the ID that a caller sends you."""

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_safe

from history.admin import RecordAdmin
from history.times import when
from petstore_site.apikeys.routes import address_of
from petstore_site.request_desk.models import KEPT, MOST_RECORDS, RecordGap, RequestRecord
from petstore_site.request_desk.story import MOST_FOUND, Story, alike, story_of

LISTED = 10_000
"""Records that the list shows, so that its filters and its count stay quick; the desk finds them all."""

PASTED = re.compile(r"""(?i)^(?:.*x-request-id['"]?\s*[:=])?\s*['"]?([a-z0-9._-]{1,128})['"]?\s*$""")


class DeskForm(forms.Form):
    """One field for an ID, pasted with or without blanks, quotes or the header's name."""

    request_id = forms.CharField(
        label="X-Request-ID", max_length=500, widget=forms.TextInput(attrs={"size": 36, "autocomplete": "off"})
    )

    def clean_request_id(self) -> str:
        """Return the ID alone."""
        match = PASTED.match(self.cleaned_data["request_id"])
        if match is None:
            message = "This is not a request ID. It has 1 to 128 letters, digits, dots, hyphens and underscores."
            raise forms.ValidationError(message)
        return match[1]


class CodeFilter(admin.AllValuesFieldListFilter):
    """Filters the list by the codes that are in it; a write that succeeded has none."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Return the choices, each with a name."""
        for choice in super().choices(changelist):
            yield choice | {"display": choice["display"] or "none"}


@admin.register(RequestRecord)
class RequestRecordAdmin(RecordAdmin):
    """The newest records as a list, and the desk that finds each by its ID. Read-only."""

    list_display = ("time", "status", "code", "operation", "key", "request_id")
    list_display_links = None
    list_filter = (
        ("status", admin.AllValuesFieldListFilter),
        ("code", CodeFilter),
        ("key", admin.RelatedOnlyFieldListFilter),
    )
    list_select_related = ("key",)
    ordering = ("-pk",)
    sortable_by = ()
    show_full_result_count = False

    @admin.display(description="When")
    def time(self, record: RequestRecord) -> str:
        """Return the time, with a link to everything recorded."""
        address = reverse("admin:request_desk_requestrecord_desk", query={"request_id": record.request_id})
        return format_html('<a href="{}">{}</a>', address, when(record.at))

    @admin.display(description="Operation")
    def operation(self, record: RequestRecord) -> str:
        """Return method and path, without the caller's values."""
        return f"{record.method} {address_of(record.route)}"

    def get_queryset(self, _request: HttpRequest) -> Any:
        """Return the newest records."""
        return RequestRecord.objects.newest(LISTED).kept()

    def get_urls(self) -> list[URLPattern]:
        """Add the desk."""
        desk = self.admin_site.admin_view(self.desk_view)
        return [path("desk/", desk, name="request_desk_requestrecord_desk"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the desk's form above the list, and say how many it has at most."""
        more = {"title": "Request desk", "listed": f"{LISTED:,}", "form": DeskForm()}
        return super().changelist_view(request, more | (extra_context or {}))

    @method_decorator(require_safe)
    def desk_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for an ID, and show what happened to the requests with it, newest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = DeskForm(request.GET if "request_id" in request.GET else None)
        asked = form.cleaned_data["request_id"] if form.is_valid() else ""
        found = _find(asked)
        context = self.admin_site.each_context(request) | {
            "title": "Request desk",
            "opts": self.opts,
            "form": form,
            "asked": asked,
            "found": found,
            "alike": alike(found[0].record) if found else [],
            "most_found": MOST_FOUND,
            "most_records": f"{MOST_RECORDS:,}",
            "kept": KEPT.days,
            "left_out": RecordGap.objects.kept().aggregate(sum=Sum("count"))["sum"],
            "may_see_keys": request.user.has_perm("apikeys.view_apikey"),
        }
        return TemplateResponse(request, "admin/request_desk/requestrecord/desk.html", context)


def _find(request_id: str) -> list[Story]:
    if not request_id:
        return []
    records = RequestRecord.objects.kept().filter(request_id=request_id).select_related("key").order_by("-pk")
    return [story_of(record) for record in records[:MOST_FOUND]]
