"""Recognises what a spreadsheet program does to text that it takes for a number or a date.

What Excel, LibreOffice and Google Sheets do, in any country, to the cells of a CSV file that they were not asked to
keep as text (docs/importing.md, "Spreadsheets"). Two texts are alike if they share a key, so that a database can join
them.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import NamedTuple

from files.doubts.dates import date_keys
from files.doubts.encodings import was_misread

NUMBER = re.compile(
    r"(?P<before>[^\d]*?)(?P<digits>\d[\d.,' ]*|(?<![^\W\d_])[.,]\d+)(?:[Ee](?P<power>[+-]?\d{1,6}))?(?P<after>[^\d]*)"
)
GROUPED = re.compile(r"\d{1,3}(\.\d{3})+")
SAME = str.maketrans("\u2019\u2212\u066a", "'-%")
SERIAL = re.compile(r"[1-9][0-9]{4}")  # the number of a day from 1927 to 2173
EXACT_DIGITS = 15  # digits of a number that a spreadsheet keeps

SHOWN_WHOLE = 10
"""The digits of a whole number that each spreadsheet program shows; of longer ones some show `1.23457E+11`."""

LONGEST = 255  # the digits of the largest number in a reference that is compared

NO_VALUE = ("NULL", "null", "(NULL)", "(null)", "None", "nil", "NaN", "nan", "NA", "N/A", "#N/A", "\\N")
NO_VALUE += ("#NAME?", "#REF!", "#VALUE!")  # of text that a spreadsheet program took for a formula
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
    return bool(SERIAL.fullmatch(after) and date_keys(_normal(before), of_file=False))


class ShortNumber(NamedTuple):
    """A long number that a spreadsheet program shows, and writes into a CSV file, with few of its digits."""

    digits: int
    key: str  # what it has in common with every number that is shown like this


def keys_of_catalogue(text: str) -> set[str]:
    """Return what a text may become: the keys that it shares with those in a file that look alike."""
    return {plain_value(text), *_written(text)} | date_keys(_normal(text), of_file=False)


def keys_of_file(text: str) -> tuple[set[str], ShortNumber | None]:
    """Return what a text of a file may have been, and how a long number was cut."""
    keys = {plain_value(text), *_written(text)} | date_keys(_normal(text), of_file=True)
    long = [value for value in _values(text) if SHOWN_WHOLE <= value.adjusted() <= LONGEST]
    if not long:
        return keys, None
    digits = len(long[0].normalize().as_tuple().digits)
    if "E" not in text.upper():
        digits = EXACT_DIGITS if digits <= EXACT_DIGITS <= long[0].adjusted() else 0
    return keys, ShortNumber(digits, _shortened(long[0], digits)) if digits > 1 else None


def as_shortened(text: str, digits: Iterable[int]) -> set[str]:
    """Return the keys that a number has when it is shown with so many digits: rounded, or with the others cut off."""
    values = [value for value in _values(text) if value.adjusted() <= LONGEST]
    how = (ROUND_HALF_EVEN, ROUND_DOWN)
    return {_shortened(value, each, rounding) for value in values for each in digits for rounding in how}


def plain_value(text: str) -> str:
    """Return a number as each program would write it; other text as it is."""
    return text if text != text.strip() else next(iter(_written(text)), text)


@lru_cache(256)
def _values(text: str) -> list[Decimal]:
    """Return what a number can be in any country, the likeliest first: with `.` or `,`, thousands, `%`, or money.

    Without a sign of money, `R5` and `5 kr` are rather references.
    """
    found = NUMBER.fullmatch(_normal(text))
    if not found:
        return []
    around = f"{found['before']} {found['after']}"
    unit = around.translate(dict.fromkeys(map(ord, " +-()")))
    signs = sum(map(around.count, "+-("))
    is_money = len(unit) == 1 and unicodedata.category(unit) == "Sc"
    if signs > 1 or around.count("(") != around.count(")") or not (unit in {"", "%"} or is_money):
        return []
    sign = "-" if set(around) & set("-(") else ""
    power = int(found["power"] or 0) - (2 if unit == "%" else 0)
    return [Decimal(f"{sign}{number}E{power}") for number in _decimals(found["digits"], found["power"])]


def _decimals(digits: str, power: str | None) -> list[str]:
    """Return what digits mean with a decimal point, a decimal comma, and a point between thousands."""
    digits = re.sub("[' ]", "", digits)
    whole, comma, rest = digits.partition(",")
    point = "." not in digits or ("," not in digits.partition(".")[2] and digits.count(".") == 1)
    found = []
    if point and digits[0] != "," and not (power and comma):
        found.append(digits.replace(",", ""))
    if comma and not set(rest) & set(".,") and ("." not in whole or GROUPED.fullmatch(whole)):
        found.append(f"{whole.replace('.', '')}.{rest}")
    if not power and GROUPED.fullmatch(digits):
        found.append(digits.replace(".", ""))
    return found


def _normal(text: str) -> str:
    """Return the text with each kind of blank, width, apostrophe, minus and percent sign as one."""
    return unicodedata.normalize("NFKC", text).translate(SAME)


def _shortened(value: Decimal, digits: int, how: str = ROUND_HALF_EVEN) -> str:
    """Return the key; what is rounded here has no more digits than a Decimal, whose default context has 28."""
    place = Decimal(1).scaleb(value.adjusted() + 1 - digits)
    return f"{digits} digits: {_plain((value / place).to_integral_value(how) * place)}"


def _written(text: str) -> list[str]:
    """Return the values that are not too long."""
    return [_plain(value) for value in _values(text) if abs(value.adjusted()) <= LONGEST]


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"
