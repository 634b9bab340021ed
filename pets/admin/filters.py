"""The filters of the list of animals: typed or chosen in a form instead of clicked in a list of links."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, NamedTuple

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from categories.models import Category
from history.times import short_day, span_in_words, spans
from pets.models import ImportRun, Pet, PetStatus
from rest.lists import INT64_MAX


def _day(label: str) -> forms.DateField:
    return forms.DateField(label=label, required=False, widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"))


class FormFilter(admin.ListFilter, ABC):
    """A filter that is typed or chosen in a form instead of clicked in a list of links."""

    parameters: ClassVar[dict[str, forms.Field]]
    """The fields of the form, by their names in the query."""

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        values = {name: params.pop(name)[-1] for name in self.parameters if name in params}
        self.used_parameters = {name: value for name, value in values.items() if value}
        self.form = forms.Form(self.used_parameters or None, auto_id="filter_%s")
        self.form.fields = deepcopy(self.parameters)

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[Any]:
        return [*self.parameters]

    def choices(self, _changelist: Any) -> Iterator[Any]:
        return iter(())

    def queryset(self, _request: HttpRequest, queryset: Any) -> Any:
        if not self.used_parameters:
            return queryset
        return self.chosen(queryset, self.form.cleaned_data) if self.form.is_valid() else queryset.none()

    def in_words(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield what is chosen: a label, its value in words, and the names in the query; a span of days is one."""
        if len(self.parameters) == 2 and self.used_parameters and self.form.is_valid():
            span = (self.form.cleaned_data[name] for name in self.parameters)
            yield next(iter(self.parameters)).split("_")[0].capitalize(), span_in_words(*span), [*self.parameters]
            return
        for field in self.form:
            if self.used_parameters.get(field.name):
                yield str(field.label), _said(field), [field.name]

    @abstractmethod
    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        """Return the animals that are wanted."""


class StatusFilter(FormFilter):
    """The animals of one status."""

    title = "status"
    parameters: ClassVar = {
        "status__exact": forms.ChoiceField(choices=[("", "All"), *PetStatus.choices], label="Status", required=False)
    }

    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        return animals.filter(status=wanted["status__exact"])


class CategoryFilter(FormFilter):
    """The animals of one category."""

    title = "category"
    parameters: ClassVar = {
        "category__id__exact": forms.ModelChoiceField(
            Category.objects.all(),
            label="Category",
            empty_label="All",
            required=False,
            widget=forms.Select({"data-searchable": ""}),
        )
    }

    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        return animals.filter(category=wanted["category__id__exact"])


def _said(field: forms.BoundField) -> str:
    """Return the chosen value of a filter as its form shows it, a day as people write it."""
    value = field.value()
    choices = {str(key): str(label) for key, label in getattr(field.field, "choices", ())}
    if isinstance(field.field, forms.DateField) and field.name not in field.form.errors:
        return short_day(field.form.cleaned_data[field.name])
    return choices.get(str(value), str(value))


def _are_many(first: date | None, last: date | None) -> bool:
    """Return whether these are more than a tenth of the days since the first animal was added."""
    oldest = Pet.objects.order_by("pk").values_list("created_at", flat=True).first() or timezone.now()
    begin, today = oldest.date(), timezone.now().date()
    return (min(last or today, today) - max(first or begin, begin)) > (today - begin) / 10


class AddedFilter(FormFilter):
    """The animals that were added from one day to another, both included (UTC)."""

    title = "day added"
    parameters: ClassVar = {"added_from": _day("Added from"), "added_to": _day("Added to")}

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        self._is_search = bool(request.GET.get(SEARCH_VAR))
        return super().queryset(request, queryset)

    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        first, last = wanted["added_from"], wanted["added_to"]
        # Of many days, the index knows many pages. PostgreSQL would join it with the index of a search, forget which
        # animals on those pages that found, and fold the names of all.
        hides_index = self._is_search and _are_many(first, last)
        animals = animals.alias(added=Coalesce("created_at", "created_at") if hides_index else F("created_at"))
        if first:
            animals = animals.filter(added__gte=datetime.combine(first, time(), UTC))
        if last and last < date.max:
            until = datetime.combine(last + timedelta(days=1), time(), UTC)
            animals = animals.filter(added__lt=until)
        return animals


class SoldFilter(FormFilter):
    """The sold animals that became so from one day to another, both included (UTC)."""

    title = "sold on"
    parameters: ClassVar = {"sold_from": _day("Sold from"), "sold_to": _day("Sold to")}

    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        if first := wanted["sold_from"]:
            animals = animals.filter(sold_on__gte=first)
        if last := wanted["sold_to"]:
            animals = animals.filter(sold_on__lte=last)
        return animals


class UnchangedFilter(FormFilter):
    """The animals that nobody changed since a day began (UTC)."""

    title = "unchanged"
    parameters: ClassVar = {"unchanged_since": _day("Not changed since")}

    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        return animals.filter(updated_at__lt=datetime.combine(wanted["unchanged_since"], time(), UTC))


class ImportFilter(FormFilter):
    """The animals that one import added."""

    title = "import"
    parameters: ClassVar = {
        "import_run": forms.IntegerField(label="Import number", required=False, min_value=1, max_value=INT64_MAX)
    }

    def chosen(self, animals: QuerySet[Pet], wanted: dict[str, Any]) -> QuerySet[Pet]:
        runs = ImportRun.objects.filter(pk=wanted["import_run"], change__isnull=False)
        run = runs.only("change", "first_id", "last_id").first()
        if run is None:
            return animals.none()
        added = Pet.history.filter(change=run.change_id, history_type="+")
        animals = animals.filter(pk__in=added.order_by().values("id"))
        # What it added has the ids that it set aside. Without them PostgreSQL would look through the newest animals.
        return animals.filter(pk__range=(run.first_id, run.last_id)) if run.first_id else animals


SPAN = [*AddedFilter.parameters]
"""The names in a query that ask, together, for a span of days: its animals lie together, but anywhere."""

SCATTERING = {*ImportFilter.parameters, *SoldFilter.parameters, *UnchangedFilter.parameters}
"""The names in a query that ask for animals which may lie anywhere."""


class Preset(NamedTuple):
    """A link: its words, its query, and whether the list shows it."""

    label: str
    query: str
    is_here: bool


def presets_of(changelist: Any) -> list[tuple[str, list[Preset]]]:
    """Return the links for both kinds of days, which keep the other filters of the list."""
    days = spans(timezone.now().date())
    return [
        (kind.capitalize(), [_preset(changelist, kind, *span) for span in days.items()]) for kind in ("added", "sold")
    ]


def _preset(changelist: Any, kind: str, label: str, span: tuple[date, date]) -> Preset:
    wanted = {f"{kind}_from": str(span[0]), f"{kind}_to": str(span[1])}
    is_here = all(changelist.params.get(name) == day for name, day in wanted.items())
    return Preset(label, changelist.get_query_string(wanted, [PAGE_VAR]), is_here)
