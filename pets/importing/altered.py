"""Recognises what a spreadsheet program does to text that it takes for a number, a date or a formula.

What Excel, LibreOffice and Google Sheets do to the cells of a CSV file that they were not asked to keep as text
(docs/importing.md, "Spreadsheets"). Two texts are alike if they share a key, so that a database can join them.
"""

import re
from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import NamedTuple

from pets.importing.dates import date_keys
from pets.importing.encodings import was_misread

NUMBER = re.compile(r"[+-]?[$€£¥]? ?[0-9][0-9,.' ]*(?:[Ee][+-]?[0-9]+)? ?%?|[+-]?\.[0-9]+(?:[Ee][+-]?[0-9]+)?")
TIME = re.compile(r"([0-9]{1,4}):([0-9]{1,2})(?::([0-9]{1,2})(?:[.,]0+)?)?(?: ?([AP])M)?", re.IGNORECASE)
ERROR = re.compile(r"#[A-Z/0!?]+|Err:[0-9]+")
FORMULA = "#"
"""The key of all texts that are taken for formulas, and of the errors that they become."""

SERIAL = re.compile(r"[1-9][0-9]{4}")  # the number of a day from 1927 to 2173
EXACT_DIGITS = 15  # digits of a number that a spreadsheet keeps

SHOWN_WHOLE = 10
"""The digits of a whole number that each spreadsheet program shows; of longer ones some show `1.23457E+11`."""

DAY = 24 * 60 * 60

LONGEST = 255  # the digits of the largest number in a reference that is compared

NO_VALUE = ("NULL", "null", "(NULL)", "(null)", "None", "nil", "NaN", "nan", "NA", "N/A", "#N/A", "\\N")
"""What databases and programs write where there is nothing."""

IS_NO_VALUE = "IN ({})".format(", ".join(f"'{text}'" for text in NO_VALUE))


def looks_altered(before: str, after: str) -> bool:
    """Return whether a program, and no person, is likely to have replaced `before` by `after`."""
    return before.strip() == after or looks_converted(before, after)


def looks_converted(before: str, after: str) -> bool:
    """Like `looks_altered`, but blanks at the ends can be removed."""
    if before.strip() == after.strip():
        return before.strip() != after
    before, after = before.strip(), after.strip()
    if after in NO_VALUE or was_misread(before, after):
        return True
    file, cut = keys_of_file(after)
    known = keys_of_catalogue(before) | keys_of_catalogue(before.removeprefix("'"))
    if not known.isdisjoint(file) or (cut is not None and cut.key in as_shortened(before, [cut.digits])):
        return True
    is_number = _number(after) is not None  # `=A1` is 0 if that cell is empty, and a date is the number of its day
    return is_number and bool((FORMULA in known and before[0] in "=+-") or (len(known) > 2 and SERIAL.fullmatch(after)))


class Shortened(NamedTuple):
    """A long number that a spreadsheet program shows, and writes into a CSV file, with few of its digits."""

    digits: int
    key: str  # what it has in common with every number that is shown like this


def keys_of_catalogue(text: str) -> set[str]:
    """Return what a text may become: the keys that it shares with those in a file that look alike."""
    is_formula = text[:1] in {"=", "+", "-", "@"} and not NUMBER.fullmatch(text)
    return {plain_value(text)} | date_keys(text, of_file=False) | ({FORMULA} if is_formula else set())


def keys_of_file(text: str) -> tuple[set[str], Shortened | None]:
    """Return what a text of a file may have been, and how a long number was cut."""
    keys = {plain_value(text)} | date_keys(text, of_file=True)
    value = _number(text)
    if ERROR.fullmatch(text):
        keys.add(FORMULA)
    if value is not None and 0 < value < LONGEST and value % 1 and (seconds := round(value * DAY)):
        keys |= {_time(seconds)} if abs(value * DAY - seconds) * 1_000 < 1 else set()  # 0.520833333 is 12:30
    if value is None or not SHOWN_WHOLE <= value.adjusted() <= LONGEST:
        return keys, None
    digits = len(value.normalize().as_tuple().digits)
    if "E" not in text.upper():
        digits = EXACT_DIGITS if digits <= EXACT_DIGITS <= value.adjusted() else 0
    return keys, Shortened(digits, _shortened(value, digits)) if digits > 1 else None


def as_shortened(text: str, digits: Iterable[int]) -> set[str]:
    """Return the keys that a number has when it is shown with so many digits: rounded, or with the others cut off."""
    value = _number(text)
    if value is None or value.adjusted() > LONGEST:
        return set()
    return {_shortened(value, each, how) for each in digits for how in (ROUND_HALF_EVEN, ROUND_DOWN)}


def plain_value(text: str) -> str:
    """Return a number or a time as each program would write it; other text as it is."""
    if found := TIME.fullmatch(text):
        hours, minutes, seconds, half = found.groups()
        hour = int(hours) % 12 + (12 if half.upper() == "P" else 0) if half else int(hours)
        return _time((hour * 60 + int(minutes)) * 60 + int(seconds or 0))
    if text.upper() in {"TRUE", "FALSE"}:
        return text.upper()
    value = _number(text)
    if value is None or abs(value.adjusted()) > LONGEST or text != text.strip():
        return text
    return _written(value)


def _shortened(value: Decimal, digits: int, how: str = ROUND_HALF_EVEN) -> str:
    """Return the key; what is rounded here has no more digits than a Decimal, whose default context has 28."""
    place = Decimal(1).scaleb(value.adjusted() + 1 - digits)
    return f"{digits}:{_written((value / place).to_integral_value(how) * place)}"


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


def _time(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
