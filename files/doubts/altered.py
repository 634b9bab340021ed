"""Recognises what a spreadsheet program does to text that it takes for a number, a date or a formula.

What Excel, LibreOffice and Google Sheets do, in any country, to the cells of a CSV file that they were not asked to
keep as text (docs/importing.md, "Spreadsheets"). Two texts are alike if they share a key, so that a database can join
them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import NamedTuple

from files.doubts.dates import date_keys
from files.doubts.encodings import was_misread
from files.doubts.languages import currencies

NUMBER = re.compile(
    r"(?P<before>[^\d]*?)(?P<digits>\d[\d.,' ]*|(?<![^\W\d_])[.,]\d+)(?:[Ee](?P<power>[+-]?\d{1,6}))?(?P<after>[^\d]*)"
)
FRACTION = re.compile(r"(-?)(\d{1,9}) (\d{1,9})/([1-9]\d{0,8})")
GROUPED = re.compile(r"\d{1,3}(\.\d{3})+")
WITH_CENTS = re.compile(r"\D*\d.*[.,]\d\d\D*")
TIME = re.compile(r"([0-9]{1,4}):([0-5]?[0-9])(?::([0-5]?[0-9])(?:[.,]0+)?)?(?: ?([^\d\s:.,][^\d:,]*))?")
TIME_OF_POINTS = re.compile(r"([0-9]{1,2})\.([0-9]{2})\.00")
ERROR = re.compile(r"#[^\d\s#]\S*|[^\W\d]+ ?:5[0-9]{2}")
FORMULA = "#"
"""The key of all texts that are taken for formulas, and of the errors that they become."""

CALCULATED = "="
"""The key of those that become a number, and of every number in a file when the catalogue has such a reference."""

TRUE = {"true", "wahr", "vrai", "vero", "verdadero", "verdadeiro", "waar", "prawda", "истина", "sant", "igaz", "doğru"}
FALSE = {"false", "falsch", "faux", "falso", "onwaar", "fałsz", "ложь", "falskt", "usann", "hamis", "yanliş"}
SAME = str.maketrans("\u2019\u2212\u066a", "'-%")
LONGEST_UNIT = 5  # letters and signs
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
    known = keys_of_catalogue(before) | keys_of_catalogue(before.removeprefix("'")) | set(_written(_amount(before)))
    if not known.isdisjoint(file) or (cut is not None and cut.key in as_shortened(before, [cut.digits])):
        return True
    if not _amount(after).values:
        return False  # `=A1` is 0 if that cell is empty, and a date is the number of its day
    is_date = SERIAL.fullmatch(after) and date_keys(_normal(before), of_file=False)
    return bool((FORMULA in known and before[0] in "=+-") or is_date)


class ShortNumber(NamedTuple):
    """A long number that a spreadsheet program shows, and writes into a CSV file, with few of its digits."""

    digits: int
    key: str  # what it has in common with every number that is shown like this


class Amount(NamedTuple):
    """What a text can mean as a number."""

    values: list[Decimal]  # the likeliest first; none if it is no number
    letters: str = ""  # for the money, as `kr`
    is_apart: bool = False  # whether a blank is between letters and number: `R5` is rather a reference


def keys_of_catalogue(text: str) -> set[str]:
    """Return what a text may become: the keys that it shares with those in a file that look alike."""
    amount = _amount(text)
    is_formula = text[:1] in {"=", "+", "-", "@"} and not amount.values
    return (
        {plain_value(text)}
        | (set() if amount.letters and not amount.is_apart else set(_written(amount)))
        | ({f"{amount.letters} {value}" for value in _written(amount)} if amount.letters else set())
        | date_keys(_normal(text), of_file=False)
        | ({FORMULA} if is_formula else set())
        | ({CALCULATED} if is_formula and text[0] == "=" else set())
    )


def keys_of_file(text: str) -> tuple[set[str], ShortNumber | None]:
    """Return what a text of a file may have been, and how a long number was cut."""
    keys = {plain_value(text)} | date_keys(_normal(text), of_file=True)
    if ERROR.fullmatch(text):
        keys.add(FORMULA)
    if found := TIME_OF_POINTS.fullmatch(text):
        keys.add(_time((int(found[1]) * 60 + int(found[2])) * 60))
    elif text in keys and (found := TIME.fullmatch(text)):  # its half of the day is neither AM nor PM
        keys |= {_time(seconds) for seconds in _halves(found)}
    amount = _amount(text)
    keys |= keys_of_money(text)
    if not amount.letters or amount.is_apart:
        keys |= set(_written(amount))
    for value in amount.values:
        if 0 < value < LONGEST and value % 1 and (seconds := round(value * DAY)):
            keys |= {_time(seconds)} if abs(value * DAY - seconds) * 1_000 < 1 else set()  # 0.520833333 is 12:30
    long = [value for value in amount.values if SHOWN_WHOLE <= value.adjusted() <= LONGEST]
    if not long:
        return keys, None
    digits = len(long[0].normalize().as_tuple().digits)
    if "E" not in text.upper():
        digits = EXACT_DIGITS if digits <= EXACT_DIGITS <= long[0].adjusted() else 0
    return keys, ShortNumber(digits, _shortened(long[0], digits)) if digits > 1 else None


def keys_of_money(text: str) -> set[str]:
    """Return the keys for an amount of money with letters and two decimals: `R 5,00` may have been `R5`."""
    amount = _amount(text)
    is_written = amount.letters and WITH_CENTS.fullmatch(text)
    return {f"{amount.letters} {value}" for value in _written(amount)} if is_written else set()


def as_shortened(text: str, digits: Iterable[int]) -> set[str]:
    """Return the keys that a number has when it is shown with so many digits: rounded, or with the others cut off."""
    amount = _amount(text)
    is_reference = amount.letters and not amount.is_apart
    values = [value for value in amount.values if value.adjusted() <= LONGEST and not is_reference]
    how = (ROUND_HALF_EVEN, ROUND_DOWN)
    return {_shortened(value, each, rounding) for value in values for each in digits for rounding in how}


def plain_value(text: str) -> str:
    """Return a number or a time as each program would write it; other text as it is."""
    if found := TIME.fullmatch(text):
        am, pm = _halves(found)
        seconds = {"": _seconds(found), "am": am, "pm": pm}.get(re.sub("[. ]", "", found[4] or "").lower())
        return text if seconds is None else _time(seconds)
    if text.lower() in TRUE | FALSE:
        return str(text.lower() in TRUE).upper()
    amount = _amount(text)
    if text != text.strip() or (amount.letters and not amount.is_apart):
        return text
    return next(_written(amount), text)


@lru_cache(256)
def _amount(text: str) -> Amount:
    """Return what a number is in any country: with `.` or `,`, groups of thousands, `%`, a power of ten, or money."""
    text = _normal(text)
    if found := FRACTION.fullmatch(text):
        value = int(found[2]) + Decimal(int(found[3])) / int(found[4])
        return Amount([-value if found[1] else value])
    found = NUMBER.fullmatch(text)
    if not found:
        return Amount([])
    around = f"{found['before']} {found['after']}"
    unit = around.translate(dict.fromkeys(map(ord, " +-()"))).strip(".").lower()
    signs = sum(map(around.count, "+-("))
    is_symbol = unit in {"", "%"} or any(unicodedata.category(character) == "Sc" for character in unit)
    if (
        signs > 1
        or around.count("(") != around.count(")")
        or len(unit) > LONGEST_UNIT
        or not (is_symbol or unit in currencies())
    ):
        return Amount([])
    sign = "-" if set(around) & set("-(") else ""
    power = int(found["power"] or 0) - (2 if unit == "%" else 0)
    values = [Decimal(f"{sign}{number}E{power}") for number in _decimals(found["digits"], found["power"])]
    inner = f"{found['before'][-1:]}{found['digits'][-1:]}"
    return Amount(values, "" if is_symbol else unit, " " in inner)


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


def _written(amount: Amount) -> Iterator[str]:
    """Yield the values that are not too long."""
    return (_plain(value) for value in amount.values if abs(value.adjusted()) <= LONGEST)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"


def _seconds(found: re.Match[str]) -> int:
    return (int(found[1]) * 60 + int(found[2])) * 60 + int(found[3] or 0)


def _halves(found: re.Match[str]) -> tuple[int, int]:
    """Return the seconds before and after noon."""
    before = _seconds(found) - int(found[1]) // 12 * (DAY // 2)
    return before, before + DAY // 2


def _time(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
