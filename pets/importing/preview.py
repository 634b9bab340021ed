"""What an import is about to write, row by row, for a person who decides whether it shall."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from pets.importing.sql import stream
from pets.models import ImportRun, PetStatus


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


Watch: TypeAlias = Callable[[ImportRun, list[Planned]], None]
"""Sees what is about to be written, inside the transaction that writes it; what it raises ends the import."""


PLANNED = f"""
    SELECT r.line, r.external_reference, p.id, p.name, before.name, p.status,
        COALESCE(r.name, p.name), after.name, COALESCE(r.status, p.status, '{PetStatus.AVAILABLE.value}')
    FROM import_rows r LEFT JOIN import_known k ON k.line = r.line LEFT JOIN pets_pet p ON p.id = k.id
    LEFT JOIN categories_category before ON before.id = p.category_id
    JOIN categories_category after ON after.id = COALESCE(r.category_id, p.category_id)
    WHERE k.line IS NULL OR k.differs ORDER BY r.line
"""  # noqa: S608 - made of constants


def planned() -> list[Planned]:
    """Return all that is staged to be written, by line; for files of a few thousand rows."""
    return [
        Planned(line, reference, pet_id, None if pet_id is None else Values(*values[:3]), Values(*values[3:]))
        for line, reference, pet_id, *values in stream(PLANNED)
    ]


def digest(rows: list[Planned]) -> str:
    """Return what tells this plan from any other, in hexadecimal."""
    return hashlib.sha256(repr([tuple(row) for row in rows]).encode()).hexdigest()
