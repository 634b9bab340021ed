"""Finds references that only look like that of another animal: `R1` with a blank behind it, or in other code points."""

import unicodedata
from collections.abc import Callable, Container
from functools import reduce
from itertools import islice

from django.db import connection

from pets.importing.sql import BATCH, execute, stream

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""What takes no place: soft hyphen, zero-width characters, and the byte order mark."""

PLAIN: dict[str, Callable[[str], str]] = {
    "an invisible character": lambda text: text.translate(dict.fromkeys(map(ord, INVISIBLE))),
    "letters stored in another way": lambda text: unicodedata.normalize("NFC", text),
    "a blank at an end": str.strip,
}
"""What cannot be seen of a reference, and what takes it away."""

BYTES = {"postgresql": "octet_length({})", "sqlite": "length(CAST({} AS BLOB))"}


def plain(reference: str) -> str:
    """Return the reference without what cannot be seen: blanks around it, invisible characters, its composition."""
    return _without(PLAIN, reference)


def differences(one: str, other: str) -> str:
    """Return in words by what two references differ that look alike."""
    others = {what: PLAIN.keys() - {what} for what in PLAIN}
    return " and ".join(what for what, rest in others.items() if _without(rest, one) != _without(rest, other))


def _without(whats: Container[str], text: str) -> str:
    """Return the text without these of `PLAIN`."""
    return reduce(lambda left, each: PLAIN[each](left) if each in whats else left, PLAIN, text)


def note_odd_references() -> bool:
    """Fill two temporary tables with the references, of the file and of the catalogue, that are not plain.

    Return whether there are any: `NEAR` has nothing to find without them.
    """
    execute("CREATE TEMPORARY TABLE import_odd_rows (line bigint, plain text)")
    execute("CREATE TEMPORARY TABLE import_odd_pets (id bigint, plain text)")
    of_file = _fill("import_odd_rows", f"SELECT line, external_reference FROM import_rows WHERE {_may_be_odd()}")
    of_catalogue = _fill("import_odd_pets", f"SELECT id, external_reference FROM pets_pet WHERE {_may_be_odd()}")
    return bool(of_file + of_catalogue)


def _may_be_odd() -> str:
    size = BYTES[connection.vendor].format("external_reference")
    return f"(external_reference <> trim(external_reference) OR {size} <> length(external_reference))"


def _fill(table: str, candidates: str) -> int:
    odd = ((number, clean) for number, text in stream(candidates) if (clean := plain(text)) != text)
    filled = 0
    while batch := list(islice(odd, BATCH)):
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", batch)
        filled += len(batch)
    return filled


CANDIDATES = """
    SELECT o.line, p.id FROM import_odd_rows o JOIN pets_pet p ON p.external_reference = o.plain UNION ALL
    SELECT o.line, p.id FROM import_odd_rows o JOIN import_odd_pets p ON p.plain = o.plain UNION ALL
    SELECT r.line, p.id FROM import_odd_pets p JOIN import_rows r ON r.external_reference = p.plain
"""
NEAR = f"""
    SELECT n.line, min(n.id) AS other FROM ({CANDIDATES}) n JOIN import_rows r ON r.line = n.line
    WHERE NOT r.rejected AND (r.id IS NULL OR r.id <> n.id)
    AND NOT EXISTS (SELECT 1 FROM pets_pet p WHERE p.external_reference = r.external_reference) GROUP BY n.line
"""
"""The rows whose reference no animal has, and the animal of whose reference they are a near miss."""
