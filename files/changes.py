"""What an import is about to write: row by row, field by field, and in a summary."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from categories.models import Category
from files.doubts.altered import IS_NO_VALUE, NO_VALUE, looks_altered, looks_converted
from files.doubts.encodings import SUSPECT, misread
from pets.columns import CATEGORY, COLUMNS, NAME, REFERENCE, each
from pets.sql import is_not_ascii, matches, stream


class Cell(NamedTuple):
    """What a row does to one column, in words; `before` is None for an animal that is added."""

    before: str | None
    after: str

    @property
    def changes(self) -> bool:
        """Whether the animal is there and gets another value."""
        return self.before is not None and self.before != self.after


class RowPlan(NamedTuple):
    """One row that adds an animal, or changes one."""

    line: int
    pet_id: int | None  # None for an animal that is added
    by_id: bool  # whether it was found by its id, or else by its reference
    cells: dict[str, Cell]  # by the header of the column, in the order of an export


PLANNED = f"""
    SELECT r.line, p.id, COALESCE(k.by_id, FALSE), {each("p.{c}, COALESCE(r.{c}, p.{c}, {default})")}
    FROM import_rows r LEFT JOIN import_known k ON k.line = r.line LEFT JOIN pets_pet p ON p.id = k.id
"""
ACTING = "(k.line IS NULL OR k.differs)"  # adds an animal, or changes one
MOST_SHOWN = 5_000  # rows that a page can show


def planned(most: int) -> Iterator[RowPlan]:
    """Yield what is staged to be written, by line; at most so many rows."""
    return _planned(f"WHERE {ACTING} ORDER BY r.line LIMIT {most}")


def planned_for_page(doubtful: Iterable[int]) -> Iterator[RowPlan]:
    """Yield `MOST_SHOWN` rows: those in these lines, then what is staged to be written, then what is as it was."""
    lines = ", ".join(map(str, doubtful)) or "NULL"
    order = f"CASE WHEN r.line IN ({lines}) THEN 0 WHEN {ACTING} THEN 1 ELSE 2 END"
    return _planned(f"ORDER BY {order}, r.line LIMIT {MOST_SHOWN}")


def _planned(which: str) -> Iterator[RowPlan]:
    categories = dict(Category.objects.values_list("pk", "name"))
    for line, pet_id, by_id, *values in stream(f"{PLANNED} {which}"):
        cells = {}
        for column, *both in zip(COLUMNS, values[::2], values[1::2], strict=True):
            before, after = (categories.get(value, "") if column is CATEGORY else value or "" for value in both)
            cells[column.header] = Cell(None if pet_id is None else before, after)
        yield RowPlan(line, pet_id, bool(by_id), cells)


def digest(tally: Sequence[int]) -> str:
    """Return what identifies a plan, in hexadecimal: how many rows do what, and all that the first of them do."""
    return hashlib.sha256(repr([*tally, *planned(MOST_SHOWN)]).encode()).hexdigest()


ANIMALS, EXAMPLES = 20, 3  # how many animals, and how many changes of a reference, are shown


class FieldChange(NamedTuple):
    """What one field of an animal becomes, in words."""

    id: int | None  # of the animal; None for one that a dry run would add
    reference: str | None  # by which the catalogue knows the animal; for one that is added, its new one
    line: int
    field: str  # the header of the column
    before: str | None  # None if there was no value
    after: str


def changes_of(row: RowPlan) -> Iterator[FieldChange]:
    """Yield what a row does to each field, in the order of an export."""
    reference = row.cells[REFERENCE.header]
    known_by = reference.after if reference.before is None else reference.before
    for header, cell in row.cells.items():
        if cell.after != (cell.before or ""):
            yield FieldChange(row.pet_id, known_by or None, row.line, header, cell.before or None, cell.after)


class SuspectName(NamedTuple):
    """The name of a new animal that is likely UTF-8 read in another encoding, or what programs write without one."""

    line: int
    reference: str | None
    name: str
    likely: str | None  # what it was; None for no name


T = TypeVar("T", bound=tuple[Any, ...])


@dataclass
class Tally(Generic[T]):
    """How many there are, and the first of them."""

    count: int = 0
    first: list[T] = field(default_factory=list)

    def add(self, item: T) -> None:
        """Add one; `first` has so many as a page can show."""
        self.count += 1
        if self.count <= MOST_SHOWN:
            self.first.append(item)


@dataclass
class Changes:
    """What an import changes of animals that are there; `first` also has animals that it adds."""

    fields: dict[str, int] = field(default_factory=dict)  # how many get another value, by header; all fields
    foreign_ids: Tally[RowPlan] = field(default_factory=Tally)  # if most rows with an ID are about another animal
    altered: Tally[FieldChange] = field(default_factory=Tally)  # perhaps by a spreadsheet program
    misread: Tally[SuspectName] = field(default_factory=Tally)  # names of new animals that look wrong
    first: list[RowPlan] = field(default_factory=list)  # `ANIMALS` of them, if they were asked for


FOREIGN = f"by_id AND new_{NAME.name} AND (new_{REFERENCE.name} OR new_{CATEGORY.name})"
"""The rows that leave too little of the animal with their ID for it to be the same one."""

FIELDS = f"""
    SELECT count(CASE WHEN by_id THEN 1 END), count(CASE WHEN {FOREIGN} THEN 1 END),
    {each("count(CASE WHEN new_{c} THEN 1 END)")} FROM import_known
"""

TEXTS = """
    SELECT r.line, p.id, p.external_reference, p.{c}, r.{c}
    FROM import_known k JOIN import_rows r ON r.line = k.line JOIN pets_pet p ON p.id = k.id
    WHERE k.new_{c} {condition} ORDER BY r.line
"""
# All but a few names can never be taken for a number, a date or a formula.
CONVERTIBLE = f"""
    AND (length(p.name) <= 8 OR trim(r.name, ' \u00a0') <> r.name OR r.name {IS_NO_VALUE}
    OR substr(p.name, 1, 1) IN ({", ".join(f"'{start}'" for start in "0123456789+-.=@$€£¥")})
    OR {{not_ascii}})
"""
# A join: in a NOT EXISTS, SQLite would read all of `import_known` for each row, as it has no index.
ADDED = "FROM import_rows r LEFT JOIN import_known k ON k.line = r.line WHERE k.line IS NULL"
NEW_NAMES = f"""
    SELECT r.line, r.external_reference, r.name {ADDED}
    AND ({{not_ascii}} AND {{suspect}} OR r.name {{no_value}}) ORDER BY r.line
"""


def look(*, first: bool) -> Changes:
    """Return what the staged rows would change; call it before they are written. `first`: with the first animals."""
    by_id, foreign, *fields = next(stream(FIELDS))
    counts = dict(zip([column.header for column in COLUMNS], fields, strict=True))
    changes = Changes(fields=counts, first=list(planned(ANIMALS)) if first else [])
    if foreign > by_id / 2:
        changes.foreign_ids = Tally(foreign, list(_planned(f"WHERE {FOREIGN} ORDER BY r.line LIMIT {EXAMPLES}")))
    convertible = CONVERTIBLE.format(not_ascii=is_not_ascii("p.name"))
    for column, condition, looks_wrong in ((REFERENCE, "", looks_altered), (NAME, convertible, looks_converted)):
        texts = stream(TEXTS.format(c=column.name, condition=condition)) if counts[column.header] else ()
        for line, pet_id, reference, before, after in texts:
            if before and looks_wrong(before, after):
                changes.altered.add(FieldChange(pet_id, reference, line, column.header, before, after))
    names = NEW_NAMES.format(not_ascii=is_not_ascii("r.name"), suspect=matches("r.name", SUSPECT), no_value=IS_NO_VALUE)
    for line, reference, name in stream(names):
        if (likely := misread(name)) is not None or name in NO_VALUE:
            changes.misread.add(SuspectName(line, reference, name, likely))
    return changes
