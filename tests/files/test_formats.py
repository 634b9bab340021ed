"""Every kind of file that can be read, and what is said of one that cannot."""

import gzip
import io
import sys
import zipfile
from pathlib import Path

import pytest

from categories.models import Category
from files import source
from files.readers.json_text import LARGEST_ARRAY, TOO_LARGE
from files.source import NO_TABLE
from pets.models import ImportRun
from tests.files.conftest import Import, catalogue, command, workbook
from tests.whole import COLUMNS

pytestmark = pytest.mark.django_db(transaction=True)

REX, ZOLW = ("Rex", "Dogs", "sold", "A-1"), ('Żółw, the "slow"', "Dogs", "available", None)
CSV = 'name,category,status,external_reference\r\nRex,Dogs,sold,A-1\r\n"Żółw, the ""slow""",Dogs,,\r\n'
SEMICOLONS = 'Status;EXTERNAL_REFERENCE; Category ;NAME\nsold;A-1;Dogs;Rex\n;;Dogs;"Żółw, the ""slow"""\n'
TABS = 'name\tcategory\tstatus\texternal_reference\nRex\tDogs\tsold\tA-1\n"Żółw, the ""slow"""\tDogs\t\t\n'
LINES = (
    '{"name": "Rex", "category": "Dogs", "status": "sold", "external_reference": "A-1"}\n\n'
    '{"external_reference": null, "name": "\\u017b\\u00f3\\u0142w, the \\"slow\\"", "category": "Dogs"}\n'
)
ARRAY = f"\n [{LINES.strip().replace(chr(10) * 2, ',')}]\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CSV.encode(), "a.csv"),
        (CSV.encode("utf-8-sig"), "bom.csv"),
        (CSV.encode("utf-16"), "utf-16.csv"),
        (SEMICOLONS.encode(), "semicolons.txt"),
        (SEMICOLONS.replace("\n", "\r").encode(), "old-macintosh.csv"),
        (TABS.encode(), "a.tsv"),
        (b"\n\n" + CSV.replace("\r\n", "\n\n").encode(), "blank-lines.csv"),
        (LINES.encode(), "a.jsonl"),
        (ARRAY.encode(), "a.json"),
        (ARRAY.encode("utf-16"), "utf-16.json"),
        (ARRAY.replace("},", "}\r\n ,\r\n").encode(), "spread.json"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_kind_of_file_is_recognised(run_import: Import, dogs: Category, content: bytes, name: str) -> None:
    assert run_import(content, name=name).status == 0
    assert catalogue() == [REX, ZOLW]


def test_a_workbook_is_read_as_it_is_seen(run_import: Import, dogs: Category) -> None:
    header = ["Name", "categoryId", "External_Reference", "status", None]
    content = workbook(header, ["Rex", dogs.pk, 4711, "sold"], [None] * 4, [123, dogs.pk, None, None, None])
    assert run_import(content, name="animals.xlsx").status == 0
    assert catalogue() == [("Rex", "Dogs", "sold", "4711"), ("123", "Dogs", "available", None)]


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9, 0.98])
def test_a_damaged_workbook_is_one_sentence(run_import: Import, dogs: Category, cut: float) -> None:
    content = bytearray(workbook(["name", "category"], *(["Rex", "Dogs"] for _ in range(2000))))
    content[int(len(content) * cut)] ^= 0xFF
    result = run_import(bytes(content), name="a.xlsx")
    if result.status:
        assert result.error.startswith("The workbook cannot be read. Save it again as .xlsx, or as CSV.")
        assert catalogue() == []


def test_standard_input_is_read(dogs: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert command("import_pets", "-", "-v0").status == 0
    assert catalogue() == [REX, ZOLW]
    assert ImportRun.objects.get().file_name == "-"


def test_standard_input_that_is_closed(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    result = command("import_pets", "-")
    assert (result.status, result.error) == (3, "Standard input is closed.")


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (CSV.replace("Ż", "Ö").encode("cp1252", "replace"), ["--encoding", "cp1252"]),
        (CSV.encode("utf-16-le"), ["--encoding", "utf-16-le"]),
        (CSV.encode("utf-8-sig"), ["--encoding", "utf-8"]),
        (CSV.replace(",", ";").encode(), ["--delimiter", ";"]),
    ],
    ids=["cp1252", "utf-16 without a mark", "a mark", "delimiter"],
)
def test_what_is_given_is_not_found_out(run_import: Import, dogs: Category, content: bytes, options: list[str]) -> None:
    assert run_import(content, *options).status == 0
    assert catalogue()[0] == REX


NOT_JSON = "Line {}, character {}: this is not valid JSON."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"\n \r\n,,\n", "The file is empty."),
        (b"sep=;\n", "The file is empty."),
        (
            b"name,category,categoryId\n",
            f"The header cannot be used. category and categoryId are both there. Keep one. {COLUMNS}",
        ),
        (b'"name,category\nRex,Dogs\n', "The header cannot be read: a quote in it is not closed."),
        (b'name,category\n"Rex,Dogs\nMia,Dogs\n', "A quote that opens in the row of line 2 is never closed."),
        (
            b"name,category\nRex,Dogs\nM\xfcller,Dogs\n",
            "Line 3 is not text in UTF-8. Set the encoding to the one that shows this correctly: "
            '"Müller" in cp1252, "MŘller" in cp852, "MŁller" in mac_latin2, "M№ller" in cp866, "M³ller" in cp850',
        ),
        (
            b"\xff\xfe" + "name,category\nRex".encode("utf-16-le") + b"\x00",
            "Line 2 is not text in UTF-16.",
        ),
        (gzip.compress(CSV.encode()), NO_TABLE),
        (b"PK\x03\x04 garbage", "The workbook cannot be read. Save it again as .xlsx, or as CSV."),
        (workbook(), "The sheet is empty."),
        (b'[{"name": "Rex", "category": "Dogs"}', NOT_JSON.format(1, 37)),
        (b'[{"name": "Rex"} {}]', NOT_JSON.format(1, 18)),
        (b'[{"name": "Rex", "age": NaN}]', "The file has NaN, which is not a JSON value."),
        (b'[{"name": "NaN", "age": -Infinity}]', "The file has -Infinity, which is not a JSON value."),
        (b'[\n{"name" "Rex"}]', NOT_JSON.format(2, 9)),
        (b'[\n{"name": "Rex', NOT_JSON.format(2, 10)),
        (b'[{"name": "R\nex"}]', NOT_JSON.format(1, 13)),
        (b"[" * 100_000, "The file is not valid JSON."),
        (b"[" + b" " * LARGEST_ARRAY + b"]", TOO_LARGE.format(LARGEST_ARRAY)),
        (b"[] []", NOT_JSON.format(1, 4)),
        (b"x" * 1_100_000, "Line 1 is longer than 524,288 characters."),
        (
            b'name,category\n"' + b"x\n" * 600_000,
            "The row that begins in line 2 is longer than 524,288 characters. Is a quote in it never closed?",
        ),
        (
            b'name,category\n"' + b'","\n' * 300_000,
            "The row that begins in line 2 is longer than 524,288 characters. Is a quote in it never closed?",
        ),
        (
            b"name" + b",x" * 20 + b"," * 20,
            'The header cannot be used. Unknown columns: "x", "x", "x", "x", "x" and 15 more. category',
        ),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value[:30],
)
def test_a_file_that_cannot_be_used_is_rejected_with_the_reason(
    run_import: Import, dogs: Category, content: bytes, sentence: str
) -> None:
    result = run_import(content, "--on-error", "skip")
    assert result.status == 3
    assert result.error.startswith(sentence)
    assert catalogue() == []


def zipped(*parts: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for part in parts:
            archive.writestr(part, "<x/>")
    return file.getvalue()


NO_TABLES = {
    "xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "PDF": b"%PDF-1.7\n%\xe2\xe3",
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "Access": b"\x00\x01\x00\x00Standard Jet DB\x00" + bytes(50),
    "program": b"\x7fELF\x02\x01\x01" + bytes(50),
    "dBase": b"\x03~\x02\x0e" + bytes(28) + b"NAME",
    "RTF": b"{\\rtf1\\ansi name}",
    "HTML": b"\xef\xbb\xbf\r\n <HTML><body><table><tr><td>name",
    "UTF-16": '<!DOCTYPE html PUBLIC "-//W3C//DTD">'.encode("utf-16"),
    "table": b"<TR><TH>name</TH>",
    "XML": b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">',
}
NO_WORKBOOKS = {
    "ods": zipped("mimetype", "content.xml", "META-INF/manifest.xml"),
    "xlsb": zipped("_rels/.rels", "xl/workbook.bin"),
    "docx": zipped("_rels/.rels", "word/document.xml"),
    "zip": zipped("animals.csv"),
}
SAVE = "The workbook cannot be read. Save it again as .xlsx, or as CSV."


@pytest.mark.parametrize("kind", [*NO_TABLES, *NO_WORKBOOKS])
@pytest.mark.parametrize("name", ["animals.csv", "animals.xlsx"])
def test_what_is_no_table_is_said_to_be_none(run_import: Import, kind: str, name: str) -> None:
    result = run_import((NO_TABLES | NO_WORKBOOKS)[kind], name=name)
    assert (result.status, result.error) == (3, NO_TABLE if kind in NO_TABLES else SAVE)
    assert not ImportRun.objects.exists()


@pytest.mark.usefixtures("dogs")
def test_some_control_characters_make_no_binary_file(run_import: Import) -> None:
    assert run_import("name,category\nRex,Dogs\nTom\0,Dogs\n", "--on-error", "skip").status == 4
    assert catalogue() == [("Rex", "Dogs", "available", None)]


def test_bars_can_stand_between_cells(run_import: Import, dogs: Category) -> None:
    assert run_import("name|category|status\nRex, the first|Dogs|sold\n").status == 0
    assert run_import("sep=|\nname|category|external_reference\nMia|Dogs|A;1\n").status == 0
    assert run_import("name\nTom; Jerry|Spike|status\n", "--default-category", "Dogs").status == 0
    assert catalogue() == [
        ("Rex, the first", "Dogs", "sold", None),
        ("Mia", "Dogs", "available", "A;1"),
        ("Tom; Jerry|Spike|status", "Dogs", "available", None),
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "none.csv"
    assert command("import_pets", str(file)).error == f"{file} cannot be read: No such file or directory."
    assert command("import_pets", "").error == "The name of the file is empty."


def test_a_pipe_can_have_so_many_bytes(dogs: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_PIPED", len(CSV.encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode() + b"\n")))
    result = command("import_pets", "-")
    assert (result.status, result.error) == (3, f"The file has more than {len(CSV.encode())} bytes.")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert command("import_pets", "-", "--dry-run").status == 0


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_a_file_without_rows_is_rejected_unless_asked_for(run_import: Import, dogs: Category, name: str) -> None:
    content = {"a.csv": "name,category\n", "a.json": "[]"}[name]
    result = run_import(content, name=name)
    sentence = (
        f"The file has no rows. If that is right, use --allow-empty. Nothing changed. ({ImportRun.objects.get()})"
    )
    assert (result.status, result.error) == (3, sentence)
    done = run_import(content, "--allow-empty", name=name)
    counts = "of 0 rows 0 added, 0 changed, 0 unchanged, 0 rejected, in "
    assert (done.status, done.out.startswith(f"Done, {ImportRun.objects.latest('pk')}: {counts}")) == (0, True)
