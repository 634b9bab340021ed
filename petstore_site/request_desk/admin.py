"""The request desk: what happened to the request with the ID that a caller sends you."""

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from history.admin import RecordAdmin
from petstore_site.request_desk.listing import FILTERS, RequestList
from petstore_site.request_desk.models import KEPT, MOST_RECORDS, RequestRecord
from petstore_site.request_desk.story import MOST_FOUND, alike, story_of

LISTED = 10_000
"""Records that the list shows, so that its filters and its count stay quick; the desk finds them all."""

PASTED = re.compile(r"""(?i)^(?:.*x-request-id['"]?\s*[:=])?\s*['"]?([a-z0-9._-]{1,128})['"]?\s*$""")


class DeskForm(forms.Form):
    """One field for an ID, pasted with or without blanks, quotes or the header's name."""

    request_id = forms.CharField(
        label="X-Request-ID",
        max_length=500,
        widget=forms.TextInput(attrs={"size": 36, "autocomplete": "off", "placeholder": "X-Request-ID, 32 characters"}),
    )

    def clean_request_id(self) -> str:
        match = PASTED.match(self.cleaned_data["request_id"])
        if match is None:
            message = "This is not a request ID. It has 1 to 128 letters, digits, dots, hyphens and underscores."
            raise forms.ValidationError(message)
        return match[1]


@admin.register(RequestRecord)
class RequestRecordAdmin(RecordAdmin):
    """The newest records as a list, and the desk that finds each by its ID. Read-only."""

    list_display = ("request_id",)  # the template has the columns
    list_filter = FILTERS
    list_select_related = ("key",)
    ordering = ("-pk",)
    sortable_by = ()
    show_full_result_count = False

    def get_queryset(self, _request: HttpRequest) -> Any:
        return RequestRecord.objects.newest(LISTED).kept()

    def get_changelist(self, request: HttpRequest, **_kwargs: Any) -> type[RequestList]:  # noqa: ARG002 - Django's signature
        return RequestList

    def get_urls(self) -> list[URLPattern]:
        desk = self.admin_site.admin_view(self.desk_view)
        return [path("desk/", desk, name="request_desk_requestrecord_desk"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        more = {
            "listed": f"{LISTED:,}",
            "kept": KEPT.days,
            "form": DeskForm(),
            "may_see_keys": request.user.has_perm("apikeys.view_apikey"),
        }
        return super().changelist_view(request, more | (extra_context or {}))

    def change_view(self, request: HttpRequest, object_id: str, *_given: Any, **_more: Any) -> HttpResponse:
        """Redirect to the desk, which has the story of a request."""
        if request.method == "POST" or not self.has_view_permission(request):
            raise PermissionDenied
        record: Any = self.get_object(request, object_id)
        if record is None:
            raise Http404
        query = {"request_id": record.request_id}
        return HttpResponseRedirect(reverse("admin:request_desk_requestrecord_desk", query=query))

    @method_decorator(require_safe)
    def desk_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for an ID, and show what happened to the requests with it, newest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = DeskForm(request.GET if "request_id" in request.GET else None)
        request_id = form.cleaned_data["request_id"] if form.is_valid() else ""
        records = RequestRecord.objects.kept().filter(request_id=request_id).select_related("key").order_by("-pk")
        matches = [story_of(record) for record in records[:MOST_FOUND]] if request_id else []
        context = {
            "title": "Request desk",
            "form": form,
            "request_id": request_id,
            "matches": matches,
            "alike": alike(matches[0].record) if matches else [],
            "most_found": MOST_FOUND,
            "most_records": f"{MOST_RECORDS:,}",
            "kept": KEPT.days,
            "may_see_keys": request.user.has_perm("apikeys.view_apikey"),
        }
        return self.page(request, "desk.html", **context)
