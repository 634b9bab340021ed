"""Rows that do not go with the catalogue, or with earlier rows of the file: what is wrong, in words."""

from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, ID, REFERENCE, Checked
from pets.importing.checking import Categories, Check
from pets.importing.errors import RowError, error_in, quoted
from pets.importing.near import differences
from pets.importing.readers.rows import Cells
from pets.importing.staging import Kind

MESSAGES = {
    Kind.UNKNOWN_ID: "is not the ID of an animal. Leave it blank to add one.",
    Kind.SAME_ANIMAL: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Kind.SAME_REFERENCE: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Kind.TAKEN_REFERENCE: "belongs to animal {other}.",
    Kind.NO_REFERENCE: "is what programs write where there is nothing. Leave the cell blank.",
    Kind.NEAR_REFERENCE: "looks like {theirs} of animal {other}. They differ by {odd}.",
}
ACCEPTABLE = {Kind.NO_REFERENCE, Kind.NEAR_REFERENCE}


class Conflicts:
    """Says what is wrong with staged rows."""

    def __init__(self, check: Check, categories: Categories, *, place: str, may_accept: bool) -> None:
        """`place`: what lines are called; `may_accept`: a person can choose `Options.accept_references` by its name."""
        self._check = check
        self._categories = categories
        self._place = place
        self._may_accept = may_accept

    def errors(self, row: Checked, kind: Kind, other: int, theirs: str | None) -> list[RowError]:
        """Return what is wrong with a row, from what `staging.take_out_wrong` yields."""
        if kind is Kind.INCOMPLETE:
            there = {column.header for column in COLUMNS if getattr(row, column.name) is not None}
            return self._check.missing(row.line, there)
        by_id = kind is Kind.UNKNOWN_ID or (kind is Kind.SAME_ANIMAL and row.id is not None)
        field, value = (ID, row.id) if by_id else (REFERENCE.header, row.external_reference)
        odd = differences(row.external_reference or "", theirs) if theirs else ""
        message = MESSAGES[kind].format(place=self._place, other=other, theirs=quoted(theirs or ""), odd=odd)
        if kind in ACCEPTABLE and self._may_accept:
            message += " If it is right, use --accept-references."
        return [error_in(row.line, field, message, value)]

    def cells(self, row: Checked) -> Cells:
        """Return a staged row as the file had it."""
        cells: Cells = {ID: row.id} | {column.header: getattr(row, column.name) for column in COLUMNS}
        if row.category_id is not None and (self._check.names_categories or row.category_id < 0):
            cells[CATEGORY.header] = self._categories.name(row.category_id)
        else:
            cells[CATEGORY_ID] = cells.pop(CATEGORY.header)
        return {header: value for header, value in cells.items() if value is not None}
