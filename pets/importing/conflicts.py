"""Rows that do not go with the catalogue, or with earlier rows of the file: what is wrong, in words."""

from pets.columns import COLUMNS, ID, REFERENCE
from pets.importing.checking import Check
from pets.importing.errors import RowError, error_in, quoted
from pets.importing.near import differences
from pets.importing.staging import Found, Kind

MESSAGES = {
    Kind.UNKNOWN_ID: "is not the ID of an animal. Leave it blank to add one.",
    Kind.SAME_ANIMAL: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Kind.SAME_REFERENCE: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Kind.TAKEN_REFERENCE: "belongs to animal {other}.",
    Kind.NO_REFERENCE: "is what programs write where there is nothing. Leave the cell blank.",
}
NEAR = "looks like {theirs} of animal {other}. They differ by {odd}."
ACCEPT = " If it is right, use --accept-references."


def errors_of(found: Found, check: Check, *, place: str, hint: str) -> list[RowError]:
    """Return what is wrong with a row. `place`: what lines are called; `hint`: how a person can import it as it is."""
    row, kind, other, near = found
    errors = []
    if near is not None:
        odd = differences(near.reference, near.theirs)
        message = NEAR.format(theirs=quoted(near.theirs), other=near.id, odd=odd) + hint
        errors.append(error_in(near.line, REFERENCE.header, message, near.reference))
    if kind is Kind.INCOMPLETE:
        there = {column.header for column in COLUMNS if getattr(row, column.name) is not None}
        errors += check.missing(row.line, there)
    elif kind in MESSAGES:
        by_id = kind is Kind.UNKNOWN_ID or (kind is Kind.SAME_ANIMAL and row.id is not None)
        field, value = (ID, row.id) if by_id else (REFERENCE.header, row.external_reference)
        message = MESSAGES[kind].format(place=place, other=other) + (hint if kind is Kind.NO_REFERENCE else "")
        errors.append(error_in(row.line, field, message, value))
    return errors
