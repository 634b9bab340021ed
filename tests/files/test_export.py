"""`export_pets`: what it writes, which animals, and what it leaves behind when it fails."""

import codecs
import csv
import ctypes
import errno
import json
import os
import resource
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from io import BytesIO, StringIO
from itertools import zip_longest
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import openpyxl
import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError, connection
from django.db.models import F, Value

from categories.models import Category
from commands.exits import Exit, ExitError
from files import export as exporting
from files.export import BATCH, IMPORTED, FileFormat, Form, write_pets
from files.new_file import BLOCK, FileInTheWayError, WholeFile
from files.spreadsheets import unescape
from pets.models import Pet
from tests.factories import CategoryFactory, PetFactory, add_many
from tests.test_manage import manage
from tests.whole import HEADER, Row, row

ROWS: list[Row] = [
    row("A-1", "Rex", "Dogs", "available"),
    row(None, "Señor Bigotes 🐶", 'Cats, and "others"', "sold"),
    row("=1+1", "=cmd|' /C calc'!A0", "+Fish", "pending"),
    row("'-1", "'quoted'", "Dogs", "available"),
    row("-12", "-1", "Dogs", "sold"),
    row("@x", "@SUM(A1)", "Dogs", "sold"),
    row("007", "1e5", "Dogs", "sold"),
    row(None, 'Mr. "Whiskers", the 3rd', "Dogs", "available"),
    row(None, '"', "Dogs", "available"),
    row(None, "\\.", "Dogs", "available"),
    row("\\N", "NULL", "Dogs", "available"),
    row(None, "\u202eכלב\u202c ფუმფულა 犬", "Dogs", "available"),
    row(None, "\ufeffno mark\u2028two lines", "Dogs", "available"),
    row("\uffff!", "U\ufffe\uffff", "Dogs", "available"),
    row("_x0041_", "_x005F_x0041_x0042\uffff", "Dogs", "available"),
    row(" 5", " between  spaces ", "Dogs", "available"),
    row(None, "#N/A", "Dogs", "available"),
    row(None, "<b>&amp;]]></t>", "Dogs", "available"),
    row(None, "100% %s {0}", "Dogs", "available"),
    row(None, "\U0010fffd🐶", "Dogs", "available"),
]  # fmt: skip
FORMS = [
    Form(columns=IMPORTED[1:], file_format=FileFormat.CSV),
    Form(columns=IMPORTED[1:], file_format=FileFormat.JSONL),
    Form(columns=IMPORTED[1:], file_format=FileFormat.XLSX),
]
WITHOUT_IDS = f"--columns={','.join(HEADER)}"
NAMES = [f"pets.{form.file_format}" for form in FORMS]


def store(rows: list[Row]) -> None:
    names = dict.fromkeys(str(row[2]) for row in rows)
    stored = {each.name: each for each in Category.objects.bulk_create(Category(name=name) for name in names)}
    Pet.objects.bulk_create(
        Pet(external_reference=row[0], name=str(row[1]), category=stored[str(row[2])], status=str(row[3]))
        for row in rows
    )


@pytest.fixture
def animals(db: None) -> list[Row]:
    store(ROWS)
    return ROWS


@pytest.fixture
def many(transactional_db: None) -> list[Row]:
    """More animals than are written at a time, and committed, so that other connections see them."""
    add_many(CategoryFactory(name="Dogs"), BATCH + 1)
    return [row(None, f"Pet {number}", "Dogs", "available") for number in range(1, BATCH + 2)]


def export(file: Path, *arguments: str) -> bytes:
    """Return what the file holds; nothing else is printed than that it was written."""
    out, err = StringIO(), StringIO()
    call_command("export_pets", str(file), WITHOUT_IDS, *arguments, stdout=out, stderr=err)
    assert out.getvalue().startswith("Wrote ")
    assert err.getvalue() == ""
    return file.read_bytes()


def rejection(file: Path | str, *arguments: str, status: Exit = Exit.REJECTED) -> str:
    out, told = StringIO(), StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("export_pets", str(file), WITHOUT_IDS, *arguments, stdout=out, stderr=told)
    assert (out.getvalue(), told.getvalue()) == ("", "")
    assert caught.value.returncode == status
    return str(caught.value)


def printed(file: Path, *arguments: str) -> bytes:
    told = StringIO()
    with file.open("w") as out:
        call_command("export_pets", "-", WITHOUT_IDS, *arguments, stdout=out, stderr=told)
    assert told.getvalue().endswith(" to standard output.\n")
    return file.read_bytes()


def as_csv(rows: list[Row]) -> bytes:
    def quoted(text: str | None) -> str:
        return '"' + text.replace('"', '""') + '"' if text and (set(text) & set('",')) else text or ""

    return "".join(",".join(map(quoted, row)) + "\n" for row in [HEADER, *rows]).encode()


def as_jsonl(rows: list[Row]) -> bytes:
    members = [{key: text for key, text in zip(HEADER, row, strict=True) if text is not None} for row in rows]
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in members).encode()


def read_sheet(content: bytes) -> list[Row]:
    """Return the rows below the header, after checking that every cell is text."""
    workbook = openpyxl.load_workbook(BytesIO(content), read_only=True)
    cells = [tuple(row) for row in workbook["Animals"].rows]
    workbook.close()
    assert {cell.data_type for row in cells for cell in row if cell.value is not None} == {"s"}
    header, *rows = [[cell.value and unescape(str(cell.value)) for cell in row] for row in cells]
    assert header == [*HEADER]
    return [
        tuple(str(text) if text else None for text, _ in zip_longest(each, HEADER)) for each in rows
    ]  # none at its end is read


def read(name: str, content: bytes) -> list[Row]:
    """Return the rows of a file of any form, each read in the simplest way."""
    if name.endswith(".xlsx"):
        return read_sheet(content)
    lines = content.decode().split("\n")
    assert lines.pop() == ""
    if ".csv" in name:
        assert lines.pop(0) == ",".join(HEADER)
        return [tuple(text or None for text in line.split(",")) for line in lines]
    return [tuple(each.get(key) for key in HEADER) for each in map(json.loads, lines)]


class TestForms:
    """Every form, with text that does not make it easy."""

    def test_json_lines(self, animals: list[Row], tmp_path: Path) -> None:
        assert export(tmp_path / "pets.jsonl") == as_jsonl(animals)

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.usefixtures("db")
    def test_an_empty_catalogue(self, tmp_path: Path, name: str) -> None:
        assert read(name, export(tmp_path / name)) == []

    @pytest.mark.parametrize("name", NAMES)
    def test_more_than_are_written_at_a_time(self, many: list[Row], tmp_path: Path, name: str) -> None:
        assert read(name, export(tmp_path / name)) == many

    @pytest.mark.usefixtures("animals")
    def test_an_xlsx_does_not_say_when_it_was_written(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(BytesIO(export(tmp_path / "pets.xlsx"))) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        dated = openpyxl.load_workbook(tmp_path / "pets.xlsx").properties
        assert (dated.created, dated.modified) == (datetime(1980, 1, 1), datetime(1980, 1, 1))  # noqa: DTZ001

    def test_an_xlsx_is_a_workbook_for_other_readers_too(self, animals: list[Row], tmp_path: Path) -> None:
        export(tmp_path / "pets.xlsx")
        workbook = openpyxl.load_workbook(tmp_path / "pets.xlsx")
        assert workbook.sheetnames == ["Animals"]
        assert (workbook["Animals"].freeze_panes, workbook["Animals"].max_row) == ("A2", len(animals) + 1)

    @pytest.mark.usefixtures("animals")
    def test_an_xlsx_takes_what_is_typed_as_text(self, tmp_path: Path) -> None:
        export(tmp_path / "pets.xlsx")
        sheet = openpyxl.load_workbook(tmp_path / "pets.xlsx").worksheets[0]
        letters = ascii_uppercase[: len(HEADER)]
        assert {letter: sheet.column_dimensions[letter].number_format for letter in letters} == dict.fromkeys(
            letters, "@"
        )
        formats = {cell.number_format for row in sheet.iter_rows(min_row=2) for cell in row if cell.value is not None}
        assert formats == {"@"}

    @pytest.mark.parametrize("name", ["pets.csv", "pets.xlsx"])
    def test_for_spreadsheets(self, animals: list[Row], tmp_path: Path, name: str) -> None:
        def guarded(text: str | None) -> Any:
            return "'" + text if text and text[0] in "=+-@'" else text

        expected: list[Any] = [tuple(guarded(text) for text in row) for row in animals]
        written = export(tmp_path / name, "--for-spreadsheets")
        if name == "pets.xlsx":
            assert read_sheet(written) == expected
        else:
            assert written == codecs.BOM_UTF8 + as_csv(expected)
        assert [tuple(text and text.removeprefix("'") for text in row) for row in expected] == animals

    @pytest.mark.parametrize(
        ("arguments", "form"),
        [
            (["pets.csv"], "csv"),
            (["PETS.CSV"], "csv"),
            (["pets.tar.csv"], "csv"),
            (["pets", "--format", "csv"], "csv"),
            (["pets.csv", "--format", "jsonl"], "jsonl"),
            (["pets", "--format", "xlsx"], "xlsx"),
        ],
    )
    @pytest.mark.usefixtures("animals")
    def test_the_name_or_an_option_says_the_form(self, tmp_path: Path, arguments: list[str], form: str) -> None:
        name, *options = arguments
        assert export(tmp_path / name, *options) == export(tmp_path / f"plain.{form}")

    @pytest.mark.usefixtures("animals")
    def test_one_statement(self, tmp_path: Path, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(3 if connection.vendor == "postgresql" else 1):  # in a transaction of its own
            export(tmp_path / "pets.csv")

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.file_format)
    def test_what_happens_meanwhile_is_not_in_it(self, many: list[Row], form: Form) -> None:
        def change() -> None:
            PetFactory(name="New")
            Pet.objects.update(name="Changed")
            connection.close()

        def meanwhile(more: int) -> None:
            if not changed:
                changed.append(more)
                thread = threading.Thread(target=change)
                thread.start()
                thread.join()

        changed: list[int] = []
        out = BytesIO()
        assert write_pets(Pet.objects.all(), out, form=form, progress=meanwhile) == len(many)
        assert (read(f".{form.file_format}", out.getvalue()), changed) == (many, [BATCH])
        assert Pet.objects.filter(name="Changed").count() == len(many) + 1


@pytest.fixture
def moments(transactional_db: None) -> list[tuple[Any, ...]]:
    added, changed = datetime(2025, 12, 31, 23, 59, 59, 999999, UTC), datetime(2026, 1, 2, 3, 4, 5, 0, UTC)
    dogs = CategoryFactory(name="Dogs")
    sold, kept = (
        PetFactory(name="=1", category=dogs, external_reference="A-1"),
        PetFactory(name="Tom", category=dogs),
    )
    Pet.objects.filter(pk=sold.pk).update(status="sold")
    Pet.objects.filter(pk=sold.pk).update(sold_on=date(2026, 1, 2))
    Pet.objects.update(created_at=added, updated_at=changed)
    times = ("2025-12-31T23:59:59Z", "2026-01-02T03:04:05Z")
    return [
        (str(sold.pk), *row("A-1", "=1", "Dogs", "sold"), "2026-01-02", *times),
        (str(kept.pk), *row(None, "Tom", "Dogs", "available"), None, *times),
    ]


class TestColumns:
    """What a file has of an animal is chosen, also what an import cannot set."""

    ALL = ("id", *HEADER, "sold_on", "added_at", "changed_at")

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("columns", [ALL, ("changed_at", "name", "sold_on"), ("name",)])
    def test_they_are_in_the_order_that_was_chosen(
        self, moments: list[tuple[Any, ...]], tmp_path: Path, name: str, columns: tuple[str, ...]
    ) -> None:
        file = tmp_path / name
        call_command("export_pets", str(file), "--columns", ", ".join(columns), stdout=StringIO())
        plain = file.read_bytes()
        expected = [{column: row[self.ALL.index(column)] for column in columns} for row in moments]
        if ".jsonl" in name:
            lines = [[(key, str(value)) for key, value in json.loads(line).items()] for line in plain.splitlines()]
            assert lines == [[(key, value) for key, value in row.items() if value is not None] for row in expected]
            return
        sheet: Any = openpyxl.load_workbook(BytesIO(plain)).worksheets[0].values if ".xlsx" in name else None
        header, *rows = sheet or csv.reader(plain.decode().splitlines())
        assert (*header,) == columns
        assert [[cell or None for cell in row] for row in rows] == [[*row.values()] for row in expected]

    @pytest.mark.usefixtures("moments")
    def test_only_what_a_person_typed_is_guarded(self, tmp_path: Path) -> None:
        file = tmp_path / "pets.csv"
        call_command("export_pets", str(file), "--columns=name,added_at", "--for-spreadsheets", stdout=StringIO())
        assert file.read_text("utf-8-sig") == "name,added_at\n'=1,2025-12-31T23:59:59Z\nTom,2025-12-31T23:59:59Z\n"

    @pytest.mark.parametrize("columns", ["", "colour", "name,name", "name,", "name;status", "categoryId"])
    def test_mistakes(self, tmp_path: Path, columns: str) -> None:
        with pytest.raises(ExitError) as error:
            call_command("export_pets", str(tmp_path / "x.csv"), "--columns", columns)
        known = ", ".join(self.ALL)
        message = f"Choose each column once. A file can have {known}."
        assert (error.value.returncode, str(error.value), [*tmp_path.iterdir()]) == (2, message, [])


class TestStandardOutput:
    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ([], "pets.csv"),
            (["--format", "csv"], "pets.csv"),
            (["--format", "jsonl"], "pets.jsonl"),
            (["--format", "xlsx"], "pets.xlsx"),
        ],
    )
    @pytest.mark.usefixtures("animals")
    def test_the_same_as_a_file(self, tmp_path: Path, arguments: list[str], name: str) -> None:
        assert printed(tmp_path / "printed", *arguments) == export(tmp_path / name)

    def test_an_xlsx_through_a_pipe(self, animals: list[Row]) -> None:
        receiver, sender = os.pipe()
        with open(receiver, "rb") as end:  # noqa: PTH123
            with open(sender, "w") as out:  # noqa: PTH123
                call_command("export_pets", "-", WITHOUT_IDS, "--format", "xlsx", stdout=out, stderr=StringIO())
            assert read_sheet(end.read()) == animals

    @pytest.mark.usefixtures("animals")
    def test_never_bytes_to_a_terminal(self) -> None:
        with terminal() as (out, _), pytest.raises(CommandError) as caught:
            call_command("export_pets", "-", "--format", "xlsx", stdout=out)
        assert str(caught.value) == "A terminal cannot show XLSX. Name a file, or redirect standard output to one."

    @pytest.mark.usefixtures("animals")
    def test_text_to_a_terminal(self) -> None:
        with terminal() as (out, shown):
            call_command("export_pets", "-", WITHOUT_IDS, "--status", "pending", stdout=out, stderr=StringIO())
            assert shown() == as_csv([ROWS[2]]).replace(b"\n", b"\r\n")

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.file_format)
    def test_a_reader_that_has_read_enough(self, many: list[Row], form: Form) -> None:
        receiver, sender = os.pipe()
        os.close(receiver)
        told = StringIO()
        arguments = ["--format", form.file_format.value]
        with open(sender, "w") as out, pytest.raises(BrokenPipeError):  # noqa: PTH123
            call_command("export_pets", "-", WITHOUT_IDS, *arguments, stdout=out, stderr=told)
        assert told.getvalue() == ""
        assert Pet.objects.count() == len(many)  # and the connection works

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.file_format)
    def test_a_full_disk(self, many: list[Row], form: Form) -> None:
        arguments = ["--format", form.file_format.value]
        with open("/dev/full", "w") as out, pytest.raises(CommandError) as caught:  # noqa: PTH123
            call_command("export_pets", "-", WITHOUT_IDS, *arguments, stdout=out)
        assert str(caught.value) == "Standard output cannot be written: No space left on device."
        assert Pet.objects.count() == len(many)


@contextmanager
def terminal() -> Iterator[tuple[Any, Callable[[], bytes]]]:
    """Give a terminal to write to, and what returns what it shows."""
    master, slave = os.openpty()
    with open(master, "rb", buffering=0) as screen, open(slave, "w") as out:  # noqa: PTH123
        yield out, lambda: screen.read(BLOCK)


@pytest.fixture
def three(db: None) -> None:
    """Animals of two categories."""
    rows: list[Row] = [
        row(None, "Old", "Dogs", "available"),
        row(None, "Middle", "Cats", "sold"),
        row(None, "New", "Dogs", "pending"),
    ]
    store(rows)


@pytest.mark.usefixtures("three")
class TestSelection:
    @pytest.mark.parametrize(
        ("arguments", "names"),
        [
            ([], "Old Middle New"),
            (["--status", "sold"], "Middle"),
            (["--status", "sold", "--status", "available"], "Old Middle"),
            (["--category", "Dogs"], "Old New"),
            (["--category", "Dogs", "--status", "pending"], "New"),
            (["--category", "Cats", "--status", "pending"], ""),
        ],
    )
    def test_filters(self, tmp_path: Path, arguments: list[str], names: str) -> None:
        assert [row[1] for row in read("pets.csv", export(tmp_path / "pets.csv", *arguments))] == names.split()

    @pytest.mark.parametrize("name", ["dogs", "Dogs ", "", "Birds", "a\nb", "\udcff", "x" * 256], ids=ascii)
    def test_an_unknown_category(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ExitError) as error:
            export(tmp_path / "pets.csv", "--category", name)
        hint = ' Did you mean "Dogs"?' if name in {"dogs", "Dogs "} else ""
        assert (error.value.returncode, str(error.value)) == (2, f'No category is called "{name}".{hint}')
        assert list(tmp_path.iterdir()) == []

    def test_an_unknown_status(self, tmp_path: Path) -> None:
        message = rejection(tmp_path / "pets.csv", "--status", "lost", status=Exit.FAILED)  # a shell sees 2
        assert "argument --status: invalid choice: 'lost'" in message


class TestRejections:
    """Mistakes, which leave nothing behind."""

    @pytest.mark.parametrize(
        ("arguments", "status", "sentence"),
        [
            (["x"], 2, "x does not end in .csv, .jsonl or .xlsx. Add --format."),
            (["x.csv.gz"], 2, "x.csv.gz does not end in .csv, .jsonl or .xlsx. Add --format."),
            (["x.jsonl", "--for-spreadsheets"], 2, "JSON lines are not for spreadsheet programs. Leave out --for-spreadsheets."),
            (["-", "--json"], 2, "--json is for a file: standard output holds the animals."),
            (["nowhere/x.csv"], 1, "nowhere/x.csv cannot be written: its folder does not exist."),
            (["file/x.csv"], 1, "file/x.csv cannot be written: Not a directory."),
            ([f"{'x' * 300}.csv"], 1, f"{'x' * 300}.csv cannot be written: File name too long."),
            ([".", "--format", "csv", "--force"], 2, ". is a folder. Name a new file in it."),
            (["/dev/null", "--format", "csv", "--force"], 3, "/dev/null is not a file that can be replaced."),
            ([], 1, "Error: the following arguments are required: FILE"),
        ],
    )  # fmt: skip
    @pytest.mark.usefixtures("db")
    def test_sentences(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, arguments: list[str], status: int, sentence: str
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.chdir(tmp_path)
        out = StringIO()
        with pytest.raises(CommandError) as caught:
            call_command("export_pets", *arguments, stdout=out)
        told = json.dumps({"state": "usage", "message": sentence}) + "\n" if "--json" in arguments else ""
        assert (caught.value.returncode, str(caught.value), out.getvalue()) == (status, sentence, told)
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    @pytest.mark.usefixtures("db")
    def test_a_folder_that_is_not_ours(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        with bound_by_modes():
            message = rejection(tmp_path / "x.csv", status=Exit.FAILED)
        assert message == f"{tmp_path}/x.csv cannot be written: Permission denied."
        assert list(tmp_path.iterdir()) == []

    def test_too_many_for_a_sheet(self, animals: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exporting, "MOST_ANIMALS", len(animals))
        assert len(read_sheet(export(tmp_path / "enough.xlsx"))) == len(animals)
        PetFactory()
        assert rejection(tmp_path / "pets.xlsx") == (
            f"A workbook can hold {len(animals)} animals and 2 GiB of text, and these are more. Use CSV."
        )
        assert [path.name for path in tmp_path.iterdir()] == ["enough.xlsx"]
        with (tmp_path / "printed").open("w") as out, pytest.raises(CommandError, match="Use CSV"):
            call_command("export_pets", "-", "--format", "xlsx", stdout=out)
        assert (tmp_path / "printed").read_bytes() == b""  # they are not written up to the last that fits

    @pytest.mark.usefixtures("animals")
    def test_too_much_text_for_a_sheet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
        assert rejection(tmp_path / "pets.xlsx") == (
            "A workbook can hold 1,048,575 animals and 2 GiB of text, and these are more. Use CSV."
        )
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("file", ["-", "pets.xlsx"])
    def test_a_database_without_tables(self, tmp_path: Path, file: str) -> None:
        target = file if file == "-" else str(tmp_path / file)
        told = manage(f"sqlite:///{tmp_path}/new.sqlite3", "export_pets", target)
        assert told == (1, "", f"The database {tmp_path}/new.sqlite3 has not been migrated. Run: manage.py migrate\n")
        assert [path.name for path in tmp_path.iterdir() if "sqlite3" not in path.name] == []


DAC_OVERRIDE = 1 << 1
"""The capability of Linux with which root writes whatever the mode says."""


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """Write only what modes let us, also as root, and read all of our code: another user may be unable to."""
    if os.geteuid() != 0:
        yield
        return
    library, header, held = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
    assert library.capget(header, held) == 0
    held[0] ^= DAC_OVERRIDE
    assert library.capset(header, held) == 0
    try:
        yield
    finally:
        held[0] ^= DAC_OVERRIDE
        assert library.capset(header, held) == 0


class TestWholeOrNotAtAll:
    @pytest.mark.usefixtures("animals")
    def test_an_existing_file_is_kept(self, tmp_path: Path) -> None:
        file = tmp_path / "pets.csv"
        file.write_text("mine")
        assert rejection(file) == f"{file} exists already. Nothing was written. To replace it: --force"
        assert file.read_text() == "mine"

    def test_an_existing_file_is_replaced_on_demand(self, animals: list[Row], tmp_path: Path) -> None:
        file = tmp_path / "pets.csv"
        file.write_text("mine")
        file.chmod(0o640)
        assert export(file, "--force") == as_csv(animals)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert list(tmp_path.iterdir()) == [file]

    def test_what_a_link_points_at_is_replaced(self, animals: list[Row], tmp_path: Path) -> None:
        file, link = tmp_path / "pets.csv", tmp_path / "link.csv"
        file.write_text("mine")
        link.symlink_to(file)
        assert export(link, "--force") == file.read_bytes() == as_csv(animals)
        assert link.is_symlink()

    @pytest.mark.usefixtures("animals")
    def test_others_may_read_it_as_the_umask_says(self, tmp_path: Path) -> None:
        before = os.umask(0o027)
        try:
            export(tmp_path / "pets.csv")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "pets.csv").stat().st_mode) == 0o640

    def test_a_file_that_another_program_wrote_meanwhile_is_kept(self, tmp_path: Path) -> None:
        file = tmp_path / "pets.csv"
        with pytest.raises(FileInTheWayError), WholeFile(file, replace=False):
            file.write_text("theirs")
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("pets.csv", "theirs")]

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.file_format)
    @pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full"), ValueError("defect")])
    def test_stopped_midway(self, many: list[Row], tmp_path: Path, form: Form, error: BaseException) -> None:
        def stop(more: int) -> None:
            assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
            raise error

        with pytest.raises(type(error)), WholeFile(tmp_path / "pets", replace=False) as out:
            write_pets(Pet.objects.all(), out, form=form, progress=stop)
        assert list(tmp_path.iterdir()) == []
        assert Pet.objects.count() == len(many)  # and the connection works

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.usefixtures("many")
    def test_a_full_disk(self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.dont_write_bytecode", True)  # of what is imported now, Python would keep 1,000 bytes
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            assert (
                rejection(tmp_path / name, status=Exit.FAILED)
                == f"{tmp_path / name} cannot be written: File too large."
            )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (KeyboardInterrupt, CommandError("Stopped. FILE was not written.", returncode=130)),
            (OperationalError, OperationalError("lost")),
        ],
    )
    @pytest.mark.usefixtures("animals")
    def test_stopped_in_the_database(self, tmp_path: Path, error: type[BaseException], expected: Exception) -> None:
        def stop(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            if "pets_pet" in sql:
                message = "lost"
                raise error(message)
            return execute(sql, *rest)

        file = tmp_path / "pets.jsonl"
        with connection.execute_wrapper(stop), pytest.raises(type(expected)) as caught:
            call_command("export_pets", str(file), stdout=StringIO(), stderr=StringIO())
        assert str(caught.value) == str(expected).replace("FILE", str(file))
        assert getattr(caught.value, "returncode", None) == getattr(expected, "returncode", None)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.postgresql("SQLite divides by zero")
    def test_a_statement_that_fails(self, many: list[Row], tmp_path: Path) -> None:
        file, last = tmp_path / "pets.csv", Pet.objects.latest("pk").pk
        pets = Pet.objects.filter(pk__gt=Value(1) / (F("pk") - last))
        with pytest.raises(DataError, match="division by zero"), WholeFile(file, replace=False) as out:
            write_pets(pets, out, form=FORMS[0])
        assert list(tmp_path.iterdir()) == []
        assert Pet.objects.count() == len(many)

    @pytest.mark.postgresql("SQLite has no connection to lose")
    def test_a_connection_that_is_lost(self, many: list[Row], tmp_path: Path) -> None:
        def lose(more: int) -> None:
            connection.connection.pgconn.finish()

        with pytest.raises(OperationalError), WholeFile(tmp_path / "pets.csv", replace=False) as out:
            write_pets(Pet.objects.all(), out, form=FORMS[0], progress=lose)
        connection.close()
        assert list(tmp_path.iterdir()) == []
        assert Pet.objects.count() == len(many)


class Terminal(StringIO):
    """Standard error that people look at."""

    def isatty(self) -> bool:
        return True


class TestReporting:
    @pytest.mark.parametrize(("count", "words"), [(0, "0 animals"), (1, "1 animal"), (2, "2 animals")])
    @pytest.mark.usefixtures("db")
    def test_a_sentence(self, tmp_path: Path, count: int, words: str) -> None:
        PetFactory.create_batch(count)
        out, told = StringIO(), StringIO()
        call_command("export_pets", str(tmp_path / "pets.csv"), stdout=out, stderr=told)
        assert (out.getvalue(), told.getvalue()) == (f"Wrote {words} to {tmp_path}/pets.csv.\n", "")

    @pytest.mark.parametrize("name", NAMES)
    def test_json(self, animals: list[Row], tmp_path: Path, name: str) -> None:
        out, told, file = StringIO(), StringIO(), tmp_path / name
        call_command("export_pets", str(file), "--json", stdout=out, stderr=told)
        summary = json.loads(out.getvalue())
        assert 0 <= summary.pop("seconds") < 60
        assert summary == {
            "state": "done",
            "file": str(file),
            "format": name.removeprefix("pets."),
            "animals": len(animals),
            "bytes": file.stat().st_size,
        }
        assert (out.getvalue().count("\n"), told.getvalue()) == (1, "")

    @pytest.mark.parametrize("stderr", [StringIO, Terminal])
    @pytest.mark.usefixtures("animals")
    def test_silence(self, tmp_path: Path, stderr: type[StringIO]) -> None:
        out, told = StringIO(), stderr()
        call_command("export_pets", str(tmp_path / "pets.csv"), verbosity=0, stdout=out, stderr=told)
        assert (out.getvalue(), told.getvalue()) == ("", "")

    @pytest.mark.parametrize(("stderr", "shows"), [(StringIO, False), (Terminal, True)])
    @pytest.mark.usefixtures("animals")
    def test_a_bar_on_a_terminal(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr: type[StringIO], *, shows: bool
    ) -> None:
        told = stderr()
        monkeypatch.setattr("sys.stderr", told)
        call_command("export_pets", str(tmp_path / "pets.csv"), stdout=StringIO())
        assert bool(told.getvalue()) == shows
        assert "\n" not in told.getvalue()
