"""Recognises what a spreadsheet program does to text that it takes for a number or a date, also in references.

What Excel, LibreOffice and Google Sheets do, in any country, to the cells of a CSV file that they were not asked to
keep as text (docs/importing.md, "Spreadsheets"). Two texts are alike if they share a key, so that a database can join
them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from django.db import connection

from files.doubts.dates import BESIDE_NAME, date_keys, months
from files.doubts.encodings import misread, was_misread
from pets.sql import BATCH, execute, is_not_ascii, stream

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

NO_VALUE = (
    *("NULL", "null", "(NULL)", "(null)", "None", "nil", "NaN", "nan", "NA", "N/A", "#N/A", "\\N"),
    *("#NAME?", "#REF!", "#VALUE!"),  # of text that a spreadsheet program took for a formula
)
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
    is_text = before.startswith("'")
    if not is_text and not (any(map(str.isnumeric, after)) and _may_be_value(after)):
        return False  # as most names: neither a number nor a date
    file, cut = keys_of_file(after)
    known = keys_of_catalogue(before) | (keys_of_catalogue(before[1:]) if is_text else set())
    if not known.isdisjoint(file) or (cut is not None and cut.key in as_shortened(before, [cut.digits])):
        return True
    return bool(SERIAL.fullmatch(after) and date_keys(_normal(before), of_file=False))


def _may_be_value(text: str) -> bool:
    """Return whether a text with a digit may be a number or a date."""
    return not text[0].isalpha() or bool(date_keys(_normal(text), of_file=True))


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
    found = None if text[:1].isalpha() else NUMBER.fullmatch(_normal(text))
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


# --- References that only look like that of another animal -----------------------------------------------------------

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""What takes no place: soft hyphen, zero-width characters, and the byte order mark."""


def plain(reference: str) -> str:
    """Return the reference without all that it may differ by and still look the same to a person or a program."""
    visible = reference.translate(dict.fromkeys(map(ord, INVISIBLE)))
    return plain_value(unicodedata.normalize("NFC", visible).strip())


IS_DIGITS = "ltrim(external_reference, '0123456789') = ''"
LIKE_DATES = ("%/%/%", "%/____", "____-__", "%-%-%", "%.%.%", "% %/%")
IS_NUMBER = """
    ((external_reference NOT LIKE '_%-%' OR lower(external_reference) LIKE '%e-%' OR external_reference LIKE '%-')
    AND ltrim(external_reference, '0123456789.,+-Ee%$()'' \u2019\u00a0\u202f') = '')
"""
IS_DATE = f"""
    (length(replace(external_reference, ' ', '')) <= 11
    AND (length(external_reference) <= 5 OR {" OR ".join(f"external_reference LIKE '{like}'" for like in LIKE_DATES)})
    AND ltrim(external_reference, '0123456789.-/ ') = '')
"""
"""Without what only begins like one, such as `26-000123`: a catalogue may have a million of these."""

IS_CUT = f"(length(external_reference) > {EXACT_DIGITS} AND external_reference LIKE '%0')"
"""Digits behind the last that a program keeps."""

WORD = f"lower(trim(external_reference, '{BESIDE_NAME}'))"
IS_MONTH = f"""
    ({WORD} IN ({{months}}) AND length({WORD}) > 1 AND length(external_reference) <= 50
    AND (length(rtrim(external_reference, '0123456789')) >= length(external_reference) - 4
    OR external_reference LIKE '% %'))
"""
"""Without `MAY-000123`, of which a catalogue may have a million too."""

IS_PADDED = f"external_reference LIKE '0_%' AND {IS_DIGITS}"
UNPADDED = "COALESCE(NULLIF(ltrim(external_reference, '0'), ''), '0')"
NEW_REFERENCE = "NOT EXISTS (SELECT 1 FROM pets_pet k WHERE k.external_reference = r.external_reference)"


def note_near_references() -> None:
    """Add to `import_near` the rows whose reference no animal has, and the animal of whose it is a near miss.

    Two temporary tables get the references, of the file and of the catalogue, that are not plain. Numbers and dates are
    passed over if the file has no new one.
    """
    execute("CREATE TEMPORARY TABLE import_odd_rows (line bigint, plain text)")
    execute("CREATE TEMPORARY TABLE import_odd_pets (id bigint, plain text)")
    shortened: set[int] = set()
    not_ascii = is_not_ascii("external_reference")
    value = f"({IS_NUMBER} OR {IS_DATE} OR {IS_MONTH.format(months=_names_of_months())})"
    odd = f"(external_reference <> trim(external_reference) OR {not_ascii})"
    values = f"SELECT 1 FROM import_rows r WHERE ({value} OR {not_ascii})"
    filled = 0
    # The first costs less.
    if all(list(stream(f"{values} {limited} LIMIT 1")) for limited in ("", f"AND {NEW_REFERENCE}")):
        odd += f" OR ({value} AND NOT ({IS_DIGITS} AND NOT {IS_CUT}))"
        filled += execute(f"INSERT INTO import_odd_rows SELECT line, {UNPADDED} FROM import_rows WHERE {IS_PADDED}")
        filled += execute(f"INSERT INTO import_odd_pets SELECT id, {UNPADDED} FROM pets_pet WHERE {IS_PADDED}")
    rows = f"SELECT line, external_reference FROM import_rows WHERE {odd}"
    pets = f"SELECT id, external_reference FROM pets_pet WHERE {odd}"
    filled += _fill("import_odd_rows", rows, lambda text: _of_file(text, shortened))
    filled += _fill("import_odd_pets", pets, lambda text: {plain(text)} | keys_of_catalogue(text))
    numbers = (
        f"SELECT id, external_reference FROM pets_pet WHERE {IS_NUMBER} AND length(external_reference) > {SHOWN_WHOLE}"
    )
    if shortened:
        filled += _fill("import_odd_pets", numbers, lambda text: as_shortened(text, shortened))
    if filled:
        execute(f"INSERT INTO import_near {NEAR}")


@cache
def _names_of_months() -> str:
    return ", ".join("'{}'".format(name.replace("'", "''")) for name in sorted(months()) if name.isascii())


def _of_file(reference: str, shortened: set[int]) -> set[str]:
    """Return what a reference of the file may mean; add the digits that it was cut to."""
    keys, cut = keys_of_file(reference)
    if cut is not None:
        shortened.add(cut.digits)
        keys.add(cut.key)
    return keys | {plain(reference), misread(reference) or reference}


def _fill(table: str, references: str, keys: Callable[[str], set[str]]) -> int:
    odd = ((number, key) for number, text in stream(references) for key in keys(text) if key != text)
    filled = 0
    while batch := list(islice(odd, BATCH)):
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", batch)
        filled += len(batch)
    return filled


ODD_PETS = "(SELECT plain, min(id) AS low, max(id) AS high FROM import_odd_pets GROUP BY plain)"
"""Many long numbers can become one, such as 5.90123E+12."""

CANDIDATES = f"""
    SELECT o.line, p.id AS low, p.id AS high
    FROM import_odd_rows o JOIN pets_pet p ON p.external_reference = o.plain UNION ALL
    SELECT o.line, p.low, p.high FROM import_odd_rows o JOIN {ODD_PETS} p ON p.plain = o.plain UNION ALL
    SELECT r.line, p.low, p.high FROM {ODD_PETS} p JOIN import_rows r ON r.external_reference = p.plain
"""
NEAR = f"""
    SELECT n.line, min(CASE WHEN n.low = r.id THEN n.high ELSE n.low END) AS other
    FROM ({CANDIDATES}) n JOIN import_rows r ON r.line = n.line
    WHERE NOT r.rejected AND (r.id IS NULL OR r.id <> n.low OR r.id <> n.high) AND {NEW_REFERENCE} GROUP BY n.line
"""
