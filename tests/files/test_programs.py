"""Files as programs write them, of animals that are known and one that is new: what an import makes of each."""

import csv
import io
import json
from typing import Any

import pytest

from categories.models import Category
from tests.factories import PetFactory
from tests.files.conftest import Import, catalogue
from tests.whole import COLUMNS

pytestmark = pytest.mark.django_db(transaction=True)
HEADER = ["external_reference", "name", "category", "status"]
ROWS = [["00042", "Геша", "Dogs", "sold"], ["A-1", "Zoë", "Dogs", "sold"], ["", 'Hops, the "Sir"', "Dogs", "pending"]]
KNOWN = [("Геша", "Dogs", "available", "00042"), ("Zoë", "Dogs", "available", "A-1")]
IMPORTED = [
    ("Геша", "Dogs", "sold", "00042"),
    ("Zoë", "Dogs", "sold", "A-1"),
    ('Hops, the "Sir"', "Dogs", "pending", None),
]
OBJECTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]


@pytest.fixture(autouse=True)
def known(dogs: Category) -> None:
    for name, _, status, reference in KNOWN:
        PetFactory(name=name, category=dogs, status=status, external_reference=reference)


def table(**dialect: Any) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, **dialect).writerows([HEADER, *ROWS])
    return text.getvalue()


def dump(nothing: str) -> str:
    return "\n".join("\t".join(cell or nothing for cell in row) for row in [HEADER, *ROWS])


@pytest.mark.parametrize(
    "content",
    [
        table(dialect="unix"),
        "\ufeff" + table().replace("external_reference,name", "External Reference, NAME "),
        table().replace("\r\n", ",,\r\n") + ",,,,,\r\n",  # blank cells and rows of a spreadsheet program
        dump("\\N"),  # PostgreSQL's COPY, MySQL's INTO OUTFILE
        json.dumps(OBJECTS, indent=2),
    ],
)
def test_it_is_imported(run_import: Import, content: str | bytes) -> None:
    result = run_import(content)
    assert (result.status, catalogue()) == (0, IMPORTED), result.error


NOTHING = (
    "is what programs write where there is nothing. Leave the cell blank. If it is right, use --accept-references."
)
OPTIONS = "See --map, --header-row and --ignore-unknown-columns."


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (dump("NULL"), f'line 4: external_reference "NULL" {NOTHING}'),  # mysql --batch, SQL Server's Management Studio
        (dump("null").replace("Zoë", "NULL"), f'line 4: external_reference "null" {NOTHING}'),
        (table().replace("00042", "42.0"), 'external_reference "42.0" looks like "00042" of animal'),  # pandas
        (table() + "(3 rows)\r\n", 'line 5: The row has 1 cell ("(3 rows)"), the header has 4.'),  # psql -A
        (",name,category\n0,Rex,Dogs\n", f"The header cannot be used. Column 1 has no title. {COLUMNS} {OPTIONS}"),
        (
            "name,categroy,x\n",
            'The header cannot be used. Unknown columns: "categroy", "x". Did you mean category? '
            f"category (by name) or categoryId (by ID) is missing. {COLUMNS} {OPTIONS}",
        ),
        ('[{"name": "Rex", "category": "Dogs", "id": 1.5}]', "animal 1: id 1.5 must be a 64-bit integer."),
        ('{"data": [], "line": 2}', f'line 1: Unknown columns: "data", "line". {COLUMNS}'),
    ],
)
def test_it_stops_and_says_why(run_import: Import, content: str, told: str) -> None:
    result = run_import(content)
    assert (result.status, catalogue()) == (3, KNOWN)
    assert told in result.error


def test_a_reference_that_says_nothing_can_be_right(run_import: Import) -> None:
    content = "external_reference,name,category\nNULL,Rex,Dogs\n"
    assert run_import(content, "--accept-references").status == 0
    assert run_import(content.replace("Rex", "Max")).status == 0  # it is known
    assert catalogue()[2:] == [("Max", "Dogs", "available", "NULL")]


@pytest.mark.parametrize("name", ["NULL", "nan", "\\N", "Zoë ", "\u00a0Zoë", "Zoë\u00a0"])
def test_no_person_renames_an_animal_like_this(run_import: Import, name: str) -> None:
    result = run_import(f"external_reference,name,category\nA-1,{name},Dogs\nB-1,{name},Dogs\n")
    shown = name.replace("\u00a0", "\N{REPLACEMENT CHARACTER}")
    assert result.error.startswith(
        f'1 reference or name looks altered by a spreadsheet program or a wrong encoding: "Zoë" → "{shown}" (animal '
    )
    assert (result.status, catalogue()) == (3, KNOWN)


def test_a_blank_cell_of_a_dump_keeps_the_value(run_import: Import) -> None:
    assert run_import("id,external_reference,category,status\n\\N,A-1,\\N,sold\n").status == 0
    assert catalogue() == [KNOWN[0], ("Zoë", "Dogs", "sold", "A-1")]
