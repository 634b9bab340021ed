"""The whole of an animal, as the API and files show it: the one place in tests for a new column of Pet.

Tests name the columns that they are about. Those in `LATER` come with the value that an animal has without them.
"""

from collections.abc import Iterable
from typing import Any

LATER: dict[str, str | None] = {}
"""Columns of Pet by their names in the API and in files, and what they are unless a test names them."""

CELLS = {name: value or "" for name, value in LATER.items()}
"""The same, as files, forms and pages have them."""

FIELDS = ("id", "name", "categoryId", "status", *LATER)
"""Of a Pet; a NewPet has no `id`."""

HEADER = ("external_reference", "name", "category", "status", *LATER)
"""Of an exported file without IDs."""

CSV_HEADER = ",".join(HEADER)
COLUMNS = f"Columns: {', '.join(['id', *HEADER[:3], 'categoryId', *HEADER[3:]])}."
"""What an import says of the columns that a file can have."""

PLANNED = ("line", "what", "name", "category", "status", "reference")
"""The cells of an animal in the check of an import, as far as tests write them."""

Row = tuple[str | None, ...]
"""Of a file, in the order of `HEADER`."""


def shown(**fields: Any) -> dict[str, Any]:
    """Return a Pet: the whole body. Its `id`, `name` and `categoryId` must be given."""
    assert fields.keys() >= {"id", "name", "categoryId"}
    values = {"status": "available"} | LATER | fields
    return {name: values[name] for name in FIELDS} | fields


def changed(**counts: int) -> dict[str, int]:
    """Return in how many animals an import changes each column: in none those that are not named."""
    return dict.fromkeys(HEADER, 0) | counts


def row(reference: str | None, name: str, category: str, status: str) -> Row:
    return (reference, name, category, status, *LATER.values())


def line(text: str) -> str:
    """Return a line of CSV; `text` is the row up to the status."""
    return ",".join([text, *CELLS.values()])


def planned(*rows: list[str]) -> list[list[str]]:
    """Return the table of a check. A row of an animal is up to the reference; what is said of one has fewer cells."""
    return [[*row, *CELLS.values()] if len(row) == len(PLANNED) else row for row in rows]


def lines(texts: Iterable[str]) -> list[str]:
    return [line(text) for text in texts]
