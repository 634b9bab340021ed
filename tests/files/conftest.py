"""What the tests of import and export share: a file, the command, and the catalogue it leaves."""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pytest
from django.core.management import CommandError, call_command

from categories.models import Category
from files.readers.rows import Block, Row, Table
from pets.models import ImportRun, Pet


class Result(NamedTuple):
    """What the command said and did."""

    status: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Import = Callable[..., Result]
Animal = tuple[str, str, str, str | None]


@pytest.fixture
def run_import(tmp_path: Path) -> Import:
    """Write `content` to a file and import it; options are those of the command."""

    def run(content: str | bytes, *options: str, name: str = "animals.csv") -> Result:
        file = tmp_path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return command("import_pets", str(file), "-v0", *options)

    return run


def command(*arguments: str) -> Result:
    """Run a command; exit status 0 if it came to its end."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=err)
    except CommandError as error:
        return Result(error.returncode, out.getvalue(), f"{err.getvalue()}{error}")
    except SystemExit as ended:
        return Result(int(ended.code or 0), out.getvalue(), err.getvalue())
    return Result(0, out.getvalue(), err.getvalue())


@pytest.fixture
def dogs() -> Category:
    return Category.objects.create(name="Dogs")


def rows_in(table: Table) -> Iterator[Row]:
    """Yield the rows one by one."""
    for part in table.parts:
        yield from part.one_by_one if isinstance(part, Block) else [part]


def workbook(*rows: Sequence[Any]) -> bytes:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def book(sheets: Mapping[str, Any], *, hidden: str = "", merged: str = "") -> bytes:
    """Return a workbook with these sheets; `merged`: the cells of its first one that are."""
    made = openpyxl.Workbook()
    made.remove(made.worksheets[0])
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        sheet.sheet_state = "hidden" if title == hidden else "visible"
        for row in rows:
            sheet.append(row)
    for cells in merged.split():
        made.worksheets[0].merge_cells(cells)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def catalogue() -> list[Animal]:
    """Return the animals in the order of their ids: name, category, status, reference."""
    animals = Pet.objects.order_by("pk").values_list("name", "category__name", "status", "external_reference")
    return [(name, category, status, reference) for name, category, status, reference in animals]


def history() -> list[tuple[str, str, str, str, int | None]]:
    """Return the history of animals: kind, name, status, actor, line."""
    changes = Pet.history.order_by("history_id")
    return [(each.history_type, each.name, each.status, each.actor, each.import_line) for each in changes]


def counts(run: ImportRun | None = None) -> tuple[str, int, int, int, int, int]:
    """Return the newest record's state, rows, created, updated, unchanged, rejected."""
    run = run or ImportRun.objects.latest("pk")
    return run.state, run.rows, run.created, run.updated, run.unchanged, run.rejected
