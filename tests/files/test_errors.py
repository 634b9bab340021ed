"""What happens to rows with errors: nothing is written, or they are left out; and the file they are kept in."""

import codecs
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from categories.models import Category
from files.options import Options
from history.acting import account
from pets.models import ImportRun
from tests.files.conftest import Import, catalogue, command, counts, history
from tests.whole import COLUMNS, changed

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = "Name;status;Category;external_reference\nRex;sold;Dogs;A-1\nMia;lost;Dogs;\nTom;sold;Dogs;A-1;more\nPip;;Dogs;A-1\n"
REJECTS = """\
_line;_code;_message;name;status;category;external_reference
3;validation_failed;status must be one of available, pending, sold.;Mia;lost;Dogs;
4;validation_failed;The row has 5 cells, the header has 4.;Tom;sold;Dogs;A-1;more
5;validation_failed;external_reference is the same animal as line 2. An animal can be in a file only once.;Pip;;Dogs;A-1
"""


@pytest.fixture
def rejects(tmp_path: Path) -> Path:
    return tmp_path / "rejects.csv"


def test_by_default_one_error_stops_everything(run_import: Import, dogs: Category) -> None:
    result = run_import(ROWS)
    assert result.status == 3
    assert result.error.splitlines() == [
        'line 3: status "lost" must be one of available, pending, sold.',
        "line 4: The row has 5 cells, the header has 4.",
        'line 5: external_reference "A-1" is the same animal as line 2. An animal can be in a file only once.',
        f"3 of 4 rows have errors. Nothing changed. ({ImportRun.objects.get()})",
    ]
    assert (catalogue(), history()) == ([], [])
    assert counts() == ("rejected", 4, 0, 0, 0, 3)


def test_rejects_keep_the_case_of_a_status(run_import: Import, rejects: Path) -> None:
    assert run_import("id,status\n,Sold\n", "--rejects", str(rejects)).status == 3
    assert rejects.read_text(encoding="utf-8-sig").splitlines() == [
        "_line,_code,_message,id,status",
        "2,validation_failed,name is required. category is required.,,Sold",
    ]


def test_rows_with_errors_can_be_left_out_and_kept(run_import: Import, dogs: Category, rejects: Path) -> None:
    result = run_import(ROWS, "--on-error", "skip", "--rejects", str(rejects))
    run = ImportRun.objects.get()
    assert result.status == 4
    assert result.out.splitlines()[1:] == [
        f"To undo it: manage.py undo_import {run.pk}",
        f"The rejected rows are in {rejects}.",
        "Fix them and import that file, with the same options, but without --header-row.",
    ]
    assert catalogue() == [("Rex", "Dogs", "sold", "A-1")]
    assert counts() == ("done", 4, 1, 0, 0, 3)
    assert rejects.read_text("utf-8-sig") == REJECTS


def test_the_rejects_are_imported_with_the_same_options(run_import: Import, dogs: Category, rejects: Path) -> None:
    options = ["--delimiter=|", "--map=Das Tier=name", "--default-category=Dogs", "--default-status=sold"]
    options += ["--formula-safe", "--blank=clear", "--ignore-ids", "--accept-references"]
    rows = "Das Tier|id|external_reference\nRex|x|A-1\n||A-2\n"
    run_import(rows, *options, "--on-error=skip", f"--rejects={rejects}")
    rejects.write_text(rejects.read_text("utf-8-sig").replace("||A-2", "Mia||A-2"))
    assert command("import_pets", str(rejects), *options, "-v0").status == 0
    assert catalogue() == [("Rex", "Dogs", "sold", "A-1"), ("Mia", "Dogs", "sold", "A-2")]


FIRST, SECOND = "name,category\n,Dogs\n", "name,category\nRex,Dogs\n,Dogs\n"


def in_the_way(rejects: Path) -> str:
    return f"{rejects} exists already. Choose another name."


def test_a_name_that_cannot_be_recorded_is_rejected(run_import: Import, dogs: Category, tmp_path: Path) -> None:
    result = run_import(FIRST, "--rejects", "\udcff.csv")
    assert (result.status, result.error) == (3, "The name \ufffd.csv is not UTF-8. Choose another name.")


JSON_ROWS = (
    '[{"name": 5, "category": "Dogs"},\n "Rex", {"name": "\\ud800", "categoryId": 1.50}, {"nmae": "x", "_line": "9"}]'
)
JSON_REJECTS = """\
{"_line": "1", "_code": "validation_failed", "_message": "name must be a string.", "name": 5, "category": "Dogs"}
{"_line": "2", "_code": "validation_failed", "_message": "The row must be a JSON object.", "_row": "Rex"}
{"_line": "3", "_code": "validation_failed", "_message": "name must not contain control characters or lone surrogates. \
categoryId must be a 64-bit integer.", "name": "\\ud800", "categoryId": 1.5}
{"_line": "4", "_code": "validation_failed", "_message": "Unknown column: \\"nmae\\". Did you mean \
name? COLUMNS", "nmae": "x"}
""".replace("COLUMNS", COLUMNS)


def test_rejects_of_json_are_json_lines(run_import: Import, dogs: Category, rejects: Path) -> None:
    run_import(JSON_ROWS, "--rejects", str(rejects))
    assert rejects.read_text("utf-8-sig") == JSON_REJECTS
    corrected = rejects.read_text("utf-8-sig").replace('"name": 5', '"name": "Rex"')
    assert [error["line"] for error in run_import(corrected, "--json", name="corrected.jsonl").json["errors"]] == [
        2,
        3,
        3,
        4,
    ]


@pytest.mark.parametrize(
    ("number", "what"), [("1" * 4_000, "must be a 64-bit integer."), ("1" * 5_000, "colons and commas.")]
)
def test_a_number_of_any_length_is_an_error_of_its_row(
    run_import: Import, dogs: Category, number: str, what: str
) -> None:
    row = f'{{"name": "Rex", "categoryId": {number}}}'
    assert run_import(f"{row}\n", name="animals.jsonl").error.splitlines()[0].endswith(what)
    assert run_import(f"[{row}]", name="animals.json").status == 3


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        ("1234567890123456789012345", "1234567890123456789012345"),
        ("-99.0", "-99"),
        ("1.5", "1.5"),
        ("1e25", "10000000000000000000000000"),
        ("1e400", '"1E+400"'),
    ],
)
def test_rejects_have_the_exact_number(run_import: Import, rejects: Path, number: str, kept: str) -> None:
    run_import(f'[{{"name": "Rex", "categoryId": {number}}}]', "--rejects", str(rejects))
    assert rejects.read_text("utf-8-sig").partition('"name": "Rex", ')[2] == f'"categoryId": {kept}}}\n'


def test_rows_of_an_array_are_counted_as_it_may_have_one_line(run_import: Import, dogs: Category) -> None:
    animals = [{"name": str(number), "category": "Dogs", "external_reference": "A-1"} for number in range(3)]
    content = json.dumps([*animals, {"name": ""}], indent=None)
    assert run_import(content, "--on-error", "skip", name="a.json").error.splitlines() == [
        'animal 2: external_reference "A-1" is the same animal as animal 1. An animal can be in a file only once.',
        'animal 3: external_reference "A-1" is the same animal as animal 1. An animal can be in a file only once.',
        'animal 4: name "" must have 1 to 255 characters.',
        "animal 4: categoryId is required.",
    ]
    assert catalogue() == [("0", "Dogs", "available", "A-1")]


def test_staged_rows_are_rejected_as_they_were(run_import: Import, dogs: Category, rejects: Path) -> None:
    """Those whose error only the database sees."""
    content = "_message,external_reference,categoryId,name,status\nold,A-1,,,sold\n,A-2,{pk},Rex,\n,A-2,{pk},Mia,\n"
    run_import(content.format(pk=dogs.pk), "--rejects", str(rejects))
    assert rejects.read_text("utf-8-sig") == (
        "_line,_code,_message,external_reference,categoryId,name,status\n"
        "2,validation_failed,name is required. categoryId is required.,A-1,,,sold\n"
        "4,validation_failed,external_reference is the same animal as line 3. An animal can be in a file only once.,"
        f"A-2,{dogs.pk},Mia,\n"
    )


def test_no_error_no_file(run_import: Import, dogs: Category, rejects: Path) -> None:
    run_import("name,category\nRex,Dogs\n", "--rejects", str(rejects))
    assert list(rejects.parent.glob("rejects*")) == []
    run = ImportRun.objects.get()
    assert run.rejects == ""


def test_a_file_of_rejects_is_never_overwritten(run_import: Import, dogs: Category, rejects: Path) -> None:
    rejects.write_text("not yet fixed")
    result = run_import("name,category\nRex,Dogs\n", "--rejects", str(rejects))
    assert result.error == in_the_way(rejects)
    assert (rejects.read_text("utf-8-sig"), catalogue()) == ("not yet fixed", [])


def test_only_the_first_errors_are_told(run_import: Import, dogs: Category) -> None:
    content = "name,category\n" + ",Dogs\n" * 150
    text = run_import(content).error.splitlines()
    assert text[19:22] == [
        "line 21: name is required.",
        "There are more; --rejects FILE keeps all of them.",
        f"150 of 150 rows have errors. Nothing changed. ({ImportRun.objects.get()})",
    ]
    assert len(run_import(content, "--json").json["errors"]) == 100


def test_a_folder_that_is_not_there(run_import: Import, tmp_path: Path) -> None:
    file = tmp_path / "none" / "rejects.csv"
    error = run_import("name,category\n", "--rejects", str(file)).error
    assert error == f"{file} cannot be written: No such file or directory."


def test_rejects_of_rejects_lose_nothing(run_import: Import, dogs: Category, rejects: Path) -> None:
    """A row that cannot be read, a carriage return, and a number that JSON writes in another way."""
    content = '_line,_code,_message,name,category\n2,x,y,"Rex"x,Dogs\n3,x,y,"Re\rx",Dogs\n'
    run_import(content, "--rejects", str(rejects))
    told = 'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").'.replace('"', '""')
    assert rejects.read_bytes().decode("utf-8-sig") == (
        "_line,_code,_message,name,category\r\n"
        f'2,validation_failed,"{told}",,,"2,x,y,""Rex""x,Dogs"\r\n'
        '3,validation_failed,name must not contain control characters or lone surrogates.,"Re\rx",Dogs\r\n'
    )
    assert "2: The row has 6 cells, the header has 5." in run_import(rejects.read_bytes()).error
    lines = rejects.with_name("rejects.jsonl")
    run_import(f'{{"name": "", "categoryId": {dogs.pk}.0}}', "--rejects", str(lines), name="a.jsonl")
    assert run_import(lines.read_text().replace('"name": ""', '"name": "Rex"'), name="b.jsonl").status == 0


def test_the_reference_of_a_rejected_row_counts(run_import: Import, dogs: Category, rejects: Path) -> None:
    """Or the fixed row would overwrite the animal of the later one."""
    content = (
        "name,category,status,external_reference\nRex,Dogs,lost,A-1\nMia,Dogs,,A-1\nTom,Dogs,,A-2\nPip,Dogs,lost,A-2\n"
    )
    result = run_import(content, "--on-error", "skip")
    assert result.error.splitlines() == [
        'line 2: status "lost" must be one of available, pending, sold.',
        'line 3: external_reference "A-1" is the same animal as line 2. An animal can be in a file only once.',
        'line 5: status "lost" must be one of available, pending, sold.',
        "If a value is one of ours by another name, use --map-value status:lost=OURS.",
    ]
    assert catalogue() == [("Tom", "Dogs", "available", "A-2")]


def test_too_many_new_categories_are_a_mistake(run_import: Import) -> None:
    content = "name,category\n" + "".join(f"Rex,Category {number}\n" for number in range(2_001))
    result = run_import(content, "--create-categories")
    run = ImportRun.objects.get()
    assert result.error == (
        f"There are more than 2,000 new categories. Is it the right column? Nothing changed. ({run})"
    )
    assert not Category.objects.exists()


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        ("name,category\n,Dogs\n", [], (3, "rejected")),
        ("nmae\n", [], (3, "rejected")),
        ("name,category\n", ["--profile", "x", "--header-row", "2"], (2, "usage")),
    ],
)
def test_a_machine_is_always_told_one_object(
    run_import: Import, dogs: Category, content: str, options: list[str], told: tuple[int, str]
) -> None:
    result = run_import(content, "--json", *options)
    assert (result.status, result.json["state"]) == told
    assert result.json["message"]


def test_a_machine_is_told_all_that_is_recorded(run_import: Import, dogs: Category, rejects: Path) -> None:
    told = run_import(SECOND, "--on-error", "skip", "--rejects", str(rejects), "--json").json
    run = ImportRun.objects.get()
    assert run.finished_at is not None
    recorded = {
        "import": run.pk,
        "state": "done",
        "who": account(),
        "file": "animals.csv",
        "sha256": hashlib.sha256(SECOND.encode()).hexdigest(),
        "options": asdict(Options(skip_errors=True)) | {"rejects": str(rejects)},
        "rows": 2,
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "matched_by_id": 0,
        "matched_by_reference": 0,
        "rejected": 1,
        "left_out": 0,
        "new_categories": 0,
        "rejects": str(rejects),
        "outcome": "",
        "started_at": run.started_at.isoformat(),
        "seconds": round((run.finished_at - run.started_at).total_seconds(), 3),
        "undone_at": None,
    }
    error = {"line": 3, "field": "name", "code": "validation_failed", "message": "name is required."}
    nothing = {
        "fields": changed(),
        "foreign_ids": {"count": 0, "first": []},
        "altered": {"count": 0, "first": []},
        "misread": {"count": 0, "first": []},
        "first": [],
    }
    assert told == recorded | {"new_category_names": [], "errors": [error], "changes": nothing}
    assert json.loads(command("list_imports", "--json").out) == [recorded]


TIERE = 'Tier;Art;"Größe";external_reference\nGéant;Dogs;groß;A-1\n\'=1+1;Dogs;;A-1\n;Dogs;x;\nMimi;Cats;y;\n'


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("utf-8", []),
        ("utf-8-sig", []),
        ("cp1252", ["--encoding", "cp1252", "--delimiter", ";"]),
        ("utf-16", []),
        ("utf-16-be", ["--encoding", "utf-16-be"]),
    ],
)
@pytest.mark.usefixtures("dogs")
def test_rejects_can_be_imported_with_the_options_of_the_file(
    run_import: Import, rejects: Path, encoding: str, options: list[str]
) -> None:
    options = [*options, "--map", "Tier=name", "--map", "Art=category", "--ignore-unknown-columns", "--formula-safe"]
    run_import(TIERE.encode(encoding), *options, "--on-error", "skip", "--rejects", str(rejects))
    content = rejects.read_bytes()
    assert content.startswith(codecs.BOM_UTF8)
    lines = content.decode("utf-8-sig").splitlines()
    assert lines[0] == "_line;_code;_message;Tier;Art;external_reference"
    assert [line.partition(".;")[2] or line.partition('.";')[2] for line in lines[1:]] == [
        ";Dogs;",
        "Mimi;Cats;",
        "'=1+1;Dogs;A-1",
    ]
    corrected = content.decode().replace("Cats", "Dogs").replace("A-1", "A-2").replace(".;;", ".;Zoé;")
    result = run_import(corrected, *options)
    assert result.status == 0, result.error
    assert sorted(name for name, *_ in catalogue()) == ["=1+1", "Géant", "Mimi", "Zoé"]


@pytest.mark.parametrize("given", ["Tier", "=name", "Tier=nmae"])
def test_a_mapping_names_two_columns(given: str) -> None:
    assert "must be TITLE=COLUMN" in command("import_pets", "x", "--map", given).error
