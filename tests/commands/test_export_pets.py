"""Each end of `export_pets` as a shell sees it."""

import os
from pathlib import Path

import pytest

from tests.commands.conftest import Database, Ended, Shell
from tests.commands.test_processes import UNREADABLE
from tests.whole import CSV_HEADER

FORMS = ["", "--format jsonl", "--format xlsx"]


@pytest.fixture(scope="module")
def demo(database: Database) -> Database:
    """A catalogue whose export as CSV is longer than what a pipe holds."""
    database.query("INSERT INTO categories_category (id, name, created_at, updated_at) VALUES (1, 'Dogs', '2026-01-01', '2026-01-01')")  # fmt: skip
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)"
    columns = "(id, name, category_id, status, created_at, updated_at)"
    values = "i, 'Animal ' || i, 1, 'available', '2026-01-01', '2026-01-01'"
    database.query(f"INSERT INTO pets_pet {columns} {numbers} SELECT {values} FROM n")
    return database


@pytest.mark.parametrize(("line", "ended"), UNREADABLE)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("demo")
def test_what_nobody_can_read(shell: Shell, form: str, line: str, ended: Ended) -> None:
    assert shell(line.format(f"manage export_pets - {form}")) == ended


@pytest.mark.usefixtures("demo")
def test_a_reader_that_has_read_enough(shell: Shell) -> None:
    assert shell("manage export_pets - | head -1") == Ended(141, f"id,{CSV_HEADER}\n", "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("> /dev/full", "Done. Standard output cannot be written: No space left on device.\n"),
        ("| exec 0<&-", ""),
        ("2> /dev/full >&2", ""),
    ],
)
@pytest.mark.usefixtures("demo")
def test_the_file_is_written_even_if_the_message_is_not(shell: Shell, tmp_path: Path, line: str, said: str) -> None:
    assert shell(f"manage export_pets {tmp_path}/a.csv {line}") == Ended(0, "", said)
    assert (tmp_path / "a.csv").read_text().count("\n") == 6001


@pytest.mark.usefixtures("demo")
def test_a_name_that_is_no_text_is_shown_escaped(shell: Shell, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.csv"
    ended = shell(f"export LC_ALL=C.UTF-8 PYTHONUTF8=1; manage export_pets {tmp_path}/$'\\xff.csv'")
    assert (ended.status, os.path.getsize(name) > 0, ended.err) == (0, True, "")  # noqa: PTH202 - no text
    assert ended.out.endswith("/\\udcff.csv.\n")
