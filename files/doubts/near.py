"""Finds references that only look like that of another animal.

`R1` with a blank behind it or in other code points, and what a spreadsheet program writes in another way.
"""

import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import islice

from django.db import connection

from files.doubts.altered import EXACT_DIGITS, SHOWN_WHOLE, as_shortened, keys_of_catalogue, keys_of_file, plain_value
from files.doubts.dates import BESIDE_NAME, months
from files.doubts.encodings import misread
from pets.sql import BATCH, execute, is_not_ascii, stream

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""What takes no place: soft hyphen, zero-width characters, and the byte order mark."""


def plain(reference: str) -> str:
    """Return the reference without all that it may differ by and still look the same to a person or a program."""
    visible = reference.translate(dict.fromkeys(map(ord, INVISIBLE)))
    return plain_value(unicodedata.normalize("NFC", visible).strip())


DIGITS = "ltrim(external_reference, '0123456789') = ''"
LIKE_DATES = ("%/%/%", "%/____", "____-__", "%-%-%", "%.%.%", "% %/%")
NUMBER = """
    ((external_reference NOT LIKE '_%-%' OR lower(external_reference) LIKE '%e-%' OR external_reference LIKE '%-')
    AND ltrim(external_reference, '0123456789.,+-Ee%$()'' \u2019\u00a0\u202f') = '')
"""
DATE = f"""
    (length(replace(external_reference, ' ', '')) <= 11
    AND (length(external_reference) <= 5 OR {" OR ".join(f"external_reference LIKE '{like}'" for like in LIKE_DATES)})
    AND ltrim(external_reference, '0123456789.-/ ') = '')
"""
"""Without what only begins like one, such as `26-000123`: a catalogue may have a million of these."""

CUT = f"(length(external_reference) > {EXACT_DIGITS} AND external_reference LIKE '%0')"
"""Digits behind the last that a program keeps."""

WORD = f"lower(trim(external_reference, '{BESIDE_NAME}'))"
MONTH = f"""
    ({WORD} IN ({{months}}) AND length({WORD}) > 1 AND length(external_reference) <= 50
    AND (length(rtrim(external_reference, '0123456789')) >= length(external_reference) - 4
    OR external_reference LIKE '% %'))
"""
"""Without `MAY-000123`, of which a catalogue may have a million too."""

PADDED = f"external_reference LIKE '0_%' AND {DIGITS}"
UNPADDED = "COALESCE(NULLIF(ltrim(external_reference, '0'), ''), '0')"
NEW_REFERENCE = "NOT EXISTS (SELECT 1 FROM pets_pet k WHERE k.external_reference = r.external_reference)"


@cache
def _value() -> str:
    """Return the condition that a spreadsheet program can take a reference in ASCII for a value."""
    names = ", ".join("'{}'".format(name.replace("'", "''")) for name in sorted(months()) if name.isascii())
    return f"({NUMBER} OR {DATE} OR {MONTH.format(months=names)})"


def note_near_references() -> None:
    """Add to `import_near` the rows whose reference no animal has, and the animal of whose it is a near miss."""
    if _note_odd_references():
        execute(f"INSERT INTO import_near {NEAR}")


def _note_odd_references() -> bool:
    """Fill two temporary tables with the references, of the file and of the catalogue, that are not plain.

    Return whether there are any: `NEAR` has nothing to find without them. Numbers and dates are passed over if the file
    has no new one.
    """
    execute("CREATE TEMPORARY TABLE import_odd_rows (line bigint, plain text)")
    execute("CREATE TEMPORARY TABLE import_odd_pets (id bigint, plain text)")
    shortened: set[int] = set()
    not_ascii, value = is_not_ascii("external_reference"), _value()
    odd = f"(external_reference <> trim(external_reference) OR {not_ascii})"
    values = f"SELECT 1 FROM import_rows r WHERE ({value} OR {not_ascii})"
    filled = 0
    if all(
        list(stream(f"{values} {limited} LIMIT 1")) for limited in ("", f"AND {NEW_REFERENCE}")
    ):  # the first costs less
        odd += f" OR ({value} AND NOT ({DIGITS} AND NOT {CUT}))"
        filled += execute(f"INSERT INTO import_odd_rows SELECT line, {UNPADDED} FROM import_rows WHERE {PADDED}")
        filled += execute(f"INSERT INTO import_odd_pets SELECT id, {UNPADDED} FROM pets_pet WHERE {PADDED}")
    rows = f"SELECT line, external_reference FROM import_rows WHERE {odd}"
    pets = f"SELECT id, external_reference FROM pets_pet WHERE {odd}"
    filled += _fill("import_odd_rows", rows, lambda text: _of_file(text, shortened))
    filled += _fill("import_odd_pets", pets, lambda text: {plain(text)} | keys_of_catalogue(text))
    numbers = (
        f"SELECT id, external_reference FROM pets_pet WHERE {NUMBER} AND length(external_reference) > {SHOWN_WHOLE}"
    )
    if shortened:
        filled += _fill("import_odd_pets", numbers, lambda text: as_shortened(text, shortened))
    return bool(filled)


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
