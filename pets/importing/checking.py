"""Checks rows one by one, by the rules that the API goes by."""

from collections.abc import Callable, Container
from typing import Any

from django.core.exceptions import ValidationError

from categories.models import Category
from categories.names import validate_name
from pets import rules
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, REFERENCE, Checked
from pets.importing.errors import FileError, RowError
from pets.importing.readers.rows import Cells, Damaged

NO_SUCH_NAME = "must be the name of an existing category, unless missing ones are to be created."
MOST_NEW_CATEGORIES = 10_000
"""Of one file. They are held in memory, and so many are a mistake."""

BOTH = "and category say the same: give one of them."


class Categories:
    """The categories there are, and those that the file adds."""

    def __init__(self, *, create: bool) -> None:
        """`create`: a name that no category has is that of one to be added."""
        self._create = create
        self.ids = dict(Category.objects.values_list("name", "pk"))
        self._names = {number: name for name, number in self.ids.items()}
        self.added: dict[str, int] = {}
        """The names that are new, with the numbers that stand for them until they are stored: -1, -2 and so on."""

    def by_name(self, name: Any) -> int:
        """Return the id; raises `ValidationError`."""
        if isinstance(name, str) and (known := self.ids.get(name) or self.added.get(name)) is not None:
            return known
        if not self._create or not isinstance(name, str):
            raise ValidationError(NO_SUCH_NAME if isinstance(name, str) else rules.NOT_A_STRING)
        validate_name(name)
        if len(self.added) >= MOST_NEW_CATEGORIES and name not in self.added:
            message = f"There are more than {MOST_NEW_CATEGORIES:,} new categories. Is it the right column?"
            raise FileError(message)
        return self.added.setdefault(name, -len(self.added) - 1)

    def name(self, number: int) -> str:
        """Return the name of a category by its id, or by the number that stands for one to be added."""
        return self._names[number] if number > 0 else list(self.added)[-number - 1]

    def by_id(self, value: Any) -> int:
        """Return the id; raises `ValidationError`."""
        number = rules.category_id(value)
        if number not in self._names:
            raise ValidationError(rules.NO_SUCH_CATEGORY)
        return number


class Check:
    """Turns the cells of a row into what is staged, or into its errors."""

    def __init__(self, categories: Categories, *, keep_blanks: bool) -> None:
        """`keep_blanks`: what a row with a reference leaves blank can come from the animal that has it."""
        self._keep_blanks = keep_blanks
        self._categories = categories
        self._columns: dict[str, tuple[str, Callable[[Any], Any]]] = {}
        """By its header: the name and the rule of each column, in the order in which errors are shown."""
        for column in COLUMNS:
            if column.rule is not None:
                self._columns[column.header] = column.name, column.rule
            else:
                self._columns[CATEGORY_ID] = column.name, categories.by_id
                self._columns[column.header] = column.name, categories.by_name

    def __call__(self, line: int, cells: Cells | Damaged) -> Checked | list[RowError]:
        """Return the row, or its errors in the order of `COLUMNS`."""
        if isinstance(cells, Damaged):
            return [RowError(line, "", cells.message, cells.code)]
        return self._plain(line, cells) or self._any(line, cells)

    def _plain(self, line: int, cells: Cells) -> Checked | None:
        """Return a row that has the usual cells and no error, in half the time; None for any other."""
        reference = cells.get("external_reference")
        if len(cells) != 3 + (reference is not None):
            return None
        try:
            return Checked(
                line,
                external_reference=None if reference is None else rules.reference(reference),
                name=rules.name(cells["name"]),
                category_id=self._categories.ids[cells["category"]],
                status=rules.status(cells["status"]),
            )
        except (KeyError, TypeError, ValidationError):
            return None

    def _any(self, line: int, cells: Cells) -> Checked | list[RowError]:
        values: dict[str, Any] = {}
        errors = []
        for header, cell in cells.items():
            if column := self._columns.get(header):
                name, rule = column
                try:
                    values[name] = rule(cell)
                except ValidationError as error:
                    errors.append(RowError(line, header, " ".join(error.messages)))
        if REFERENCE.name not in values or not self._keep_blanks:
            errors += missing(line, {CATEGORY.header if header == CATEGORY_ID else header for header in cells})
            values = {column.name: column.default for column in COLUMNS if column.default is not None} | values
        if CATEGORY.header in cells and CATEGORY_ID in cells:
            errors.append(RowError(line, CATEGORY_ID, BOTH))
        if errors:
            order = list(self._columns)
            return sorted(errors, key=lambda error: order.index(error.member))
        return Checked(line, **values)

    def reference(self, cells: Cells | Damaged) -> str | None:
        """Return the reference of a row with errors, if that is none of them."""
        try:
            return None if isinstance(cells, Damaged) else rules.reference(cells.get(REFERENCE.header))
        except ValidationError:
            return None


def missing(line: int, there: Container[str]) -> list[RowError]:
    """Return an error for each column that a new animal must have and whose header is not in `there`."""
    lacking = [column.header for column in COLUMNS if column.required and column.header not in there]
    return [RowError(line, CATEGORY_ID if header == CATEGORY.header else header, rules.REQUIRED) for header in lacking]
