"""The list of animals: pages and a search that take as long for a million as for a thousand."""

import re
from collections import Counter
from string import ascii_uppercase
from typing import Any

from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, ChangeList
from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce, StrIndex
from django.http import HttpRequest
from django.utils.functional import cached_property

from changes.bulk import AT_MOST
from database.search import Folded, fold_needle, like
from history.conflicts import latest_change_of_each
from pets import stock
from pets.admin.filters import CATEGORY, SCATTERING, SPAN, STATUS
from pets.models import Pet, PetStatus
from pets.sql import execute, read
from rest.lists import INT64_MAX

LISTED = 10_000
"""Animals on all pages of the list. Searches and filters find the others."""

COUNTED = 1_000
"""Animals that a search counts at most."""

NEWEST = 10_000
"""How far from the end a search looks before it asks the index: what is common is found there."""

TRIGRAM = re.compile(r"[^\W_]{3}|[^\W_]{2}[\W_]|[\W_][^\W_]")
"""What PostgreSQL makes a trigram of. A word has two blanks before it and one behind."""

PRINTED = {*map(chr, range(ord(" "), ord("~") + 1)), "\n"} - set(ascii_uppercase)
"""What comes after a letter in most names that are folded."""

BEFORE_A_WORD = " \n.'\"(/&#-"
"""What comes before a word, if anything."""

ALPHABET = 32
"""How far from a letter the others of its alphabet are."""

ORDERS = {"name": Folded("name"), "added": F("pk"), "sold": F("sold_on"), "changed": F("updated_at")}
"""What the list can be sorted by, and the value. IDs are given in the order in which animals are added."""

COUNTS = ", ".join(f"count(*) FILTER (WHERE status = '{status}') OVER ()" for status in PetStatus.values)


class Words(Func):
    """The name and the reference of an animal, folded, on a line each: what the index `pet_search` holds."""

    template = "(%(expressions)s)"
    arg_joiner = " || chr(10) || "
    output_field = TextField()

    def __init__(self) -> None:
        super().__init__(Folded("name"), Coalesce(Folded("external_reference"), Value("")))

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, tuple[Any, ...]]:
        sql, parameters = self.as_sql(compiler, connection, arg_joiner=" || char(10) || ", **context)
        return sql, tuple(parameters)


def matching(animals: QuerySet[Pet], needle: str) -> QuerySet[Pet]:
    """Return the animals whose name or reference contains `needle`, folded, or whose ID it is.

    On PostgreSQL one letter, or what has no letters, must begin a word or belong to one of the newest animals.
    """
    folded = fold_needle(needle)
    if not folded.strip():  # of accents alone nothing is left
        return animals.none()
    has_trigram = connection.vendor != "postgresql" or TRIGRAM.search(folded)
    match = Q(words__contains=folded) if has_trigram else _without_trigram(folded)
    if re.fullmatch("[0-9]{1,19}", folded) and int(folded) <= INT64_MAX:
        match |= Q(pk=int(folded))
    return animals.alias(words=Words(), place=StrIndex(Words(), Value(folded))).filter(match)


def _without_trigram(folded: str) -> Q:
    """Return a condition by which the index finds two letters with each that may follow, or one that begins a word.

    `place` is what it cannot use: for LIKE it would look through all that it has.
    """
    letters = sum(map(str.isalnum, folded))
    if letters > 1:
        last = ord(folded[-1])
        following = sorted(PRINTED | {chr(code) for code in range(last - ALPHABET, last + ALPHABET) if code > ord("~")})
        text = like(folded)
        return Q(place__gt=0, words__like_any=[f"%{text}", *(f"%{text}{like(letter)}%" for letter in following)])
    near = _near_the_end("-pk")
    newest = near & Q(place__gt=0)
    if not letters:
        return newest
    text = f"{like(folded)}%"
    begins = Q(words__like_any=[text, *(f"%{before}{text}" for before in BEFORE_A_WORD)])
    return newest | (~near & begins)


def in_order(animals: QuerySet[Pet], name: str, *, ascending: bool, start: int = 0, stop: int) -> list[tuple[int, ...]]:
    """Return the keys of these animals, sorted, each with how many of each status are among all of them.

    Of more than `LISTED`, one more is sorted and counted. The `LIMIT` within keeps PostgreSQL from a walk along the IDs
    in the hope of meeting enough. It takes pages of an index for dear and the fold of a name for cheap, and so would
    fold all names that match before it looks at the status.
    """
    matching = animals.order_by().annotate(value=ORDERS[name]).values("pk", "status", "value")[: LISTED + 1]
    try:
        sql, parameters = matching.query.sql_with_params()
    except EmptyResultSet:
        return []
    by = "ASC" if ascending else "DESC"
    statement = f"SELECT pk, {COUNTS} FROM ({sql}) AS found ORDER BY value {by} NULLS LAST, pk {by} LIMIT %s OFFSET %s"  # noqa: S608 - of the ORM
    parameters = (*parameters, stop - start, start)
    if connection.vendor != "postgresql":
        return read(statement, parameters)
    with transaction.atomic():
        execute("SET LOCAL random_page_cost = 1.1")
        return read(statement, parameters)


def newest_matching(needle: str, most: int) -> list[int]:
    """Return the ids of the newest animals that match, at most so many, newest first."""
    animals, near = matching(Pet.objects.order_by("-pk"), needle), _near_the_end("-pk")
    found = list(animals.filter(near).values_list("pk", flat=True)[:most])
    if len(found) < most:
        found += [key for key, *_ in in_order(animals.exclude(near), "added", ascending=False, stop=most - len(found))]
    return found


def _near_the_end(order: str) -> Q:
    first = Pet.objects.order_by(order).values_list("pk", flat=True).first() or 0
    return Q(pk__lte=first + NEWEST) if order == "pk" else Q(pk__gte=first - NEWEST)


class PetChangeList(ChangeList):
    """Shows pages without counting: a page knows whether there is a next one."""

    more_than_listed = False
    """Whether more animals match than can be listed, so that some are missing."""
    too_many_to_sort = ""
    """The order that was asked for, if so many animals match that they come newest first instead."""
    counted: dict[str, int] | None = None
    """How many animals of each status match, if all were looked for; nothing if they are more than are counted."""

    @cached_property
    def order(self) -> tuple[str, bool]:
        """Return one of `ORDERS`, and whether it ascends: newest first, and last sold first on the tab of the sold."""
        wanted = self.params.get(ORDER_VAR, "")
        name = wanted.removeprefix("-")
        if name in ORDERS and (self.is_sold or name != "sold"):
            return name, not wanted.startswith("-")
        return "sold" if self.is_sold else "added", False

    @property
    def is_sold(self) -> bool:
        """Return whether the tab of the sold animals is open."""
        return self.params.get(STATUS) == PetStatus.SOLD

    def get_ordering(self, *_given: Any) -> list[Any]:
        """Return the order by ID. Other orders sort what matches, or are those of an index."""
        return ["pk" if self.order == ("added", True) else "-pk"]

    def get_results(self, request: HttpRequest) -> None:
        """Find the animals of the page and whether there are more."""
        self.counted_at_most = COUNTED if self.query else LISTED
        self.page_num = min(max(self.page_num, 1), LISTED // self.list_per_page)
        start = (self.page_num - 1) * self.list_per_page
        keys = self._keys(start, start + self.list_per_page + 1)
        if start and not keys:  # a click on a status took the last animal from the page
            self.page_num = 1
            self.get_results(request)
            return
        self.has_next = len(keys) > self.list_per_page
        self.is_last_possible = self.has_next and start + self.list_per_page >= LISTED
        self.result_list = self._rows(keys[: self.list_per_page])
        self.result_count = start + len(keys)
        self.full_result_count = None
        self.show_full_result_count = self.can_show_all = self.multi_page = False
        self.show_admin_actions = True

    def headers(self) -> dict[str, dict[str, str]]:
        """Return for each of `ORDERS` the query that sorts by it, and how it sorts now, if it does."""
        name, ascending = self.order
        directions = {each: ascending if each == name else each != "name" for each in ORDERS}
        return {
            each: {
                "query": self.get_query_string({ORDER_VAR: f"{'-' * is_up}{each}"}, [PAGE_VAR]),
                "sort": ("ascending" if is_up else "descending") if each == name else "",
            }
            for each, is_up in directions.items()
        }

    @cached_property
    def _kept(self) -> dict[str, int]:
        """Return the stock of each status, of the category that filters the list; nothing if more filters it."""
        category = self.params.get(CATEGORY)
        if {name for name, value in self.params.items() if value} - {STATUS, CATEGORY, ORDER_VAR}:
            return {}
        return stock.by_status(category=int(category) if category and category.isdecimal() else None)

    @property
    def _stock(self) -> dict[str, int]:
        """Return how many animals of each status there are; nothing if more than the status filters the list."""
        return {} if self.params.get(CATEGORY) else self._kept

    @cached_property
    def totals(self) -> dict[str, int]:
        """Return how many animals of each status match; nothing if they are too many to count."""
        if self._kept:
            status = self.params.get(STATUS)
            return {name: count for name, count in self._kept.items() if count and status in {None, "", name}}
        if self.page_num == 1 and not self.has_next:
            return Counter(pet.status for pet in self.result_list)
        if self.counted is None:
            # Without an order, as PostgreSQL may walk along the ids in the hope of meeting so many.
            statuses = self.queryset.order_by().values("status")[: self.counted_at_most + 1]
            found, parameters = statuses.query.sql_with_params()
            counts = read(f"SELECT status, count(*) FROM ({found}) AS found GROUP BY status", parameters)  # noqa: S608 - of the ORM
            self.counted = dict(counts)
        return self.counted if sum(self.counted.values()) <= self.counted_at_most else {}

    def totals_shown(self) -> dict[str, Any] | None:
        """Return what the filtered list adds up to; None if nothing but the status filters it."""
        if self._stock or (not self.has_active_filters and not self.query):
            return None
        of = [(value, label, self.totals[value]) for value, label in self.statuses if self.totals.get(value)]
        return {"all": sum(self.totals.values()), "of": of, "more_than": None if self.totals else self.counted_at_most}

    most = AT_MOST
    """Animals that can be selected."""

    statuses = PetStatus.choices

    def selectable(self) -> str:
        """Return what a click selects beyond the page; nothing if it is more than can be changed at once."""
        count = sum(self.totals.values())
        return ("all that match" if not count else f"all {count:,}") if count <= AT_MOST else ""

    def tabs(self) -> list[dict[str, Any]]:
        """Return a tab for all animals and each status, with the count of the kept stock if nothing else filters."""
        counts = self._stock
        here = self.params.get(STATUS, "")
        return [
            {
                "label": label,
                "is_here": value == here,
                "query": self.get_query_string({STATUS: value or None}, [PAGE_VAR]),
                "count": (counts.get(value, 0) if value else sum(counts.values())) if counts else None,
            }
            for value, label in [("", "All"), *self.statuses]
        ]

    def chips(self) -> list[dict[str, str]]:
        """Return the filters that are set, each with the query string without it."""
        return [
            {"label": label, "value": value, "without": self.get_query_string(remove=[*names, PAGE_VAR])}
            for label, value, names in self.filter_specs[0].in_words()  # type: ignore[attr-defined]  # it is ours
        ]

    def _sorted(self, start: int, stop: int) -> list[int] | None:
        """Return these keys in an order that is not that of the IDs; None for too many."""
        name, ascending = self.order
        is_beyond = bool(self._kept) and sum(self.totals.values()) > LISTED
        if not is_beyond and not (name == "sold" and self._stock):
            keys, count = self._found(self.queryset, start, stop)
            if count <= LISTED:
                return keys
        if name != "sold":
            return None
        sign = "" if ascending else "-"
        sold = self.queryset.values_list("pk", flat=True)
        found = list(sold.filter(sold_on__isnull=False).order_by(f"{sign}sold_on", f"{sign}pk")[:stop])
        if len(found) < stop:  # Asked for those without a day, PostgreSQL would look through all that are newer.
            found = [*dict.fromkeys([*found, *sold[:stop]])]
        return found[start:stop]

    def _keys(self, start: int, stop: int) -> list[int]:
        if self.order[0] != "added":
            sorted_keys = self._sorted(start, stop)
            if sorted_keys is not None:
                return sorted_keys
            self.too_many_to_sort, self.order = self.order[0], ("added", False)
        if all(self.params.get(name) for name in SPAN):
            # The index of days finds the animals of an old day. A walk from the newest would pass all after them.
            found, count = self._found(self.queryset, start, stop)
            if count <= LISTED:
                return found
        keys = self.queryset.values_list("pk", flat=True)
        if not self.query and not any(self.params.get(name) for name in SCATTERING):
            return list(keys[start:stop])
        near = _near_the_end(*self.get_ordering())
        newest = list(keys.filter(near)[: max(stop, COUNTED + 1) if self.query else stop])
        if len(newest) < stop:
            place, most = max(start - len(newest), 0), stop - len(newest)
            others, count = self._found(self.queryset.exclude(near), place, most)
            self.more_than_listed = len(newest) + count > LISTED
            if newest:
                self.counted = None  # of the others only
            return [*newest[start:], *others]
        if self.query and len(newest) > COUNTED:
            self.counted = {}
        return newest[start:stop]

    def _found(self, animals: QuerySet[Pet], start: int, stop: int) -> tuple[list[int], int]:
        """Return these keys, sorted, and how many there are; count those of each status."""
        name, ascending = self.order
        rows = in_order(animals, name, ascending=ascending, start=start, stop=stop)
        if rows:
            self.counted = dict(zip(PetStatus.values, rows[0][1:], strict=True))
        return [key for key, *_ in rows], sum(rows[0][1:]) if rows else 0

    def _rows(self, keys: list[int]) -> Any:
        rows = self.root_queryset.filter(pk__in=keys).select_related("category").order_by()
        found = {row.pk: row for row in rows.annotate(latest_change=latest_change_of_each(Pet.history))}
        return [found[key] for key in keys if key in found]
