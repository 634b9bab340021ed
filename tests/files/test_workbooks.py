"""Workbooks are read as they are shown, in little memory, or rejected with a sentence."""

import io
import re
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.errors import FileError
from files.readers import read
from files.readers.package import BLOCK, TOO_LARGE
from files.readers.rows import DamagedRow, Reading, Row
from files.readers.workbook import MOST_WAITING, NO_RESULT, NOT_IN_ORDER, TYPE_AGAIN
from files.source import Source
from tests.exploring import EXPLORE, STEADY
from tests.files.conftest import rows_in

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATION = '<Relationship Id="{}" Type="' + OFFICE + '/{}" Target="{}"/>'
ROOT = f"<Relationships>{RELATION.format('r1', 'officeDocument', 'xl/workbook.xml')}</Relationships>"
HEADER = '<row r="1"><c t="inlineStr"><is><t>name</t></is></c><c t="inlineStr"><is><t>category</t></is></c></row>'
DOGS = '<c r="B2" t="inlineStr"><is><t>Dogs</t></is></c>'
SHEET, HIDDEN = '<sheet name="{}" r:id="{}"/>', '<sheet name="{}" r:id="{}" state="hidden"/>'
Parts = dict[str, bytes | str]


def parts(
    rows: str = "", *, formats: list[str] | None = None, sheets: str = "", strings: str = "", properties: str = ""
) -> Parts:
    """Return the parts of a workbook with a header; style `n` has the format `formats[n - 1]`."""
    codes = "".join(
        f'<numFmt numFmtId="{number}" formatCode={quoteattr(code)}/>' for number, code in enumerate(formats or [], 200)
    )
    styles = "".join(f'<xf numFmtId="{200 + number}"/>' for number in range(len(formats or [])))
    return {
        "_rels/.rels": ROOT,
        "xl/workbook.xml": f"<workbook xmlns:r='{OFFICE}'>{properties}<sheets>"
        f"{sheets or SHEET.format('Animals', 'r1')}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        + RELATION.format("r1", "worksheet", "worksheets/sheet1.xml")
        + RELATION.format("r2", "worksheet", "/xl/worksheets/sheet2.xml")
        + RELATION.format("r3", "styles", "styles.xml")
        + RELATION.format("r4", "sharedStrings", "other.xml")
        + RELATION.format("r5", "chartsheet", "worksheets/sheet2.xml")
        + "</Relationships>",
        "xl/styles.xml": f"<styleSheet><numFmts>{codes}</numFmts><cellStyleXfs><xf numFmtId='14'/></cellStyleXfs>"
        f"<cellXfs><xf numFmtId='0'/>{styles}</cellXfs></styleSheet>",
        "xl/other.xml": f"<sst>{strings}</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{HEADER}{rows}</sheetData></worksheet>",
        "xl/worksheets/sheet2.xml": f"<worksheet><sheetData>{HEADER}<row>{DOGS.replace('B2', 'A2')}{DOGS}</row>"
        "</sheetData></worksheet>",
    }


def packed(contents: Parts, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return file.getvalue()


def rows_of(content: bytes, how: Reading | None = None) -> list[Row]:
    return list(rows_in(read(Source("animals.xlsx", io.BytesIO(content)), how or Reading())))


def name_of(cell: str, **given: Any) -> str:
    """Return the name in the first row, or what is said of it."""
    ((line, cells),) = rows_of(packed(parts(f'<row r="2">{cell}{DOGS}</row>', **given)))
    assert line == 2
    return cells.message if isinstance(cells, DamagedRow) else str(cells.get("name", ""))


@pytest.mark.parametrize(
    ("code", "stored", "shown"),
    [
        ("General", "42", "42"),
        ("General", "42.0", "42"),
        ("General", "4006381333931", "4006381333931"),
        ("General", "0.30000000000000004", "0.3"),
        ("General", "-5.5", "-5.5"),
        ("General", "1E3", "1000"),
        ("General;@", "7", "7"),
        ("", "42.5", "42.5"),
        ("@", "12", "12"),
        ("00000", "42", "00042"),
        ("00000;@", "42", "00042"),
        ("0", "2.5", "3"),
        ("0.00", "1.005", "1.01"),
        ("0.##", "1.5", "1.5"),
        ("#,##0", "1234567", "1,234,567"),
        ("#,##0.00 €", "-1234.5", "-1,234.50 €"),
        ("#,##0", "0", "0"),
        ("0%", "0.5", "50%"),
        ("0.0%", "0.125", "12.5%"),
        ('"No. "0000', "7", "No. 0007"),
        ("000-00", "1234", "012-34"),
        ("0-00", "123", "1-23"),
        ("[$£-809]0.00", "5", "£5.00"),
        *(("[Blue]0", "5", "5"), ("[Red]General", "-5.5", "-5.5"), ("[Color 10]0.0", "5", "5.0")),
        ("#,##0.00\\ [$€-407];[RED]\\-#,##0.00\\ [$€-407]", "1234.5", "1,234.50 €"),
    ],
)
def test_a_number_is_the_text_that_is_shown(code: str, stored: str, shown: str) -> None:
    assert name_of(f'<c r="A2" s="1"><v>{stored}</v></c>', formats=[code]) == shown


@pytest.mark.parametrize(
    ("code", "stored"),
    [
        ("General", "1E15"),
        ("General", "0.33333333333333331"),
        *(("[Red]0E+0", "5"), ('0.0"kg"E+0', "5"), ("0;-0;;@", "0"), ("0;(0)", "-5")),
        ("0.00E+00", "5"),
        ("# ?/?", "0.5"),
        ("0,", "5000"),
        ("0.0,", "5000"),
        ("[>5]0", "6"),
        (";;;", "12"),
        ("0;-0;", "0"),
        ("0", "-0.4"),
        ("_-* 0_-", "5"),
        ('"x', "5"),
        ("0.000.0", "5"),
    ],
)
def test_a_number_whose_text_cannot_be_known_is_rejected(code: str, stored: str) -> None:
    message = f"Cell A2 holds a number in a format ({code}) that looks different elsewhere. {TYPE_AGAIN}"
    assert name_of(f'<c r="A2" s="1"><v>{escape(stored)}</v></c>', formats=[code]) == message


@pytest.mark.parametrize(
    "code", ["d mmm yyyy", "yyyy-mm-dd", "[$-409]dd/mm/yyyy;@", "h:mm:ss", "[h]:mm", "y", "[Red]YYYY", "mm;[Red]-0"]
)
def test_a_date_is_rejected(code: str) -> None:
    message = f"Cell A2 holds a date, or a number in a format ({code}) that looks different elsewhere. {TYPE_AGAIN}"
    assert name_of('<c r="A2" s="1"><v>46000</v></c>', formats=[code]) == message


@pytest.mark.parametrize(
    ("number", "named"),
    [
        (11, "a number in a format (built-in 11)"),
        (14, "a date, or a number in a format (short date)"),
        (18, "a date, or a number in a format (date or time)"),
        (22, "a date, or a number in a format (short date and time)"),
    ],
)
def test_a_format_that_every_program_knows_is_named(number: int, named: str) -> None:
    contents = parts(f'<row><c s="1"><v>46000.3</v></c>{DOGS}</row>')
    contents["xl/styles.xml"] = f"<styleSheet><cellXfs><xf/><xf numFmtId='{number}'/></cellXfs></styleSheet>"
    ((_, cells),) = rows_of(packed(contents))
    assert isinstance(cells, DamagedRow)
    assert cells.message == f"Cell A2 holds {named} that looks different elsewhere. {TYPE_AGAIN}"


def test_the_name_of_a_sheet_can_have_255_characters() -> None:
    cell = '<c r="A2"><v>7</v></c>'
    assert name_of(cell, sheets=SHEET.format("x" * 255, "r1")) == "7"


@pytest.mark.parametrize("code", ["General", "@", "[Red]@", "0;-0;0;@", "0.00"])
def test_a_text_that_is_shown_as_it_is(code: str) -> None:
    assert name_of('<c r="A2" s="1" t="s"><v>0</v></c>', strings="<si><t>Rex</t></si>", formats=[code]) == "Rex"


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ('<c r="A2" t="s"><v>0</v></c>', "Rex"),
        ('<c r="A2" t="s"><v>1</v></c>', "Rex the dog"),
        ('<c r="A2" t="s"><v>2</v></c>', "_x0041_"),
        ('<c r="A2" t="s"><v>3</v></c>', ""),
        ('<c r="A2" t="inlineStr"><is><t>_x0041_</t></is></c>', "A"),
        ('<c r="A2" t="inlineStr"><is><r><t>Re</t></r><r><t xml:space="preserve">x </t></r></is></c>', "Rex "),
        ('<c r="A2" t="str"><f>"R"&amp;"ex"</f><v>Rex</v></c>', "Rex"),
        ('<c r="A2" t="str"><f>""</f><v></v></c>', ""),
        ('<c r="A2"><f>1+1</f><v>2</v></c>', "2"),
        ('<c r="A2"><f>1+1</f></c>', f"Cell A2 {NO_RESULT}"),
        ('<c r="A2"><f>1+1</f><v/></c>', f"Cell A2 {NO_RESULT}"),
        ('<c r="A2" t="b"><v>1</v></c>', f"Cell A2 holds TRUE or FALSE, not text. {TYPE_AGAIN}"),
        (
            '<c r="A2" t="e"><v>#N/A</v></c>',
            "Cell A2 holds the error #N/A. Correct its formula, or type what the cell should say with a ' in front.",
        ),
        ('<c r="A2" t="d"><v>2026-11-21</v></c>', f"Cell A2 holds a date, not text. {TYPE_AGAIN}"),
        (
            '<c r="A2" s="1" t="s"><v>0</v></c>',
            f"Cell A2 holds text in a format (;;;) that looks different elsewhere. {TYPE_AGAIN}",
        ),
        ('<c r="A2" s="1"/>', ""),
        *((f'<c r="A2" t="{kind}"><v/></c>', "") for kind in ("n", "s", "b", "e", "str", "x")),
        ('<c r="A2" s="9"><v>7.5</v></c>', "7.5"),
        ('<c r="A2"><v>1</v></c><c r="A2"><v>2</v></c>', "Cell A2 is there twice. Type again what it should say."),
        ('<c r="A2"/><c r="A2"><v>2</v></c><c r="A2"/>', "2"),
        ('<x:c r="A2" t="s" xmlns:x="y"><x:v>0</x:v></x:c>', "Rex"),
    ],
)
def test_a_cell(cell: str, name: str) -> None:
    strings = "<si><t>Rex</t></si><si><r><t>Rex</t></r><r><t> the dog</t></r><rPh><t>reks</t></rPh></si>"
    strings += "<si><t>_x005F_x0041_</t></si><si/>"
    assert name_of(cell, strings=strings, formats=[";;;"]) == name


@pytest.mark.parametrize(
    ("cell", "stored"),
    [
        *(
            (f"<c r='A2'><v>{value}</v></c>", value)
            for value in ("one", "1_0", "٣", "NaN", "Infinity", "-inf", "1e999")
        ),
        *((f"<c r='A2' t='s'><v>{value}</v></c>", value) for value in ("1", "-1", "0_0")),
    ],
)
def test_a_cell_without_a_valid_value_is_an_error_of_its_row(cell: str, stored: str) -> None:
    message = f'Cell A2 has no valid value ("{stored}"). Type what the cell should say with a \' in front.'
    assert name_of(cell, strings="<si><t>Rex</t></si>") == message


@pytest.mark.parametrize("kind", ["x", "S", "number", ""])
def test_a_cell_of_an_unknown_type_is_an_error_of_its_row(kind: str) -> None:
    message = f'Cell A2 has no valid type ("{kind}"). Type what the cell should say with a \' in front.'
    assert name_of(f"<c r='A2' t='{kind}'><v>Rex</v></c>") == message
    assert name_of(f"<c r='A2' t='{kind}'/>") == ""


def test_a_format_with_more_places_than_a_number_is_an_error_of_its_row() -> None:
    code = f"0.{'0' * 30}"
    message = f"Cell A2 holds a number in a format ({code}) that looks different elsewhere. {TYPE_AGAIN}"
    assert name_of("<c r='A2' s='1'><v>123</v></c>", formats=[code]) == message


def test_an_unknown_text_in_an_ignored_column_is_no_error() -> None:
    header = HEADER.replace("</row>", '<c t="inlineStr"><is><t>_line</t></is></c></row>')
    contents = parts()
    row = '<row r="2"><c t="inlineStr"><is><t>Rex</t></is></c><c t="inlineStr"><is><t>Dogs</t></is></c><c><v>3</v></c></row>'
    contents["xl/worksheets/sheet1.xml"] = f"<worksheet><sheetData>{header}{row}</sheetData></worksheet>"
    assert rows_of(packed(contents)) == [(2, {"name": "Rex", "category": "Dogs", "_line": "3"})]


def test_rows_and_cells_have_the_numbers_that_the_sheet_gives_them() -> None:
    rex = "<c r='A7' t='inlineStr'><is><t>Rex</t></is></c><c r='B7' t='inlineStr'><is><t>Dogs</t></is></c>"
    rows = f"<row r='5'/><row r='7'>{rex}<c r='D7'><v>1</v></c></row>"
    rows += f"<row><c r='A8'/></row><row>{DOGS.replace('B2', 'B9')}</row>"
    (line, wide), (last, cells) = rows_of(packed(parts(rows)))
    assert (line, last, cells) == (7, 9, {"category": "Dogs"})
    assert isinstance(wide, DamagedRow)
    assert (wide.message, wide.cells) == ("The row has 4 cells, the header has 2.", ["Rex", "Dogs", "", "1"])


REX, TOM = (
    [f'<c r="{place}{row}" t="inlineStr"><is><t>{text}</t></is></c>' for place, text in (("A", name), ("B", "Dogs"))]
    for row, name in ((2, "Rex"), (3, "Tom"))
)
INLINE = f'<row r="2">{"".join(REX)}</row>', f'<row r="3">{"".join(TOM)}</row>'
SHOWN = SHEET.format("Animals", "r1").replace("/>", ' state="show"/>')
FOREIGN = {
    "rows out of order": parts("".join(reversed(INLINE))),
    "cells out of order": parts(f"<row r='2'>{REX[1]}{REX[0]}</row><row r='3'>{TOM[1]}{TOM[0]}</row>"),
    "a row element for each cell": parts("".join(f"<row r='{each[7]}'>{each}</row>" for each in (*REX, *TOM))),
    "a column behind another": parts("".join(f"<row r='{each[7]}'>{each}</row>" for each in (*TOM[::-1], *REX))),
    "all cells in one row element": parts(f"<row r='9'>{''.join((*TOM, *REX))}</row>"),
    "lower-case references": parts("".join(INLINE).replace('r="A', 'r="a').replace('r="B', 'r="b')),
    "a state of no meaning": parts("".join(INLINE), sheets=SHOWN),
    "no styles": {name: part for name, part in parts("".join(INLINE)).items() if "styles" not in name},
    "no strings": {name: part for name, part in parts("".join(INLINE)).items() if "other" not in name},
    "the header at the end": parts()
    | {"xl/worksheets/sheet1.xml": f"<worksheet>{''.join(INLINE)}{HEADER}</worksheet>"},
}
"""Workbooks of other writers, all with the animals Rex and Tom."""


def test_a_number_without_the_styles_is_general_and_a_missing_string_an_error() -> None:
    contents = parts(f"<row><c s='7'><v>46000.5</v></c>{DOGS}</row><row><c t='s'><v>0</v></c></row>")
    number, (line, cells) = rows_of(
        packed({name: part for name, part in contents.items() if "xl/s" not in name and "other" not in name})
    )
    assert (number, line) == ((2, {"name": "46000.5", "category": "Dogs"}), 3)
    assert isinstance(cells, DamagedRow)
    assert cells.message == 'Cell A3 has no valid value ("0"). Type what the cell should say with a \' in front.'


@pytest.mark.parametrize("wide", [False, True], ids=["many rows", "much text"])
def test_an_early_row_may_not_come_too_late(*, wide: bool) -> None:
    cells = "<c/>" * 100 + f"<c t='str'><v>{'x' * 30_000}</v></c>" if wide else "<c><v>1</v></c>"
    late = 10 if wide else MOST_WAITING
    rows = [f"<row r='{number}'>{cells}</row>" for number in range(3, late + 3)]
    first = f"<row r='2'>{cells}</row>"
    assert [line for line, _ in rows_of(packed(parts("".join([*rows, first]))))] == [*range(2, late + 3)]
    more = [f"<row r='{number}'>{cells}</row>" for number in range(late + 3, late + 5 + 200 * wide)]
    with pytest.raises(FileError) as error:
        rows_of(packed(parts("".join([*rows, *more, first]))))
    assert str(error.value) == NOT_IN_ORDER.format(number=2, most=MOST_WAITING)


def test_a_row_that_was_given_gets_no_more_cells() -> None:
    rows = [
        f"<row r='{number}'><c r='A{number}'><v>1</v></c></row>" for number in (*range(4, MOST_WAITING + 3), 3, 2, 2)
    ]
    with pytest.raises(FileError, match=r"^Row 2 comes more than"):
        rows_of(packed(parts("".join(rows))))


CHOOSE = "The first sheet of the workbook is hidden. Choose a sheet by its name."


@pytest.mark.parametrize(
    ("sheets", "chosen", "names"),
    [
        (SHEET.format("A", "r1") + SHEET.format("B", "r2"), None, []),
        (SHEET.format("A", "r1") + SHEET.format("B", "r2"), "B", ["Dogs"]),
        (SHEET.format("Chart", "r5") + SHEET.format("B", "r2"), None, ["Dogs"]),
        (HIDDEN.format("A", "r1") + SHEET.format("B", "r2"), "B", ["Dogs"]),
        (SHEET.format("A", "r1") + HIDDEN.format("B", "r2"), "B", ["Dogs"]),
        (HIDDEN.format("A", "r1") + SHEET.format("B", "r2"), None, f'{CHOOSE} Sheets: "A", "B".'),
        (SHEET.format("A", "r1"), "a", 'The workbook has no sheet "a". Sheets: "A".'),
    ],
)
def test_the_first_sheet_is_read_or_the_one_of_a_name(sheets: str, chosen: str | None, names: list[str] | str) -> None:
    content = packed(parts(sheets=sheets))
    if isinstance(names, str):
        with pytest.raises(FileError) as error:
            rows_of(content, Reading(sheet=chosen))
        assert str(error.value) == names
    else:
        assert [
            cells["name"] for _, cells in rows_of(content, Reading(sheet=chosen)) if isinstance(cells, dict)
        ] == names


def test_names_of_parts_are_found_whatever_their_case_and_slashes() -> None:
    contents = {name.upper().replace("/", "\\"): content for name, content in parts(f"<row r='2'>{DOGS}</row>").items()}
    relations = next(name for name in contents if name.endswith("WORKBOOK.XML.RELS"))
    contents[relations] = str(contents[relations]).replace('"worksheets/', '".\\Worksheets\\')
    assert rows_of(packed(contents)) == rows_of(packed(parts(f"<row r='2'>{DOGS}</row>")))


def test_a_workbook_without_a_sheet() -> None:
    book = re.sub("<sheet [^>]*>", "", str(parts()["xl/workbook.xml"]))
    with pytest.raises(FileError, match=r"^The workbook has no sheet\.$"):
        rows_of(packed(parts() | {"xl/workbook.xml": book}))


def test_a_blank_style_is_none() -> None:
    row = "<row r='2'><c s='' t='inlineStr'><is><t>Rex</t></is></c><c t='inlineStr'><is><t>Dogs</t></is></c></row>"
    assert rows_of(packed(parts(row))) == [(2, {"name": "Rex", "category": "Dogs"})]


DAMAGED = "The workbook cannot be read. Save it again as .xlsx, or as CSV."


def with_part(name: str, content: str | bytes) -> Parts:
    return parts(f"<row r='2'>{DOGS}</row>") | {name: content}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        *(
            ({name: part for name, part in parts().items() if name != missing}, DAMAGED)
            for missing in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/worksheets/sheet1.xml")
        ),
        (packed(parts(), zipfile.ZIP_BZIP2), DAMAGED),
        (packed(parts(), zipfile.ZIP_LZMA), DAMAGED),
        (parts("<row r='2'><c r='AAAA2'/></row>"), DAMAGED),
        (parts("<row r='2'><c r='XFE2'/></row>"), DAMAGED),
        (parts("<row r='2'><c r='A'/></row>"), DAMAGED),
        (parts("<row r='0'><c/></row>"), DAMAGED),
        (parts("<row r='x'/>"), DAMAGED),
        (parts("<row r='1_0'/>"), DAMAGED),
        (parts("<row r='2'><c s='1_0'/></row>"), DAMAGED),
        (parts("<row r='1048577'><c/></row>"), "The sheet has more than 1,048,576 rows."),
        (with_part("xl/worksheets/sheet1.xml", "<worksheet/>"), "The sheet is empty."),
        (with_part("xl/styles.xml", "<!DOCTYPE x [<!ENTITY a 'b'>]><styleSheet/>"), DAMAGED),
        (with_part("xl/styles.xml", "<a>" * 200_000), TOO_LARGE),
        (with_part("xl/styles.xml", f"<x>{''.join(f'<a{n}/>' for n in range(20_000))}</x>"), TOO_LARGE),
        (with_part("xl/styles.xml", f"<x a='{'y' * 3_000_000}'/>"), TOO_LARGE),
        (with_part("xl/styles.xml", f"<x><!--{'y' * 3_000_000}--></x>"), TOO_LARGE),
        (with_part("xl/styles.xml", f"<x><cellXfs>{'<xf/>' * 70_000}</cellXfs></x>"), TOO_LARGE),
        (with_part("xl/other.xml", f"<sst><si><t>{'y' * 300_000}</t></si></sst>"), TOO_LARGE),
        ({f"{n:x}": "" for n in range(30_000)}, TOO_LARGE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_workbook_that_cannot_be_read(content: Parts | bytes, sentence: str) -> None:
    file = content if isinstance(content, bytes) else packed(content)
    with pytest.raises(FileError) as error:
        rows_of(file)
    assert str(error.value) == sentence


def test_a_cell_that_is_cut_short_anywhere_is_found() -> None:
    whole = packed(parts("".join(f"<row><c r='A{n}'><v>{n * 7919}</v></c></row>" for n in range(2, 3000))))
    for cut in range(10, len(whole), len(whole) // 40):
        with pytest.raises(FileError, match="cannot be read"):
            rows_of(whole[:cut])


MEASURE = """
import sys
from pathlib import Path
import django
django.setup()
from files.errors import FileError
from files.readers import read
from files.readers.rows import Reading
from files.source import open_source
try:
    with open_source(sys.argv[1]) as source:
        print(sum(1 for _ in read(source, Reading()).parts))
except FileError as error:
    print(error)
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
"""Unlike `resource.getrusage`, this knows nothing of the process that started this one."""


def large(name: str, begin: str, middle: str, end: str, times: int) -> bytes:
    """Return a workbook in which a part repeats something, without holding it here."""
    file = io.BytesIO()
    contents = parts(f'<row r="2"><c r="A2" t="s"><v>0</v></c>{DOGS}</row>', strings="<si><t>Rex</t></si>")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in contents.items():
            if each != name:
                archive.writestr(each, content)
        with archive.open(name, "w") as part:
            part.write(begin.encode())
            for _ in range(times // 1_000):
                part.write((middle * 1_000).encode())
            part.write(end.encode())
    return file.getvalue()


LONG = f"<c t='str'><v>{'x' * 1_000}</v></c>"
STRING = "<si><t>Rexy the dog</t></si>"
LARGE = {
    "styles": (("xl/styles.xml", "<styleSheet><cellXfs><xf/></cellXfs>", "<a/>", "</styleSheet>", 2_000_000), "1"),
    "strings": (("xl/other.xml", "<sst>", STRING, "</sst>", 500_000), "1"),
    "text": (("xl/other.xml", "<sst><si><t>", "x", "</t></si></sst>", 20_000_000), TOO_LARGE),
    "cells": (("xl/worksheets/sheet1.xml", f"<w>{HEADER}<row>", "<c/>", "</row></w>", 20_000_000), DAMAGED),
    "blank rows": (("xl/worksheets/sheet1.xml", f"<w>{HEADER}", "<row/>", "</w>", 1_000_000), "0"),
    "wide rows": (
        ("xl/worksheets/sheet1.xml", f"<w>{HEADER}", f"<row>{50 * LONG}</row>", "</w>", 3_000),
        "3000",
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@pytest.mark.parametrize("kind", LARGE)
def test_a_workbook_takes_little_memory(tmp_path: Path, kind: str) -> None:
    part, expected = LARGE[kind]
    (tmp_path / "a.xlsx").write_bytes(large(*part))
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "a.xlsx")]
    said, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == expected
    assert int(kilobytes) < 150 * 1024


def test_no_more_is_unpacked_than_is_allowed() -> None:
    content = packed(parts(f"<row r='2'>{DOGS}</row>" + "<row/>" * 10_000))
    assert len(rows_of(content)) == 1
    with pytest.raises(FileError, match="too large"):
        rows_of(content, Reading(largest_workbook=60_000))


def test_a_cell_has_at_most_the_text_that_a_spreadsheet_can_write() -> None:
    longest = "_x0041_" * 32_767  # each character is escaped
    assert name_of(f'<c r="A2" t="inlineStr"><is><t>{longest}</t></is></c>') == "A" * 32_767
    with pytest.raises(FileError, match="too large"):
        name_of(f'<c r="A2" t="inlineStr"><is><t>{longest}B</t></is></c>')


JUNK = [
    "",
    "NaN",
    "-1",
    "1e999",
    "99999999999999999999",
    "x",
    "\U0001f43e" * 300,
    "../../x",
    "A1048577",
    "true",
    "0",
    "$$$",
]
WHOLE = parts(
    '<row r="2" s="1"><c r="A2" s="1" t="n"><v>42</v></c><c r="B2" t="s"><v>1</v></c></row>'
    '<row r="3"><c r="A3" t="inlineStr"><is><t>Rex</t></is></c><c r="B3" t="str"><f>1</f><v>Dogs</v></c></row>',
    strings="<si><t>x</t></si><si><t>Dogs</t></si>",
    formats=["#,##0"],
)
VALUE = re.compile(r"(?<==)\"[^\"]*\"|(?<==)'[^']*'|(?<=>)[^<]+(?=<)")
PLACES = [(name, found.span()) for name, content in WHOLE.items() for found in VALUE.finditer(str(content))]
"""Each attribute and each text of each part."""


@pytest.mark.slow
@settings(STEADY, max_examples=20_000 if EXPLORE else 1_000)
@given(place=st.sampled_from(PLACES), junk=st.sampled_from(JUNK) | st.text(max_size=12))
def test_junk_in_a_workbook_is_a_row_or_a_sentence(place: tuple[str, tuple[int, int]], junk: str) -> None:
    name, (start, end) = place
    content = str(WHOLE[name])
    quote = content[start] if content[start] in "\"'" else ""
    value = escape(junk, {'"': "&quot;", "'": "&apos;"}).join([quote, quote])
    changed = f"{content[:start]}{value}{content[end:]}".encode()
    with suppress(FileError):
        rows_of(packed(WHOLE | {name: changed}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("place", [-9, -8, -1, 0])
def test_merged_cells_are_found_at_the_edge_of_a_block(encoding: str, place: int) -> None:
    begin = f"<?xml version='1.0' encoding='{encoding[:6]}'?><worksheet><sheetData>{HEADER}"
    begin += f'<row r="2">{DOGS.replace("B2", "A2")}{DOGS}</row></sheetData><!--'
    characters = (
        BLOCK // (1 if encoding == "utf-8" else 2) + place - len(f"{begin}--><mergeCells><") - (encoding != "utf-8")
    )
    sheet = f'{begin}{" " * characters}--><mergeCells><mergeCell ref="a2:b2"/></mergeCells></worksheet>'
    mark = "" if encoding == "utf-8" else "\ufeff"
    ((line, cells),) = rows_of(packed(parts() | {"xl/worksheets/sheet1.xml": f"{mark}{sheet}".encode(encoding)}))
    assert isinstance(cells, DamagedRow)
    assert (line, cells.message.partition(".")[0]) == (2, "Cell B2 (category) is merged with A2")
