"""The list of recent requests: tabs for what they are, and a form that filters them."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.db.models import Count, Q
from django.http import HttpRequest

from petstore_site.apikeys.models import APIKey
from petstore_site.request_desk.story import Story, story_of

KINDS = {
    "": ("Errors", Q(status__gte=400)),
    "additions": ("Additions", Q(status__lt=400, method="POST")),
    "all": ("All", Q()),
}
"""The tabs: by the value in the query, what they are called and what is in them."""


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
        _, wanted = KINDS.get(self.value() or "", ("", Q(pk=None)))
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


class CodeFilter(SelectFilter):
    """The codes of errors that are in the list."""

    title, parameter_name, every, chosen = "code", "code", "All codes", "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        codes = model_admin.get_queryset(request).exclude(code="").order_by("code").values_list("code", flat=True)
        return [(code, code) for code in codes.distinct()]


FILTERS = (KindFilter, KeyFilter, AnswerFilter, CodeFilter)


class RequestList(ChangeList):
    """The list, whose tabs have counts unless something else filters it too."""

    def rows(self) -> list[Story]:
        return [story_of(record) for record in self.result_list]

    def selects(self) -> list[Any]:
        return [spec for spec in self.filter_specs if not isinstance(spec, KindFilter)]

    def here(self) -> str:
        return str(self.params.get(KindFilter.parameter_name, ""))

    def tabs(self) -> list[dict[str, Any]]:
        counts = self._counts()
        return [
            {
                "label": label,
                "is_here": kind == self.here(),
                "query": self.get_query_string({"kind": kind} if kind else {}, [PAGE_VAR, *([] if kind else ["kind"])]),
                "count": counts.get(kind or "errors"),
            }
            for kind, (label, _) in KINDS.items()
        ]

    def _counts(self) -> dict[str, int]:
        if any(spec.value() for spec in self.selects()):
            return {}
        listed: Any = self.root_queryset
        counted: dict[str, int] = listed.order_by().aggregate(
            **{kind or "errors": Count("pk", filter=wanted) for kind, (_, wanted) in KINDS.items()}
        )
        return counted
