"""Compares references that a spreadsheet program takes for a date: `1/2`, `MAR1` and `2026-01-02`, before and after."""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import NamedTuple

from django.utils import timezone

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
YEAR = "([0-9]{4}|[0-9]{1,2})"
DAY_ZERO = dt.date(1899, 12, 30)  # the day 0 of spreadsheet programs
NUMBERS = re.compile(rf"([0-9]{{1,2}}) ?([-/. ]) ?([0-9]{{1,2}})(?: ?\2 ?{YEAR})?")
MONTH_OF_YEAR = re.compile(r"([0-9]{1,2})[-/]([0-9]{4})")
YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
DAY_AND_MONTH = re.compile(rf"([0-9]{{1,2}})[-/. ]?({MONTH})(?:[-/. ]?{YEAR})?", re.IGNORECASE)
MONTH_AND_DAY = re.compile(rf"({MONTH})[-/. ]?([0-9]{{4}}|[0-9]{{1,2}})", re.IGNORECASE)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Written(NamedTuple):
    """A date as text."""

    days: list[tuple[int, int]]  # the months and days that it can mean
    year: int | None = None
    adds_year: bool = True  # whether a program may have added the year: `1.2.26` is rather a shelf
    numbers: tuple[int, int] | None = None  # day and month as they are written, if their order says which is which


def date_keys(reference: str, *, of_file: bool) -> set[str]:
    """Return the keys that a reference of the file shares with those of the catalogue for the same date.

    Which part of two dates must be equal depends on how both are written, so each has a key for all the others can be.
    """
    dates = _dates(reference.strip())
    keys = {key for date in dates for key in _keys(date, of_file=of_file)}
    return keys if of_file else keys.union(*map(_serials, dates))


def _serials(date: Written) -> set[str]:
    """Return the numbers of the days that a date can mean: of this year, or the one before, if it says none.

    A date becomes that number when its cell is formatted as text or a number.
    """
    this_year = timezone.now().year
    years = [this_year, this_year - 1] if date.year is None else [date.year]
    serials = set()
    for year, (month, day) in product(years, date.days):
        with suppress(ValueError):  # 29 February
            serials.add(str((dt.date(year, month, day) - DAY_ZERO).days))
    return serials


def _keys(date: Written, *, of_file: bool) -> Iterator[str]:
    mine = (date.numbers is not None, date.year is not None)
    for theirs in product((True, False), repeat=2):
        both_numbers = mine[0] and theirs[0]
        if not (theirs[1] or date.adds_year):
            continue
        if both_numbers and not (mine[1] or theirs[1]):
            continue  # no program writes 1/2 as 1.2
        kinds = (mine, theirs) if of_file else (theirs, mine)
        year = date.year if theirs[1] else None
        for parts in [date.numbers] if both_numbers else date.days:
            yield f"{kinds} {year} {parts}"


def _dates(text: str) -> list[Written]:
    """Return what a text can mean as a date; `Dec-25` is a day or a month."""
    if found := NUMBERS.fullmatch(text):
        one, separator, other, year = found.groups()
        numbers = (int(one), int(other))
        adds_year = not year or len(year) == 4 or separator == "/"
        days = [parts for parts in (numbers, numbers[::-1]) if _is_day(*parts)]
        return [Written(days, _year(year), adds_year, numbers)] if days else []
    dates = []
    if found := YEAR_FIRST.fullmatch(text):
        dates = [Written([(int(found[3]), int(found[4]))], int(found[1]))]
    elif found := MONTH_OF_YEAR.fullmatch(text):
        dates = [Written([(int(found[1]), 1)], int(found[2]))]
    elif found := DAY_AND_MONTH.fullmatch(text):
        dates = [Written([(_month(found[2]), int(found[1]))], _year(found[3]))]
    elif found := MONTH_AND_DAY.fullmatch(text):
        dates = [Written([(_month(found[1]), int(found[2]))])]
        dates += [Written([(_month(found[1]), 1)], _year(found[2]))] if len(found[2]) > 1 else []
    return [date for date in dates if _is_day(*date.days[0])]


def _is_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _month(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _year(digits: str | None) -> int | None:
    """Return the year; of two digits as spreadsheet programs do, 1930 to 2029."""
    if not digits or len(digits) == 4:
        return int(digits) if digits else None
    return int(digits) + (2000 if int(digits) < 30 else 1900)
