"""What suppliers send: title rows, columns with other names, few columns, any encoding."""

import codecs
from typing import Any

import pytest

from categories.models import Category
from pets.models import ImportRun, Pet
from tests.files.conftest import Import, book, catalogue, command

pytestmark = pytest.mark.django_db(transaction=True)

TITLES = '"Lime Tree" Farm: delivery 47\nPrinted, 20 Nov 2026\n\n'
DELIVERY = f"{TITLES}No.;Pet name;Kind;State;Price\nLT-1;Żółwik;Dogs;sold;140,00\nLT-2;Ćwirek;Dogs;;35,00\n"
AS_OURS = [
    "--map",
    "No.=external_reference",
    "--map",
    "pet  NAME=name",
    "--map",
    "Kind=category",
    "--map",
    "State=status",
]
ROWS = [("Żółwik", "Dogs", "sold", "LT-1"), ("Ćwirek", "Dogs", "available", "LT-2")]


@pytest.mark.usefixtures("dogs")
def test_title_rows_are_left_out_and_columns_are_mapped(run_import: Import) -> None:
    result = run_import(DELIVERY, "--header-row", "4", *AS_OURS, "--ignore-unknown-columns")
    assert result.status == 0, result.error
    assert catalogue() == ROWS
    assert sorted(Pet.history.values_list("import_line", flat=True)) == [5, 6]


@pytest.mark.parametrize("given", ["0", "-1", "x"])
def test_a_header_row_is_counted_from_1(given: str) -> None:
    assert "must be a number from 1 on" in command("import_pets", "x", f"--header-row={given}").error


@pytest.mark.usefixtures("dogs")
def test_a_header_row_behind_the_file_is_no_header(run_import: Import) -> None:
    assert run_import(DELIVERY, "--header-row", "999999999").error == "The file is empty."


DATA = {"Data": [["name", "category"], ["Rex", "Dogs"]]}
OTHER_SHEETS = 'The first of the sheets "Info", "Data" was read. To read another one, use --sheet.'


@pytest.mark.parametrize(
    ("cover", "said"),
    [
        ([["Read me first"], ["Prices are in euro"]], f"{OTHER_SHEETS} See --map, --header-row and"),
        ([["Sheet", "Table"], ["Sheet 2", "Data"]], f"{OTHER_SHEETS} See --map, --header-row and"),
        ([], f"The sheet is empty. {OTHER_SHEETS}"),
    ],
)
def test_the_sheets_are_named_if_the_first_one_is_no_table(
    run_import: Import, dogs: Category, cover: list[list[str]], said: str
) -> None:
    content = book({"Info": cover} | DATA)
    result = run_import(content, name="a.xlsx")
    assert (result.status, said in result.error) == (3, True), result.error
    assert run_import(content, "--sheet", "Data", name="a.xlsx").status == 0
    assert catalogue() == [("Rex", "Dogs", "available", None)]


@pytest.mark.parametrize("options", [[], ["--sheet", "Info"]])
def test_sheets_are_not_named_if_there_is_one_or_one_was_chosen(run_import: Import, options: list[str]) -> None:
    sheets = {"Info": [["Read me first"]]} | (DATA if options else {})
    assert "sheets" not in run_import(book(sheets), *options, name="a.xlsx").error


ANIMALS = [
    *[["external_reference", "name", "category", "remarks"], ["M-1", "Ada", "Cats", "shy"]],
    *[["M-2", "Bob"], ["M-3", "Cid"], ["M-4", "Dot", "Dogs"]],
]


@pytest.mark.parametrize(
    ("merged", "wrong"),
    [
        ("C2:C4", {3: "C3 (category) is merged with C2", 4: "C4 (category) is merged with C2"}),
        ("C3:C4 A5:B5", {4: "C4 (category) is merged with C3", 5: "B5 (name) is merged with A5"}),
        ("C2:C3 C4:C5", {3: "C3 (category) is merged with C2", 5: "C5 (category) is merged with C4"}),
        ("B2:C3", {2: "C2 (category) is merged with B2", 3: "B3 (name) is merged with B2"}),
        ("D2:D5 A8:D9", {}),  # an ignored column, and what is below all rows
    ],
)
@pytest.mark.parametrize("default", [[], ["--default-category", "Dogs"]])
def test_merged_cells_are_errors_with_their_column_and_no_default_takes_their_place(
    run_import: Import, dogs: Category, default: list[str], merged: str, wrong: dict[int, str]
) -> None:
    Category.objects.create(name="Cats")
    content = book({"Animals": ANIMALS}, merged=merged)
    rest = {3, 4} - wrong.keys() if not default else set()
    result = run_import(content, "--ignore-unknown-columns", "--on-error", "skip", *default, name="a.xlsx")
    errors = {
        line: f"Cell {cell}. Unmerge the cells, and type into each what it should say." for line, cell in wrong.items()
    }
    errors |= dict.fromkeys(rest, "category is required.")
    assert result.error.splitlines() == [f"line {line}: {errors[line]}" for line in sorted(errors)]
    assert {reference for *_, reference in catalogue()} == {f"M-{line - 1}" for line in {2, 3, 4, 5} - errors.keys()}


@pytest.mark.parametrize(
    ("merged", "categories", "wrong"),
    [
        ("C2:C4", ["Cats", "Cats", "Cats", "Dogs"], {}),
        (
            "C2:C3 C4:C5",
            ["Cats", "Cats"],
            {4: "category is required.", 5: "category is required."},
        ),  # the first is blank
        (
            "B2:C3",
            ["Dogs"],
            {2: "C2 (category) is merged with B2", 3: "C3 (category) is merged with B2", 4: "required."},
        ),
        ("C1:C2 C3:C4", ["Dogs"], {2: "C2 (category) is merged with C1", 3: "required.", 4: "required."}),
        ("D2:D5 A8:D9", ["Cats", "Dogs"], {3: "category is required.", 4: "category is required."}),
    ],
)
def test_merged_cells_are_filled_down_if_that_is_wanted(
    run_import: Import, dogs: Category, merged: str, categories: list[str], wrong: dict[int, str]
) -> None:
    Category.objects.create(name="Cats")
    content = book({"Animals": ANIMALS}, merged=merged)
    options = ["--fill-merged", "--ignore-unknown-columns", "--on-error", "skip"]
    result = run_import(content, *options, name="a.xlsx")
    errors = dict(line.removeprefix("line ").split(": ", 1) for line in result.error.splitlines())
    assert {int(line): wrong.get(int(line), "") in said for line, said in errors.items()} == dict.fromkeys(wrong, True)
    assert [category for _, category, *_ in catalogue()] == categories


def test_what_is_wrong_with_a_merged_cell_is_wrong_below_it(run_import: Import, dogs: Category) -> None:
    rows: list[list[Any]] = [["name", "category"], ["Ada", True], ["Bob"], ["Cid", "Dogs"], ["Dot"]]
    content = book({"Animals": rows}, merged="B2:B3 B4:B5")
    result = run_import(content, "--fill-merged", "--on-error", "skip", name="a.xlsx")
    assert [line.partition(" holds")[0] for line in result.error.splitlines()] == ["line 2: Cell B2", "line 3: Cell B2"]
    assert [name for name, *_ in catalogue()] == ["Cid", "Dot"]


def test_new_animals_get_the_defaults_and_others_keep_their_values(run_import: Import, dogs: Category) -> None:
    Category.objects.create(name="Cats")
    Pet.objects.create(name="Rex", category=dogs, status="sold", external_reference="A-1")
    content = "name,external_reference\nRexi,A-1\nMia,A-2\nTom,\n"
    result = run_import(content, "--default-category", "Cats", "--default-status", "pending")
    assert result.status == 0, result.error
    assert catalogue() == [
        ("Rexi", "Dogs", "sold", "A-1"),
        ("Mia", "Cats", "pending", "A-2"),
        ("Tom", "Cats", "pending", None),
    ]
    changes = Pet.history.filter(history_type="+", change__kind="import").order_by("id")
    assert [(each.name, each.category.name, each.status) for each in changes] == [
        ("Mia", "Cats", "pending"),
        ("Tom", "Cats", "pending"),
    ]


@pytest.mark.parametrize(("blank", "status"), [("keep", "sold"), ("clear", "available")])
def test_defaults_fill_the_blank_cells_of_new_animals(
    run_import: Import, dogs: Category, blank: str, status: str
) -> None:
    Pet.objects.create(name="Rex", category=dogs, status="sold", external_reference="A-1")
    ada = Pet.objects.create(name="Ada", category=dogs, status="sold")
    content = "name,external_reference,category,status,id\nRex,A-1,,,\nMia,A-2,,,\nTom,,,,\nIvo,A-3,Dogs,sold,\n"
    content += f"Ada,,,,{ada.pk}\n"
    Category.objects.create(name="Cats")
    options = ["--default-category", "Cats", "--default-status", "pending", "--blank", blank]
    result = run_import(content, *options, "--dry-run")
    assert 'line 3, new animal: external_reference "A-2", name "Mia", category "Cats", status "pending"' in result.out
    run_import(content, *options)
    assert catalogue() == [
        ("Rex", "Dogs", status, "A-1"),
        ("Ada", "Dogs", status, None),
        ("Mia", "Cats", "pending", "A-2"),
        ("Tom", "Cats", "pending", None),
        ("Ivo", "Dogs", "sold", "A-3"),
    ]


def test_a_default_category_must_exist(run_import: Import) -> None:
    result = run_import("name\nRex\n", "--default-category", "Dogs", "--create-categories")
    assert (result.status, result.error) == (3, 'The default category "Dogs" does not exist.')
    assert not ImportRun.objects.exists()


def test_a_file_of_statuses_changes_only_them(run_import: Import, dogs: Category) -> None:
    for number in (1, 2):
        Pet.objects.create(name="Rex", category=dogs, external_reference=f"A-{number}")
    result = run_import("external_reference,status\nA-1,sold\nA-2,Pending\n", "--blank", "clear")
    assert result.status == 0, result.error
    assert catalogue() == [("Rex", "Dogs", "sold", "A-1"), ("Rex", "Dogs", "pending", "A-2")]


@pytest.mark.parametrize("status", ["sold", "Sold"])  # in a block, and one by one
def test_a_file_of_statuses_says_what_new_animals_lack(run_import: Import, dogs: Category, status: str) -> None:
    Pet.objects.create(name="Rex", category=dogs, external_reference="A-1")
    result = run_import(f"external_reference,status\nA-1,{status}\nA-2,{status}\n")
    assert (result.status, result.error.splitlines()[:2]) == (
        3,
        ["line 3: name is required.", "line 3: category is required."],
    )
    assert catalogue() == [("Rex", "Dogs", "available", "A-1")]


def test_a_column_that_is_not_there_is_not_cleared(run_import: Import, dogs: Category) -> None:
    Pet.objects.create(name="Rex", category=dogs, status="sold", external_reference="A-1")
    result = run_import("external_reference,name,category\nA-1,Rexi,Dogs\n", "--blank", "clear")
    assert result.status == 0, result.error
    assert catalogue() == [("Rexi", "Dogs", "sold", "A-1")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("given", [[], ["--encoding", "cp1252"]])
@pytest.mark.usefixtures("dogs")
def test_a_byte_order_mark_says_the_encoding(run_import: Import, encoding: str, given: list[str]) -> None:
    result = run_import("name,category\nŻółwik,Dogs\n".encode(encoding), *given)
    assert result.status == 0, result.error
    assert catalogue() == [("Żółwik", "Dogs", "available", None)]


@pytest.mark.parametrize("name", ["rot13", "base64", "unicode_escape", "idna", "latin-1000"])
def test_what_is_no_encoding_of_files_is_rejected(name: str) -> None:
    assert f"{name} is not an encoding that Python knows" in command("import_pets", "x", "--encoding", name).error


def test_utf_16_needs_its_mark(run_import: Import) -> None:
    assert run_import("name".encode("utf-16-le"), "--encoding", "utf-16").error == "Line 1 is not text in UTF-16."


def test_another_name_of_an_encoding_is_known(run_import: Import, dogs: Category) -> None:
    run_import("name,category\nŻółwik,Dogs\n".encode("cp1250"), "--encoding", "windows-1250")
    assert catalogue() == [("Żółwik", "Dogs", "available", None)]
    assert ImportRun.objects.get().options["reading"]["encoding"] == "cp1250"


@pytest.mark.parametrize(
    ("encoding", "advice"),
    [
        (None, ' Set the encoding to the one that shows this correctly: "Biała Śnieżka" in cp1250, '),
        ("utf-8-sig", ""),
    ],
)
def test_what_is_not_utf_8_is_shown_as_it_would_read(run_import: Import, encoding: str | None, advice: str) -> None:
    start = codecs.BOM_UTF8 if encoding else b""
    result = run_import(start + b"name,category\nRex,Dogs\n" + "Biała Śnieżka,Dogs\n".encode("cp1250"))
    assert result.error.startswith(f"Line 3 is not text in UTF-8.{advice}")


TURKISH = ("Şeker", "Paşa", "Gümüş", "Ağaç")
SUPPLIER = "external_reference,name\n" + "".join(f"T{number},{name}\n" for number, name in enumerate(TURKISH))


@pytest.mark.parametrize("rows_before", [0, 10_000])  # found with the header, or while rows are staged
def test_the_encoding_that_keeps_known_names_is_shown_first(
    run_import: Import, dogs: Category, rows_before: int
) -> None:
    for number, name in enumerate(TURKISH):
        Pet.objects.create(name=name, category=dogs, external_reference=f"T{number}")
    header, *rows = SUPPLIER.splitlines(keepends=True)
    content = "".join([header, *(f"R{number},Rex\n" for number in range(rows_before)), *rows]).encode("cp1254")
    result = run_import(content)
    said = f'Line {rows_before + 2:,} is not text in UTF-8. Set the encoding to the one that shows this correctly: "Şeker" in cp1254'
    assert (result.status, result.error.startswith(said)) == (3, True), result.error
    wrong = run_import(SUPPLIER.encode("cp1254"), "--encoding", "cp1252")
    assert wrong.error.startswith("4 references or names look altered by a spreadsheet program or a wrong encoding: ")
    assert [name for name, *_ in catalogue()] == [*TURKISH]
    assert run_import(SUPPLIER.encode("cp1254"), "--encoding", "cp1254").status == 0
