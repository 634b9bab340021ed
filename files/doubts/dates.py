"""Compares references that a spreadsheet program takes for a date: `1/2`, `MAR1` and `2026-01-02`, before and after."""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from django.utils import timezone

DAY_ZERO = dt.date(1899, 12, 30)  # the day 0 of spreadsheet programs
BESIDE_NAME = "0123456789-/., "
"""What can be around the name of a month."""

NAMED = re.compile(
    r"(?:(\d{1,4})([-/. ]{0,2}))?([^\d\s./,-].*?)(?:([-/., ]{0,2})(\d{1,4})(?:[-/., ]{1,2}(\d{1,4}))?)?\.?"
)
NUMBERS = re.compile(r"(\d{1,4}) ?([-/. ]) ?(\d{1,4})(?: ?\2 ?(\d{1,4}))?(?:\.| ?\u0433\.?)?")
IDEOGRAPHS = re.compile("(?:([0-9]{2,4})[年년] ?)?([0-9]{1,2})[月월] ?([0-9]{1,2})[日일]")
NAME, YEAR_FIRST = "name", "year first"
FORMS = (NAME, YEAR_FIRST, "/", ".", "-")
"""In which programs write dates: with the name of the month, the year first, or by what is between the numbers."""

RECENT = 2
"""The years before this one in which a program may have opened a file, and added the year to its dates."""


class Date(NamedTuple):
    """What a text can mean as a date."""

    year: int | None
    month: int
    day: int  # 0 for the month of a year
    form: str
    order: str = ""  # of day and month, if that of the numbers does not say which is which
    is_written: bool = False  # whether a program writes dates like this: none writes `APR16`, `1.2` or `1.2.26`


@cache
def months() -> dict[str, set[int]]:
    """Return which months each name is, whole or abbreviated, in lower case and without a point at the end.

    `months.txt` has a line for each month, with its names in all languages that CLDR has. It is made by
    `tests/files/months.py`: Babel, which has the same, needs 3 seconds and 216 MB to read all of them.
    """
    found: dict[str, set[int]] = {}
    for number, names in enumerate(Path(__file__).with_name("months.txt").read_text(encoding="utf-8").splitlines(), 1):
        for name in names.split("\t"):
            found.setdefault(name, set()).add(number)
    return found


def date_keys(reference: str, *, of_file: bool) -> set[str]:
    """Return the keys that a reference of the file shares with those of the catalogue for the same date.

    What a program writes depends on the form of the date, so each has a key for all that the other can be.
    """
    dates = _dates(reference)
    before = {key for date in dates for key in _before(date)}
    after = {key for date in dates if date.is_written for key in _after(date)}
    if of_file:  # and the other way round, if the catalogue has what a program made of the file's `1/2`
        undone = before if all(date.form != NAME for date in dates) else set()
        return after | {f"was {key}" for key in undone}
    undone = after if all(date.form == NAME for date in dates) else set()
    return before | {f"was {key}" for key in undone}.union(*map(_serials, dates))


def _serials(date: Date) -> set[str]:
    """Return the numbers of the days that a date can mean: of this year, or the one before, if it says none.

    A date becomes that number when its cell is formatted as text or a number.
    """
    this_year = timezone.now().year
    serials = set()
    for year in [this_year, this_year - 1] if date.year is None else [date.year]:
        with suppress(ValueError):  # 29 February
            serials.add(str((dt.date(year, date.month, date.day or 1) - DAY_ZERO).days))
    return serials


def _before(date: Date) -> Iterator[str]:
    """Yield the keys of all that a program can make of a date."""
    for form, day in product(FORMS, {date.day, date.day or 1}):
        order = date.order if form == date.form else ""
        yield f"{'any' if date.year is None else date.year}-{date.month}-{day} {form}{order}"
        if form == NAME and day:
            yield f"-{date.month}-{day} {form}{order}"


def _after(date: Date) -> Iterator[str]:
    """Yield the keys of all that a program can have made a date of."""
    years = {"" if date.year is None else str(date.year)}
    if date.year is not None and timezone.now().year - RECENT <= date.year <= timezone.now().year:
        years.add("any")
    for year, order in product(years, {date.order, ""}):
        yield f"{year}-{date.month}-{date.day} {date.form}{order}"


def _dates(text: str) -> list[Date]:
    """Return what a text can mean as a date; `Dec-25` is a day or a month."""
    dates: list[Date] = []
    if found := IDEOGRAPHS.fullmatch(text):
        dates = [Date(_year(found[1]), int(found[2]), int(found[3]), NAME, is_written=True)]
    elif found := NUMBERS.fullmatch(text):
        dates = list(_of_numbers(*found.groups()))
    elif (found := NAMED.fullmatch(text)) and (numbers := months().get(found[3].lower().rstrip("."))):
        dates = [date for month in numbers for date in _of_name(month, *found.groups())]
    return [date for date in dates if 1 <= date.month <= 12 and date.day <= 31]


def _of_numbers(one: str, separator: str, two: str, three: str | None) -> Iterator[Date]:
    """Yield the dates for two numbers or three."""
    first, second = int(one), int(two)
    if three is None:
        if len(one) == 4:
            yield Date(first, second, 0, YEAR_FIRST)
        elif len(two) in {2, 4}:
            yield Date(_year(two), first, 0, separator)
        if len(one) <= 2 and len(two) <= 2:
            yield Date(None, first, second, separator, " month first")
            yield Date(None, second, first, separator, " day first")
        return
    if len(two) > 2:
        return
    if len(one) <= 2 and len(three) != 3:
        is_written = len(three) == 4 or (len(three) == 2 and (separator == "/" or len(two) == 2))
        for (month, day), order in (((first, second), " month first"), ((second, first), " day first")):
            yield Date(_year(three), month, day, separator, order, is_written)
    if len(one) in {1, 2, 4} and len(three) <= 2:
        is_written = len(one) == 4 or len(one) == len(two) == len(three) == 2
        yield Date(_year(one), second, int(three), YEAR_FIRST, "", is_written)


def _of_name(
    month: int, first: str | None, before: str | None, name: str, after: str | None, *others: str | None
) -> Iterator[Date]:
    """Yield the dates for the name of a month with one number or two around it."""
    second, third = others
    is_written = "" not in {before, after} and name[1:] == name[1:].lower()
    match [number for number in (first, second, third) if number]:
        case [number]:
            if len(number) <= 2:
                yield Date(None, month, int(number), NAME, is_written=is_written)
            if len(number) != 3:
                yield Date(_year(number), month, 0, NAME, is_written=is_written and second is not None)
        case [year, day] if first and len(year) == 4 and len(day) <= 2:
            yield Date(int(year), month, int(day), NAME, is_written=is_written)
        case [day, year] if len(day) <= 2 and len(year) in {2, 4}:
            yield Date(_year(year), month, int(day), NAME, is_written=is_written)


def _year(digits: str | None) -> int | None:
    """Return the year; of two digits as spreadsheet programs do, 1930 to 2029."""
    if not digits or len(digits) == 4:
        return int(digits) if digits else None
    return int(digits) + (2000 if int(digits) < 30 else 1900)
