"""Checks rows by the rules of the API, and says what is wrong with them, also beside other rows and the catalogue."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.core.exceptions import ValidationError

from categories.models import Category
from categories.names import NOT_A_STRING, validate_name
from categories.similar import Similar
from files.errors import FileError, RowError, error_in, quoted
from files.options import Options
from files.readers.header import NUMBERS, number
from files.readers.rows import BLANK, Block, Cells, DamagedRow
from files.staging import Conflict, Finding
from pets import rules
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, ID, REFERENCE, STATUS, Column, ColumnValues, RowValues
from pets.models import PetStatus

NO_SUCH_NAME = "does not exist."
NOT_OURS = "The {header} {value} cannot become {ours}: there is no such {header}."
TWO_STEPS = "The {header} {ours} cannot become something else: {value} becomes it."
DID_YOU_MEAN = 'does not exist. Did you mean "{similar}"?'
TOO_SIMILAR = 'is too similar to "{similar}" to be created.'
MOST_NEW_CATEGORIES = 2_000  # of one file. They are held in memory, and so many are a mistake
BOTH = "and category say the same: give one of them."


class Categories:
    """The categories there are, and those that the file adds."""

    def __init__(self, options: Options) -> None:
        self._create, self._force = options.create_categories, options.force_categories
        self._new = {each for each, ours in options.reading.values.get(CATEGORY.header, {}).items() if each == ours}
        self.ids = dict(Category.objects.values_list("name", "pk"))
        self._names = {number: name for name, number in self.ids.items()}
        self.added: dict[str, int] = {}
        """The names that are new, with the numbers that replace them until they are stored: -1, -2 and so on."""

    def by_name(self, name: Any) -> int:
        """Return the id; raises `ValidationError`."""
        if not isinstance(name, str):
            raise ValidationError(NOT_A_STRING)
        if (known := self.ids.get(name) or self.added.get(name)) is not None:
            return known
        similar = self._similar.find(name)
        if not (self._create or name in self._new):
            raise ValidationError(DID_YOU_MEAN.format(similar=similar) if similar else NO_SUCH_NAME)
        validate_name(name)
        if similar and not (self._force or name in self._new):
            raise ValidationError(TOO_SIMILAR.format(similar=similar))
        if len(self.added) >= MOST_NEW_CATEGORIES:
            message = f"There are more than {MOST_NEW_CATEGORIES:,} new categories. Is it the right column?"
            raise FileError(message)
        self._similar.add(name)
        return self.added.setdefault(name, -len(self.added) - 1)

    def defaults(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return what `Reading.defaults` says, by the name of the column; raises `FileError` for no category."""
        name = given.get(CATEGORY.header)
        if name is not None and name not in self.ids:
            message = f"The default category {quoted(name)} does not exist."
            raise FileError(message)
        values = {STATUS.name: given.get(STATUS.header), CATEGORY.name: self.ids.get(name or "")}
        return {column: value for column, value in values.items() if value is not None}

    def has(self, name: str) -> bool:
        """Return whether the category is there, or can be added."""
        return name in self.ids or name in self._new or self._create

    @cached_property
    def _similar(self) -> Similar:
        return Similar(self.ids)

    def name(self, number: int) -> str:
        """Return the name of a category by its id, or by the number of one to be added."""
        return self._names[number] if number > 0 else list(self.added)[-number - 1]

    def by_id(self, value: Any) -> int:
        """Return the id; raises `ValidationError`."""
        number = rules.identifier(value)
        if number not in self._names:
            raise ValidationError(rules.NO_SUCH_CATEGORY)
        return number


class Check:
    """Turns the cells of a row into what is staged, or into its errors."""

    def __init__(self, options: Options, header: Sequence[str] | None) -> None:
        """`header`: the columns of the file; None if each row names its own. Raises `FileError`."""
        self._ignore_ids = options.ignore_ids
        there = COLUMNS if header is None else [each for each in COLUMNS if _is_in(header, each)]
        self._cleared = [] if options.keep_blanks else there
        self.cleared = {each.name: each.default for each in self._cleared if each.default is not None}
        """What blank cells of a known animal become, by the name of the column."""
        self.categories = categories = Categories(options)
        self._values = options.reading.values
        self._reject_impossible()
        self.defaults = categories.defaults(options.reading.defaults)  # of a new animal, by the name of the column
        self._defaults = {each.name: each.default for each in COLUMNS if each.default is not None} | self.defaults
        self._names_categories = header is not None and CATEGORY_ID not in header
        """Whether a category that is missing is called `category`."""
        identifier = (lambda _value: None) if self._ignore_ids else _identifier
        self._columns: dict[str, tuple[str, Callable[[Any], Any]]] = {ID: (ID, identifier)}
        """By its header: the name and the rule of each column, in the order in which errors are shown."""
        for column in COLUMNS:
            if column is CATEGORY:
                self._columns[CATEGORY_ID] = column.name, categories.by_id
                self._columns[column.header] = column.name, categories.by_name
            else:
                self._columns[column.header] = column.name, column.rule
        self._columns[STATUS.header] = STATUS.name, _status

    def _reject_impossible(self) -> None:
        """Raise `FileError` for a value that would become what is none of ours, or what becomes something else."""
        for header, values in self._values.items():
            for value, ours in values.items():
                named = {"header": header, "value": quoted(value), "ours": quoted(ours)}
                is_status, is_category = header == STATUS.header, header == CATEGORY.header
                lacks = is_status and ours.lower() not in PetStatus.values
                if ours and (lacks or (is_category and not self.categories.has(ours))):
                    raise FileError(NOT_OURS.format(**named))
                if values.get(ours, ours) != ours:
                    raise FileError(TWO_STEPS.format(**named))

    def _ours(self, header: str, value: Any) -> Any:
        """Return what a value of the file becomes; "" if its row is left out."""
        return self._values.get(header, {}).get(value, value) if isinstance(value, str) else value

    def __call__(self, line: int, cells: Cells | DamagedRow) -> RowValues | list[RowError] | None:
        """Return the row, or its errors in the order of the columns; None if it is left out."""
        if isinstance(cells, DamagedRow):
            return [RowError(line, "", cells.message, cells.code)]
        if any(self._ours(header, cells.get(header)) == "" for header in self._values):
            return None
        values: dict[str, Any] = {}
        errors = []
        for header, cell in cells.items():
            if column := self._columns.get(header):
                name, rule = column
                try:
                    values[name] = rule(self._ours(header, cell))
                except ValidationError as error:
                    errors.append(error_in(line, header, " ".join(error.messages), cell))
                    error.__traceback__ = None  # Django's error refers to itself, so it would keep the row for long
        if values.get(ID) is None and REFERENCE.name not in values:
            errors += self.missing(line, cells)  # what has a default gets it when it is added
        elif self._cleared:
            errors += self.missing(line, cells, self._cleared)
        if CATEGORY.header in cells and CATEGORY_ID in cells:
            errors.append(RowError(line, CATEGORY_ID, BOTH))
        if errors:
            order = list(self._columns)
            return sorted(errors, key=lambda error: order.index(error.field))
        return RowValues(line, **values)

    def block(self, block: Block) -> ColumnValues | None:
        """Return rows without an error, in a fifth of the time; None if one needs a look at each of its cells."""
        count = len(block.cells)
        values: dict[str, Sequence[Any]] = dict.fromkeys(RowValues._fields, [None] * count)
        values |= {"line": range(block.first, block.first + count), "rejected": [False] * count}
        for header, cells in zip(block.columns, zip(*block.cells, strict=True), strict=True):
            if column := self._columns.get(header):
                name, rule = column
                texts = dict.fromkeys(cells)  # in their order, in which categories are added
                if BLANK in texts or ("" in texts and header not in {ID, REFERENCE.header}):
                    return None
                read = number if header in NUMBERS else str
                ours = {text: self._ours(header, read(text)) for text in texts if text}
                if "" in ours.values():
                    return None
                try:
                    stored = {text: rule(value) for text, value in ours.items()}
                except (ValidationError, FileError):
                    return None
                if header == STATUS.header and {*ours.values()} != {*stored.values()}:
                    return None  # of `Sold`, rejects keep the case
                values[name] = [stored.get(cell) for cell in cells]
        return [values[field] for field in RowValues._fields]

    def missing(self, line: int, there: Container[str], needed: Iterable[Column] = COLUMNS) -> list[RowError]:
        """Return an error for each needed column that has no default and whose header is not in `there`."""
        called = {CATEGORY: CATEGORY.header if self._names_categories else CATEGORY_ID}
        return [
            RowError(line, called.get(column, column.header), rules.REQUIRED)
            for column in needed
            if column.required and column.name not in self._defaults and not _is_in(there, column)
        ]

    def cells(self, row: RowValues) -> Cells:
        """Return a row as the file had it."""
        cells: Cells = {ID: row.id} | {column.header: getattr(row, column.name) for column in COLUMNS}
        if row.category_id is not None and (self._names_categories or row.category_id < 0):
            cells[CATEGORY.header] = self.categories.name(row.category_id)
        else:
            cells[CATEGORY_ID] = cells.pop(CATEGORY.header)
        return {header: value for header, value in cells.items() if value is not None}

    def about(self, line: int, cells: Cells | DamagedRow) -> RowValues | None:
        """Return what a row with errors says about which animal it is, if that is no error; None if it says nothing."""
        known: dict[str, Any] = {}
        if not isinstance(cells, DamagedRow):
            for header in (ID, REFERENCE.header):
                try:
                    known[header] = self._columns[header][1](cells[header])
                except (ValidationError, KeyError) as error:
                    error.__traceback__ = None
        return RowValues(line, **known, rejected=True) if known else None


def _is_in(headers: Container[str], column: Column) -> bool:
    return column.header in headers or (column is CATEGORY and CATEGORY_ID in headers)


def _identifier(value: Any) -> int:
    """Return the id; says of text, which a request cannot have for it, what is wrong with it."""
    if isinstance(value, str) and not value.isdecimal():
        message = "must be digits only."
        raise ValidationError(message)
    return rules.identifier(value)


def _status(value: Any) -> str:
    """Return the status; in a file, unlike in a request, case does not matter."""
    return rules.status(value.lower() if isinstance(value, str) else value)


MESSAGES = {
    Conflict.UNKNOWN_ID: "is not the ID of an animal. Leave it blank to add one.",
    Conflict.SAME_ANIMAL: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Conflict.SAME_REFERENCE: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    Conflict.TAKEN_REFERENCE: "belongs to animal {other}.",
    Conflict.NO_REFERENCE: "is what programs write where there is nothing. Leave the cell blank.",
}
NEAR = "looks like {theirs} of animal {other}."
ACCEPT = " If it is right, use --accept-references."


def errors_of(found: Finding, check: Check, *, place: str, hint: str) -> list[RowError]:
    """Return what is wrong with a row. `place`: what lines are called; `hint`: how a person can import it as it is."""
    row, kind, other, near = found
    errors = []
    if near is not None:
        message = NEAR.format(theirs=quoted(near.theirs), other=near.id) + hint
        errors.append(error_in(near.line, REFERENCE.header, message, near.reference))
    if kind is Conflict.INCOMPLETE:
        there = {column.header for column in COLUMNS if getattr(row, column.name) is not None}
        errors += check.missing(row.line, there)
    elif kind in MESSAGES:
        by_id = kind is Conflict.UNKNOWN_ID or (kind is Conflict.SAME_ANIMAL and row.id is not None)
        field, value = (ID, row.id) if by_id else (REFERENCE.header, row.external_reference)
        message = MESSAGES[kind].format(place=place, other=other) + (hint if kind is Conflict.NO_REFERENCE else "")
        errors.append(error_in(row.line, field, message, value))
    return errors
