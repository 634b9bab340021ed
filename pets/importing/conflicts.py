"""Rows that do not go with the catalogue, or with earlier rows of the file: what is wrong, in words."""

from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, ID, REFERENCE, Checked
from pets.importing.checking import Categories, Check
from pets.importing.errors import RowError, error_in, quoted
from pets.importing.near import differences
from pets.importing.readers.rows import Cells
from pets.importing.staging import Found, Kind, Near

MESSAGES = {
    Kind.UNKNOWN_ID: "is not the ID of an animal. Leave it blank to add one.",
    Kind.SAME_ANIMAL: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Kind.SAME_REFERENCE: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Kind.TAKEN_REFERENCE: "belongs to animal {other}.",
    Kind.NO_REFERENCE: "is what programs write where there is nothing. Leave the cell blank.",
}
NEAR = "looks like {theirs} of animal {other}. They differ by {odd}."
ACCEPT = " If it is right, use --accept-references."


class Conflicts:
    """Says what is wrong with staged rows."""

    def __init__(self, check: Check, categories: Categories, *, place: str, may_accept: bool) -> None:
        """`place`: what lines are called; `may_accept`: a person can choose `Options.accept_references` by its name."""
        self._check = check
        self._categories = categories
        self._place = place
        self._may_accept = may_accept

    def errors(self, found: Found) -> list[RowError]:
        """Return what is wrong with a row."""
        row, kind, other, near = found
        errors = [] if near is None else [self._near(near)]
        if kind is Kind.INCOMPLETE:
            there = {column.header for column in COLUMNS if getattr(row, column.name) is not None}
            errors += self._check.missing(row.line, there)
        elif kind in MESSAGES:
            by_id = kind is Kind.UNKNOWN_ID or (kind is Kind.SAME_ANIMAL and row.id is not None)
            field, value = (ID, row.id) if by_id else (REFERENCE.header, row.external_reference)
            message = MESSAGES[kind].format(place=self._place, other=other)
            if kind is Kind.NO_REFERENCE and self._may_accept:
                message += ACCEPT
            errors.append(error_in(row.line, field, message, value))
        return errors

    def _near(self, near: Near) -> RowError:
        message = NEAR.format(theirs=quoted(near.theirs), other=near.id, odd=differences(near.reference, near.theirs))
        return error_in(near.line, REFERENCE.header, message + ACCEPT if self._may_accept else message, near.reference)

    def cells(self, row: Checked) -> Cells:
        """Return a staged row as the file had it."""
        cells: Cells = {ID: row.id} | {column.header: getattr(row, column.name) for column in COLUMNS}
        if row.category_id is not None and (self._check.names_categories or row.category_id < 0):
            cells[CATEGORY.header] = self._categories.name(row.category_id)
        else:
            cells[CATEGORY_ID] = cells.pop(CATEGORY.header)
        return {header: value for header, value in cells.items() if value is not None}
