"""The filters of the list of animals: typed or chosen in one form instead of clicked in a list of links."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from categories.models import Category
from history.times import short_day, span_in_words
from pets.models import ImportRun, Pet, PetStatus
from rest.lists import INT64_MAX

STATUS, CATEGORY = "status__exact", "category__id__exact"
"""What Django calls these filters in a query."""

SPAN = ("added_from", "added_to")
"""The names in a query that ask, together, for a span of days: its animals lie together, but anywhere."""

SCATTERING = ("sold_from", "sold_to", "unchanged_since", "import_run")
"""The names in a query that ask for animals which may lie anywhere."""

LOOKUPS = {STATUS: "status", CATEGORY: "category", "sold_from": "sold_on__gte", "sold_to": "sold_on__lte"}
"""What is compared with a value as it was typed."""


def _day(label: str) -> forms.DateField:
    return forms.DateField(label=label, required=False, widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"))


class AnimalFilterForm(forms.Form):
    """What the list can be filtered by. Days are of UTC, and a span has its first and its last day."""

    status__exact = forms.ChoiceField(choices=[("", "All"), *PetStatus.choices], label="Status", required=False)
    category__id__exact = forms.ModelChoiceField(
        Category.objects.all(),
        label="Category",
        empty_label="All",
        required=False,
        widget=forms.Select({"data-searchable": ""}),
    )
    added_from, added_to = _day("Added from"), _day("Added to")
    sold_from, sold_to = _day("Sold from"), _day("Sold to")
    unchanged_since = _day("Not changed since")
    import_run = forms.IntegerField(label="Import number", required=False, min_value=1, max_value=INT64_MAX)


class FormFilter(admin.ListFilter):
    """All filters of the list, for Django one."""

    title = "animals"
    parameters = AnimalFilterForm.base_fields

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        values = {name: params.pop(name)[-1] for name in self.parameters if name in params}
        self.used_parameters = {name: value for name, value in values.items() if value}
        self.form = AnimalFilterForm(self.used_parameters or None, auto_id="filter_%s")

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[Any]:
        return [*self.parameters]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if not self.used_parameters:
            return queryset
        if not self.form.is_valid():
            return queryset.none()
        wanted = self.form.cleaned_data
        animals = queryset.filter(**{lookup: wanted[name] for name, lookup in LOOKUPS.items() if wanted[name]})
        if wanted["added_from"] or wanted["added_to"]:
            is_search = bool(request.GET.get(SEARCH_VAR))
            animals = _added(animals, wanted["added_from"], wanted["added_to"], is_search=is_search)
        if since := wanted["unchanged_since"]:
            animals = animals.filter(updated_at__lt=datetime.combine(since, time(), UTC))
        return _of_import(animals, wanted["import_run"]) if wanted["import_run"] else animals

    def in_words(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield what is chosen, but for the status, which has tabs: a label, a value in words, names in the query."""
        for field in self.form if self.used_parameters else ():
            kind = field.name.split("_")[0]
            span = [f"{kind}_from", f"{kind}_to"]
            if field.name not in span or self.form.errors.keys() & {*span}:
                if field.name in self.used_parameters.keys() - {STATUS}:
                    yield str(field.label), _said(field), [field.name]
            elif field.name == span[0] and self.used_parameters.keys() & {*span}:
                yield kind.capitalize(), span_in_words(*(self.form.cleaned_data[name] for name in span)), span


def _said(field: forms.BoundField) -> str:
    """Return the chosen value of a filter as its form shows it, a day as people write it."""
    value = field.value()
    choices = {str(key): str(label) for key, label in getattr(field.field, "choices", ())}
    if isinstance(field.field, forms.DateField) and field.name not in field.form.errors:
        return short_day(field.form.cleaned_data[field.name])
    return choices.get(str(value), str(value))


def _added(animals: QuerySet[Pet], first: date | None, last: date | None, *, is_search: bool) -> QuerySet[Pet]:
    # Of many days, the index knows many pages. PostgreSQL would join it with the index of a search, forget which
    # animals on those pages that found, and fold the names of all.
    hides_index = is_search and _are_many(first, last)
    animals = animals.alias(added=Coalesce("created_at", "created_at") if hides_index else F("created_at"))
    if first:
        animals = animals.filter(added__gte=datetime.combine(first, time(), UTC))
    if last and last < date.max:
        animals = animals.filter(added__lt=datetime.combine(last + timedelta(days=1), time(), UTC))
    return animals


def _are_many(first: date | None, last: date | None) -> bool:
    """Return whether these are more than a tenth of the days since the first animal was added."""
    oldest = Pet.objects.order_by("pk").values_list("created_at", flat=True).first() or timezone.now()
    begin, today = oldest.date(), timezone.now().date()
    return (min(last or today, today) - max(first or begin, begin)) > (today - begin) / 10


def _of_import(animals: QuerySet[Pet], number: int) -> QuerySet[Pet]:
    """Return those that one import added."""
    run = ImportRun.objects.filter(pk=number, change__isnull=False).only("change", "first_id", "last_id").first()
    if run is None:
        return animals.none()
    added = Pet.history.filter(change=run.change_id, history_type="+")
    animals = animals.filter(pk__in=added.order_by().values("id"))
    # What it added has the ids that it set aside. Without them PostgreSQL would look through the newest animals.
    return animals.filter(pk__range=(run.first_id, run.last_id)) if run.first_id else animals
