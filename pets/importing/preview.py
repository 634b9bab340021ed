"""What an import is about to write, row by row, for a person who decides whether it shall."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from pets.importing.sql import stream


class Values(NamedTuple):
    """What a row can say of an animal; the category by name."""

    name: str
    category: str
    status: str


class Planned(NamedTuple):
    """One row that adds an animal, or changes the one that has its reference."""

    line: int
    external_reference: str | None
    pet_id: int | None
    """None for an animal that is added."""
    before: Values | None
    after: Values


Watch: TypeAlias = Callable[[list[Planned]], None]
"""Sees what is about to be written, inside the transaction that writes it; what it raises ends the import."""


def planned() -> list[Planned]:
    """Return all that is staged to be written, by line; for files of a few thousand rows."""
    return [
        Planned(line, reference, pet_id, None if pet_id is None else Values(*values[:3]), Values(*values[3:]))
        for line, reference, pet_id, *values in stream(
            "SELECT w.line, w.external_reference, p.id, p.name, before.name, p.status, w.name, after.name, w.status"
            " FROM import_writes w JOIN categories_category after ON after.id = w.category_id"
            " LEFT JOIN pets_pet p ON p.id = w.id AND NOT w.is_new"
            " LEFT JOIN categories_category before ON before.id = p.category_id ORDER BY w.line"
        )
    ]


def digest(rows: list[Planned]) -> str:
    """Return what tells this plan from any other, in hexadecimal."""
    return hashlib.sha256(repr([tuple(row) for row in rows]).encode()).hexdigest()
