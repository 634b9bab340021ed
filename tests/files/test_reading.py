"""Files of every format and size, read without a database."""

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from files.errors import FileError
from files.readers import read
from files.readers.rows import DamagedRow, Reading, Row
from files.source import CHANGED, Source, open_source
from tests.files.conftest import rows_in, workbook
from tests.whole import COLUMNS

HEADER = ["name", "category", "status", "external_reference"]


def animals(count: int) -> list[list[str]]:
    return [[f'Rex "{number}", Żółw', "Dogs", "sold", f"A-{number}"] for number in range(count)]


def as_csv(rows: list[list[str]], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([HEADER, *rows])
    return text.getvalue().encode()


def as_json(rows: list[list[str]]) -> bytes:
    return json.dumps([dict(zip(HEADER, row, strict=True)) for row in rows]).encode()


def as_json_lines(rows: list[list[str]]) -> bytes:
    return b"".join(json.dumps(dict(zip(HEADER, row, strict=True))).encode() + b"\n" for row in rows)


FORMATS: dict[str, tuple[Callable[[list[list[str]]], bytes], Reading]] = {
    "csv": (as_csv, Reading()),
    "csv with a delimiter": (lambda rows: as_csv(rows, ";"), Reading(delimiter=";")),
    "json": (as_json, Reading()),
    "jsonl": (as_json_lines, Reading()),
    "xlsx": (lambda rows: workbook(HEADER, *rows), Reading()),
}


def rows_of(content: bytes, how: Reading | None = None) -> list[Row]:
    return list(rows_in(read(Source("animals", io.BytesIO(content)), how or Reading())))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("count", [10, 1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_every_animal_is_read_once(form: str, count: int) -> None:
    if count > 1_000 and form in {"xlsx", "json"}:
        count //= 10  # openpyxl is slow to write it, and an array has a limit
    write, how = FORMATS[form]
    expected = [dict(zip(HEADER, row, strict=True)) for row in animals(count)]
    assert [cells for _, cells in rows_of(write(animals(count)), how)] == expected


SIZES = [edge + more for edge in (4_096, 8_192, 65_536, 131_072, 2**20) for more in (-2, -1, 0, 1, 2)]


def padded(form: str, size: int) -> bytes:
    """Return four animals in exactly `size` bytes, most of them in the first three names: no line is too long."""
    write, _ = FORMATS[form]
    others = [["Mia", "Dogs", "sold", "D"]]
    longer = size - len(write([["", "Dogs", "sold", reference] for reference in "ABC"] + others))
    parts = [longer // 3, longer // 3, longer - 2 * (longer // 3)]
    names = [["x" * part, "Dogs", "sold", reference] for part, reference in zip(parts, "ABC", strict=True)]
    content = write(names + others)
    assert len(content) == size
    return content


@pytest.mark.parametrize("form", ["csv", "csv with a delimiter", "jsonl"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("end", [b"", b"\x1a"], ids=["", "DOS"])
def test_a_file_of_any_size(form: str, size: int, end: bytes) -> None:
    rows = rows_of(padded(form, size) + end, FORMATS[form][1])
    assert [cells["name"].strip("x") for _, cells in rows if isinstance(cells, dict)] == ["", "", "", "Mia"]
    assert len(rows) == 4


@pytest.mark.parametrize("size", SIZES)
def test_an_array_of_any_size(size: int) -> None:
    """Its animals are small: one of more than 64 KiB is not read."""
    content = as_json(animals(size // 200))
    content = content[:-1] + b" " * (size - len(content)) + b"]"
    assert len(content) == size
    assert len(rows_of(content)) == size // 200


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(
    ("edge", "encoding"),
    [
        *((8_192, encoding) for encoding in ENCODINGS),
        *(pytest.param(65_536, encoding, marks=pytest.mark.slow) for encoding in ENCODINGS),
        *(pytest.param(2**20, encoding, marks=pytest.mark.slow) for encoding in ("utf-8", "utf-16-le")),
    ],
)
def test_the_line_of_a_wrong_byte(encoding: str, end: str, edge: int, offset: int) -> None:
    """The wrong byte is the first of a line, wherever in a block that is."""
    unmarked = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)
    wrong = b"\xff" if unmarked == "utf-8" else "\udc00".encode(unmarked, "surrogatepass")
    content = f"name,category{end}".encode(encoding)
    line = f"Żółw,Dogs{end}".encode(unmarked)
    count, rest = divmod(edge - len(content), len(line))
    long_line = f"{'x' * (rest + offset + 2)}{end}".encode(unmarked)
    content += line * count + long_line + wrong + line
    given = encoding if encoding.endswith("e") else None
    with pytest.raises(FileError, match=f"^Line {count + 3:,} is not text in {unmarked[:6].upper()}"):
        rows_of(content, Reading(encoding=given))


@pytest.mark.parametrize("name", ["R\0ex", "\0", "\0\0\0"])
def test_a_nul_is_no_sign_of_utf_16(name: str) -> None:
    content = f"name,category\n{name},Dogs\n".encode()
    assert rows_of(content) == [(2, {"name": name, "category": "Dogs"})]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "animals.csv"
    path.write_bytes(as_csv(animals(10)))
    return path


def grow(file: Path) -> None:
    with file.open("ab") as more:
        more.write(b"Mia,Dogs,sold,B-1\r\n")


def change_and_hide_it(file: Path) -> None:
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"Dogs", b"Cats"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [grow, change_and_hide_it])
@pytest.mark.parametrize("after", [0, 5, 10])
def test_a_file_that_changes_while_it_is_read_is_rejected(
    file: Path, change: Callable[[Path], None], after: int
) -> None:
    with open_source(str(file)) as source:
        assert len(source.sha256) == 64
        rows = rows_in(read(source, Reading()))
        for _ in range(after):
            next(rows)
        change(file)
        with pytest.raises(FileError, match=CHANGED):
            list(rows)


def test_what_a_pipe_gave_does_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.write(writing, as_csv(animals(10)))
    os.close(writing)
    with open_source(f"/dev/fd/{reading}") as source:
        os.close(reading)
        assert len(list(rows_in(read(source, Reading())))) == 10


REX = {"name": "Rex", "category": "Dogs"}


@pytest.mark.parametrize(
    "content",
    [
        "sep=;\r\nname;category\r\nRex;Dogs\r\n",
        '"sep=,"\nname,category\nRex,Dogs\n',
        "SEP=\t\nname\tcategory\nRex\tDogs\n",
        "\ufeffsep=;\nname;category\nRex;Dogs",
        "name;category;\nRex;Dogs;\n",
        "name;category;;\nRex;Dogs;;\n;;;\n",
        "name;category;\nRex;Dogs\n",
        "\n\nname;category\n\nRex;Dogs\n\n",
        ";;\nname;category;\n;;\nRex;Dogs;\n",
        '"";""\nname;category\nRex;Dogs\n',
        '""\nname;category\nRex;Dogs\n',
        "   \nname;category\nRex;Dogs\n",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r"], ids=["LF", "CR"])
def test_what_spreadsheets_add_to_csv_is_accepted(content: str, end: str) -> None:
    text = content.replace("\r\n", "\n").replace("\n", end)
    assert [cells for _, cells in rows_of(text.encode())] == [REX]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_given_delimiter_wins_over_the_first_line(delimiter: str) -> None:
    content = f"sep=;\nname{delimiter}category\nRex{delimiter}Dogs\n".encode()
    assert rows_of(content, Reading(delimiter=delimiter)) == [(3, REX)]


@pytest.mark.parametrize("row", ["Rex;Dogs;x", "Rex;Dogs;;"])
def test_only_the_cells_of_a_trailing_delimiter_are_too_many(row: str) -> None:
    ((_, cells),) = rows_of(f"name;category;\n{row}\n".encode())
    assert isinstance(cells, DamagedRow)
    assert cells.message.startswith("The row has ")


def test_a_cell_too_many_is_an_error_if_the_header_has_none() -> None:
    ((_, cells),) = rows_of(b"name;category\nRex;Dogs;\n")
    assert isinstance(cells, DamagedRow)


TIERS = "Tier;Art;Farbe\nRex;Dogs;braun\n"
NAMES = {"Tier": "name", "Art": "category"}


def test_columns_can_have_other_names_and_unknown_ones_can_be_ignored() -> None:
    how = Reading(mapping={"tier ": "name", "ART": "category"}, ignore_unknown=True)
    assert rows_of(TIERS.encode(), how) == [(2, REX)]
    line = b'{"Tier": "Rex", "Art": "Dogs", "Farbe": "braun"}'
    how = Reading(mapping=NAMES, ignore_unknown=True)
    assert rows_of(line, how) == rows_of(b"[%s]" % line, how) == [(1, REX)]


@pytest.mark.parametrize(
    ("header", "how", "mistake"),
    [
        (TIERS, Reading(mapping=NAMES), 'Unknown column: "Farbe".'),
        ("nmae;category", Reading(), 'Unknown column: "nmae". Did you mean name? name is missing.'),
        ("name;Category ID;Reference", Reading(), 'Unknown columns: "Category ID", "Reference". Did you mean '
         "categoryId, external_reference? category (by name) or categoryId (by ID) is missing."),
        ("name;category", Reading(mapping={"Tier": "name"}), 'There is no column "Tier" to map.'),
        ("name;Tier;category", Reading(mapping={"Tier": "name"}), "name is there twice."),
        ("name;category;a;;b", Reading(), 'Column 4 has no title. Unknown columns: "a", "b".'),
    ],
)  # fmt: skip
def test_a_mistake_in_the_header_is_explained(header: str, how: Reading, mistake: str) -> None:
    with pytest.raises(FileError) as error:
        rows_of(header.encode(), how)
    assert str(error.value) == f"The header cannot be used. {mistake} {COLUMNS}"


def test_a_first_line_that_is_cut_short_is_one_row() -> None:
    (line, cut), (_, rex) = rows_of(b'{"name": "Re\n' + json.dumps(REX).encode())
    assert (line, rex) == (1, REX)
    assert isinstance(cut, DamagedRow)
