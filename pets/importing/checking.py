"""Checks rows one by one, by the rules that the API goes by."""

from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from categories.models import Category
from categories.names import validate_name
from pets import rules
from pets.importing.errors import FileError, RowError
from pets.importing.readers.rows import Cells, Damaged
from pets.models import PetStatus, validate_reference

NO_SUCH_NAME = "must be the name of an existing category, unless missing ones are to be created."
MOST_NEW_CATEGORIES = 10_000
"""Of one file. They are held in memory, and so many are a mistake."""

PLAIN_CELLS = 4

NOT_A_STRING = "must be a string."
BOTH = "and category say the same: give one of them."


class Checked(NamedTuple):
    """A row as it is staged; None is blank. A category that is to be added has a negative number."""

    line: int
    name: str | None
    category_id: int | None
    status: str | None
    external_reference: str | None
    refused: bool = False
    """Only its reference counts: no later row may have it."""


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
            raise ValidationError(NO_SUCH_NAME if isinstance(name, str) else NOT_A_STRING)
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
        """`keep_blanks`: what a row with a reference leaves blank may come from the animal that has it."""
        self._keep_blanks = keep_blanks
        self._categories = categories
        self._rules = {
            "name": rules.name,
            "categoryId": categories.by_id,
            "category": categories.by_name,
            "status": rules.status,
            "external_reference": _reference,
        }

    def __call__(self, line: int, cells: Cells | Damaged) -> Checked | list[RowError]:
        """Return the row, or its errors in the order in which the API names members."""
        if isinstance(cells, Damaged):
            return [RowError(line, "", cells.message, cells.code)]
        return self._plain(line, cells) or self._any(line, cells)

    def _plain(self, line: int, cells: Cells) -> Checked | None:
        """Return a row that has all four cells and no error, in half the time; None for any other."""
        if len(cells) != PLAIN_CELLS:
            return None
        try:
            return Checked(
                line,
                rules.name(cells["name"]),
                self._categories.ids[cells["category"]],
                rules.status(cells["status"]),
                _reference(cells["external_reference"]),
            )
        except (KeyError, TypeError, ValidationError):
            return None

    def _any(self, line: int, cells: Cells) -> Checked | list[RowError]:
        values: dict[str, Any] = {}
        errors = []
        for member, cell in cells.items():
            if rule := self._rules.get(member):
                try:
                    values[member] = rule(cell)
                except ValidationError as error:
                    errors.append(RowError(line, member, " ".join(error.messages)))
        category = values.get("categoryId") or values.get("category")
        reference = values.get("external_reference")
        if reference is None or not self._keep_blanks:
            errors += missing(line, name="name" in cells, category="category" in cells or "categoryId" in cells)
            values.setdefault("status", PetStatus.AVAILABLE.value)
        if "category" in cells and "categoryId" in cells:
            errors.append(RowError(line, "categoryId", BOTH))
        if errors:
            order = list(self._rules)
            return sorted(errors, key=lambda error: order.index(error.member))
        return Checked(line, values.get("name"), category, values.get("status"), reference)

    def reference(self, cells: Cells | Damaged) -> str | None:
        """Return the reference of a row with errors, if that is none of them."""
        try:
            return None if isinstance(cells, Damaged) else _reference(cells.get("external_reference"))
        except ValidationError:
            return None


def _reference(value: Any) -> str:
    if not isinstance(value, str):
        raise ValidationError(NOT_A_STRING)
    validate_reference(value)
    return value


def missing(line: int, *, name: bool, category: bool) -> list[RowError]:
    """Return an error for each of the two members that a new animal must have and that is not there."""
    if name and category:
        return []
    there = {"name": name, "categoryId": category}
    return [RowError(line, member, rules.REQUIRED) for member, given in there.items() if not given]
