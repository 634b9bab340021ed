"""The request desk: the list of recent requests, and what happened to the one whose ID a caller sends you."""

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from history.admin import RecordAdmin
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk.models import KEPT, MOST_RECORDS, RequestRecord
from petstore_site.back_office.request_desk.story import MOST_FOUND, Story, alike, story_of

LISTED = 10_000
"""Records that the list shows, so that its filters and its count stay quick; the desk finds them all."""

PASTED = re.compile(r"""(?i)^(?:.*x-request-id['"]?\s*[:=])?\s*['"]?([a-z0-9._-]{1,128})['"]?\s*$""")


KINDS = {
    "errors": ("Errors", Q(status__gte=400)),
    "additions": ("Additions", Q(status__lt=400, method="POST")),
    "all": ("All", Q()),
}
"""The tabs: by the value in the query, what they are called and what is in them. Without a value it is the first."""


class SelectFilter(admin.SimpleListFilter):
    """A select of the form; what it does not offer finds nothing."""

    every = ""
    """The label of the choice that filters nothing."""
    chosen = ""
    """The look-up of the records with a choice."""

    def has_output(self) -> bool:
        """Return that the form has it, also if there is nothing to choose."""
        return True

    def queryset(self, _request: HttpRequest, queryset: Any) -> Any:
        value = self.value() or ""
        if not value:
            return queryset
        known = {str(choice) for choice, _ in self.lookup_choices}
        return queryset.filter(**{self.chosen: value}) if value in known else queryset.none()


class KindFilter(SelectFilter):
    """The tabs."""

    title = parameter_name = "kind"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, label) for kind, (label, _) in KINDS.items()]

    def queryset(self, _request: HttpRequest, queryset: Any) -> Any:
        _, wanted = KINDS.get(self.value() or "errors", ("", Q(pk=None)))
        return queryset.filter(wanted)


class KeyFilter(SelectFilter):
    """The keys that made one of the requests."""

    title, parameter_name, every, chosen = "key", "key__id__exact", "All keys", "key"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        """Return the keys, by name for readers who can see keys."""
        records = model_admin.get_queryset(request).order_by()
        is_named = request.user.has_perm("apikeys.view_apikey")
        keys = APIKey.objects.filter(pk__in=records.values("key")).order_by("name" if is_named else "key_id", "pk")
        return [(str(key.pk), str(key) if is_named else key.key_id) for key in keys]


class AnswerFilter(SelectFilter):
    """Whether the caller or the store must change something."""

    title, parameter_name, every, chosen = "answer", "answer", "4xx and 5xx", "status__startswith"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("4", "Rejected, 4xx"), ("5", "Failed, 5xx")]


class RequestList(ChangeList):
    """The list, whose tabs have counts unless something else filters it too."""

    def rows(self) -> list[Story]:
        return [story_of(record) for record in self.result_list]

    def selects(self) -> list[Any]:
        return [spec for spec in self.filter_specs if not isinstance(spec, KindFilter)]

    def here(self) -> str:
        return str(self.params.get(KindFilter.parameter_name) or "errors")

    def tabs(self) -> list[dict[str, Any]]:
        counts = self._counts()
        return [
            {
                "label": label,
                "is_here": kind == self.here(),
                "query": self.get_query_string({"kind": kind}, [PAGE_VAR]),
                "count": counts.get(kind),
            }
            for kind, (label, _) in KINDS.items()
        ]

    def _counts(self) -> dict[str, int]:
        if any(spec.value() for spec in self.selects()):
            return {}
        listed: Any = self.root_queryset
        counted: dict[str, int] = listed.order_by().aggregate(
            **{kind: Count("pk", filter=wanted) for kind, (_, wanted) in KINDS.items()}
        )
        return counted


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
    list_filter = (KindFilter, KeyFilter, AnswerFilter)
    list_select_related = ("key",)
    ordering = ("-pk",)
    sortable_by = ()
    show_full_result_count = False

    def get_queryset(self, _request: HttpRequest) -> Any:
        return RequestRecord.objects.newest(LISTED).kept()

    def get_changelist(self, request: HttpRequest, **_kwargs: Any) -> type[RequestList]:  # noqa: ARG002 - Django's signature
        return RequestList

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="request_desk_requestrecord_changelist"),
            path("desk/", view(self.desk_view), name="request_desk_requestrecord_desk"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        more = {
            "listed": f"{LISTED:,}",
            "kept": KEPT.days,
            "form": DeskForm(),
        }
        return super().changelist_view(request, more | (extra_context or {}))

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
        }
        return self.page(request, "desk.html", **context)
