"""Recognises what a spreadsheet program does to text that it takes for a number, a date or a formula.

What Excel, LibreOffice and Google Sheets do to the cells of a CSV file that they were not asked to keep as text
(docs/importing.md, "Spreadsheets").
"""

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from pets.importing.encodings import was_misread
from pets.spreadsheets import FORMULA_STARTS

NUMBER = re.compile(r"[+-]?[$€£¥]? ?[0-9][0-9,.' ]*(?:[Ee][+-]?[0-9]+)? ?%?|[+-]?\.[0-9]+(?:[Ee][+-]?[0-9]+)?")
TIME = re.compile(r"([0-9]{1,4}):([0-9]{1,2})(?::([0-9]{1,2})(?:[.,]0+)?)?(?: ?([AP])M)?", re.IGNORECASE)
PARTS = re.compile(r"[0-9]{1,4} ?[-/. ] ?[0-9]{1,4}(?: ?[-/. ] ?[0-9]{1,4})?")
"""What may be taken for a date: `1/2`, `10-12`, `3.4`, `2026-1-2`."""

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
WITH_MONTH = re.compile(
    rf"{MONTH}[-/. ]?[0-9]{{1,4}}|[0-9]{{1,2}}[-/. ]?{MONTH}(?:[-/. ]?[0-9]{{2,4}})?", re.IGNORECASE
)
DATE = re.compile(r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}(?: [0-9:. APM]+)?")
SERIAL = re.compile(r"[1-9][0-9]{4}")
"""The number of a day from 1927 to 2173, which a date becomes when its cell is formatted as text."""

ERROR = re.compile(r"#[A-Z/0!?]+|Err:[0-9]+")
EXACT_DIGITS = 15
"""Digits of a number that a spreadsheet keeps."""

SHOWN_WHOLE = 10
"""The digits of a whole number that each spreadsheet program shows; of longer ones some show `1.23457E+11`."""

DAY = 24 * 60 * 60

LONGEST = 255
"""The digits of the largest number in a reference that is compared."""


def looks_altered(before: str, after: str) -> bool:
    """Return whether a spreadsheet program, and no person, is likely to have replaced `before` by `after`."""
    return after in {before.strip(), before.removeprefix("'")} or looks_converted(before, after)


def looks_converted(before: str, after: str) -> bool:
    """Like `looks_altered`, but for all texts: what was taken for a number, a date or a formula, or misread.

    Blanks can be trimmed.
    """
    before, after = before.strip(), after.strip()
    if before == after:
        return False
    if was_misread(before, after):
        return True
    if before.startswith(FORMULA_STARTS) and (ERROR.fullmatch(after) or _became_result(before, after)):
        return True
    if before.upper() == after in {"TRUE", "FALSE"}:
        return True
    return _same_number(before, after) or _same_time(before, after) or _became_date(before, after)


def _became_result(before: str, after: str) -> bool:
    """Whether a formula became its result: `=A1` and `+A1` are 0 if that cell is empty."""
    return before[0] in "=+-" and _number(before) is None and _number(after) is not None


def _same_number(before: str, after: str) -> bool:
    """Whether both write one number, in `after` perhaps with fewer digits: `00042` and `42`, `1E5` and `100000`."""
    one, other = _number(before), _number(after)
    if one is None or other is None:
        return False
    digits = len(other.normalize().as_tuple().digits) if "E" in after.upper() else EXACT_DIGITS
    return one == other or (digits > 1 and _rounded(one, digits) == other)


def plain_value(text: str) -> str:
    """Return a number or a time as each program would write it; other text as it is."""
    if (seconds := _seconds(text)) is not None:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if text.upper() in {"TRUE", "FALSE"}:
        return text.upper()
    value = _number(text)
    if value is None or abs(value.adjusted()) > LONGEST or text != text.strip():
        return text
    return _written(value)


class Shortened(NamedTuple):
    """A long number that a spreadsheet program shows, and writes into a CSV file, with few of its digits."""

    digits: int
    key: str
    """What it has in common with every number that is shown like this."""


def shortened_to(text: str) -> Shortened | None:
    """Return what `1.23457E+11` says of the number that it was; None for what is no such text."""
    value = _number(text)
    if value is None or "E" not in text.upper() or not SHOWN_WHOLE <= value.adjusted() <= LONGEST:
        return None
    digits = len(value.normalize().as_tuple().digits)
    return Shortened(digits, _shortened(value, digits)) if digits > 1 else None


def as_shortened(text: str, digits: Iterable[int]) -> set[str]:
    """Return the keys that a number gets from `shortened_to` when it is shown with so many digits."""
    value = _number(text)
    return set() if value is None or value.adjusted() > LONGEST else {_shortened(value, each) for each in digits}


def _shortened(value: Decimal, digits: int) -> str:
    return f"{digits}:{_written(_rounded(value, digits))}"


def _written(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"


def _number(text: str) -> Decimal | None:
    if not NUMBER.fullmatch(text):
        return None
    plain = re.sub("[,' $€£¥]", "", text).removesuffix("%")
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    return value / 100 if text.endswith("%") else value


def _rounded(value: Decimal, digits: int) -> Decimal:
    """Return the number with so many digits; in `Decimal`'s default context a number has at most 28."""
    return Decimal(f"{value:.{digits - 1}e}") if value.adjusted() < 1_000 else value


def _same_time(before: str, after: str) -> bool:
    """Whether both are one time: `12:30` and `12:30:00 PM`, or the part of a day that it is, 0.520833333."""
    one, other = _seconds(before), _seconds(after)
    if one is None:
        return False
    if other is None and (value := _number(after)) is not None and value.adjusted() < EXACT_DIGITS:
        other = round(value * DAY)
    return one == other


def _seconds(text: str) -> int | None:
    if not (found := TIME.fullmatch(text)):
        return None
    hours, minutes, seconds, half = found.groups()
    day = int(hours) % 12 + (12 if half.upper() == "P" else 0) if half else int(hours)
    return (day * 60 + int(minutes)) * 60 + int(seconds or 0)


def _became_date(before: str, after: str) -> bool:
    """Whether a fraction or a month with a number became a date, or the number of its day."""
    if not (PARTS.fullmatch(before) or WITH_MONTH.fullmatch(before)):
        return False
    return bool(DATE.fullmatch(after) or WITH_MONTH.fullmatch(after) or SERIAL.fullmatch(after))
