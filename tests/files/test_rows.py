"""What a row may be: exactly what POST /v1/pets accepts, and what it does to the animal that has its reference."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from categories.models import Category
from pets.models import ImportRun, Pet
from tests.conftest import ApiClient
from tests.exploring import STEADY
from tests.factories import PetFactory
from tests.files.conftest import Import, Result, catalogue, counts, history
from tests.whole import COLUMNS

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["", " ", "\u200b", "x" * 255, "x" * 256, "a\x00", "a\x7f", "\ud800", "=1+1", "\u2800", "Rex"]),
)
NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.integers(-3, 5),
    st.sampled_from([2**63 - 1, 2**63, -(2**63) - 1, 10**400, 1.0, 1.5, True]),
)
STATUSES = st.sampled_from(["available", "pending", "sold", "lost", "", None, 1])
JSON_VALUES: st.SearchStrategy[Any] = st.one_of(TEXTS, NUMBERS, STATUSES, st.just([]), st.just({}))
ROWS = st.fixed_dictionaries(
    {}, optional={"name": TEXTS | JSON_VALUES, "categoryId": NUMBERS | JSON_VALUES, "status": STATUSES | JSON_VALUES}
)


@pytest.mark.slow
@pytest.mark.each_database
@settings(STEADY, max_examples=150)
@given(rows=st.lists(ROWS, min_size=1, max_size=20))
def test_a_row_is_rejected_if_and_only_if_the_api_rejects_it(
    rows: list[dict[str, Any]], run_import: Import, api: ApiClient, category: Category
) -> None:
    rows = [row | {"categoryId": category.pk} if repr(row.get("categoryId")) == "1" else row for row in rows]
    answers = [api.post("/v1/pets", json.dumps(row).encode()) for row in rows]
    by_api = {line: answer.json()["message"] for line, answer in enumerate(answers, 1) if answer.status_code != 201}
    text = "\n".join(json.dumps(row) for row in rows)
    told = run_import(text, "--on-error", "skip", "--dry-run", "--json").json
    by_import: dict[int, list[str]] = {}
    for error in told["errors"]:
        by_import.setdefault(error["line"], []).append(error["message"])
    assert {line: " ".join(messages) for line, messages in by_import.items()} == by_api
    assert told["created"] == len(rows) - len(by_api)


@pytest.mark.parametrize(
    ("cell", "accepted"),
    [
        *[("{id}", True), ("{id}.0", False), ("{id}.000", False), ('"{id},000"', False), ("{id}e0", False)],
        *[("0{id}", False), ("+{id}", False), (" {id}", False), ("{id} ", False)],
    ],
)
@pytest.mark.parametrize("column", ["categoryId", "id"])
def test_an_id_in_a_cell_is_digits(
    run_import: Import, category: Category, *, column: str, cell: str, accepted: bool
) -> None:
    """`2.000` is two thousand in some countries, and `2` in others."""
    known = category.pk if column == "categoryId" else PetFactory(category=category).pk
    before = catalogue()
    assert (run_import(f"name,{column}\nRex,{cell.format(id=known)}\n").status == 0) is accepted
    assert (catalogue() != before) is accepted


def test_missing_categories_are_added_if_asked_for_and_needed(run_import: Import, dogs: Category) -> None:
    content = "name,category\nRex,Dogs\nMia,Cats\n,Unused\nTom,Cats\nNemo,\t\n"
    result = run_import(content, "--create-categories", "--on-error", "skip")
    assert result.error.splitlines() == [
        "line 4: name is required.",
        'line 6: category "�" must not contain control characters or lone surrogates.',
    ]
    assert catalogue() == [
        ("Rex", "Dogs", "available", None),
        ("Mia", "Cats", "available", None),
        ("Tom", "Cats", "available", None),
    ]
    assert sorted(Category.objects.values_list("name", flat=True)) == ["Cats", "Dogs"]
    assert ImportRun.objects.get().new_categories == [Category.objects.get(name="Cats").pk]


def test_a_rejected_row_names_the_category_that_would_be_new(
    run_import: Import, dogs: Category, tmp_path: Path
) -> None:
    rejects = tmp_path / "rejects.csv"
    rows = ["name,category,external_reference", "Nemo,Fish,A-1", "Mia,Cats,A-2", "Tom,Cats,A-2", "Tweety,Birds,A-1"]
    run_import("\n".join(rows), "--create-categories", "--on-error", "skip", "--rejects", str(rejects))
    rejected = list(csv.DictReader(rejects.read_text().splitlines()))
    assert [(row["name"], row["category"]) for row in rejected] == [("Tom", "Cats"), ("Tweety", "Birds")]


def test_animals_get_ids_in_the_order_of_the_file_and_the_api_goes_on_behind_them(
    run_import: Import, api: ApiClient, category: Category
) -> None:
    before = PetFactory(category=category)
    run_import("name,categoryId\n" + "".join(f"{number},{category.pk}\n" for number in range(30)))
    after = api.post("/v1/pets", {"name": "later", "categoryId": category.pk}).json()["id"]
    ids = list(Pet.objects.exclude(pk=before.pk).exclude(pk=after).order_by("pk").values_list("name", "pk"))
    assert [name for name, _ in ids] == [str(number) for number in range(30)]
    assert before.pk < ids[0][1] < ids[-1][1] < after


SHORT = (
    "external_reference,name,category,status\nA-1,Rex,Dogs,sold\nA-2,Mia,Dogs\nA-3,Tom\nA-4\nA-5,Pip,Dogs,\n",
    "name,category,remarks\nRex,Dogs,shy\nMia,Dogs\nTom\n",
)
"""Rows as spreadsheet programs write those that end with blank cells."""


@pytest.mark.parametrize("quote", ["", '"'], ids=["in a block", "one by one"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_cells_that_a_row_leaves_out_at_its_end_are_blank(
    run_import: Import, dogs: Category, tmp_path: Path, delimiter: str, quote: str
) -> None:
    """But no name is: a line cut short is an error."""
    PetFactory(name="Old", category=dogs, status="sold", external_reference="A-3")
    content = SHORT[0].replace(",", delimiter) + (
        f"{quote}A-6\n7{quote}{delimiter}Eve{delimiter}Dogs\n" if quote else ""
    )
    rejects = tmp_path / "rejects.csv"
    result = run_import(content, "--on-error", "skip", "--rejects", str(rejects))
    errors = ['line 5: The row has 1 cell ("A-4"), the header has 4.']
    errors += ['line 7: external_reference "A-6�7" must not contain control characters or lone surrogates.'] * bool(
        quote
    )
    assert result.error.splitlines() == errors
    assert catalogue() == [
        ("Tom", "Dogs", "sold", "A-3"),
        ("Rex", "Dogs", "sold", "A-1"),
        ("Mia", "Dogs", "available", "A-2"),
        ("Pip", "Dogs", "available", "A-5"),
    ]
    kept = list(csv.reader(rejects.read_text("utf-8-sig").splitlines(keepends=True), delimiter=delimiter))
    assert kept[0] == ["_line", "_code", "_message", "external_reference", "name", "category", "status"]
    assert kept[1:] == [
        ["5", "validation_failed", 'The row has 1 cell ("A-4"), the header has 4.', "A-4", "", "", ""],
        *([["7", "validation_failed", kept[-1][2], "A-6\n7", "Eve", "Dogs", ""]] if quote else []),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_short_column_can_be_an_ignored_one(run_import: Import, dogs: Category, delimiter: str) -> None:
    content = SHORT[1].replace(",", delimiter)
    result = run_import(content, "--ignore-unknown-columns", "--default-category", "Dogs")
    assert result.status == 0, result.error
    assert catalogue() == [(name, "Dogs", "available", None) for name in ("Rex", "Mia", "Tom")]


UPDATE = "external_reference,name,category,status\nA-1,{name},{category},{status}\n"


@pytest.mark.parametrize(
    ("options", "cells", "expected"),
    [
        ([], ("Rexy", "Cats", "sold"), ("Rexy", "Cats", "sold")),
        ([], ("", "", "sold"), ("Rex", "Dogs", "sold")),
        ([], ("", "", ""), ("Rex", "Dogs", "pending")),
        (["--blank", "clear"], ("Rex", "Dogs", ""), ("Rex", "Dogs", "available")),
    ],
)
def test_a_row_with_a_known_reference_changes_the_animal(
    run_import: Import, dogs: Category, options: list[str], cells: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    Category.objects.create(name="Cats")
    pet = PetFactory(name="Rex", category=dogs, status="pending", external_reference="A-1")
    name, category, status = cells
    assert run_import(UPDATE.format(name=name, category=category, status=status), *options).status == 0
    assert catalogue() == [(*expected, "A-1")]
    changed = expected != ("Rex", "Dogs", "pending")
    assert counts() == ("done", 1, 0, int(changed), int(not changed), 0)
    assert (Pet.objects.get().updated_at > pet.updated_at) is changed


@pytest.mark.parametrize(("known", "blank"), [("A-1", "clear"), ("A-2", "keep")])
def test_an_animal_needs_a_name_and_a_category(run_import: Import, dogs: Category, known: str, blank: str) -> None:
    """A known one whose blank cells clear it, and a new one, although it has a reference."""
    PetFactory(name="Rex", category=dogs, external_reference=known)
    result = run_import(UPDATE.format(name="", category="", status=""), "--blank", blank)
    assert result.error.splitlines()[:2] == ["line 2: name is required.", "line 2: category is required."]


def test_every_change_is_in_the_history_with_its_file_and_line(run_import: Import, dogs: Category) -> None:
    content = "external_reference,name,category,status\nA-1,Rex,Dogs,\n,Mia,Dogs,\nA-2,Tom,Dogs,sold\n"
    run_import(content)
    run_import(content.replace("A-1,Rex", "A-1,Rexy").replace(",Mia,Dogs,\n", ""), name="second.csv")
    first, second = ImportRun.objects.order_by("pk")
    assert history() == [
        ("+", "Rex", "available", str(first), 2),
        ("+", "Mia", "available", str(first), 3),
        ("+", "Tom", "sold", str(first), 4),
        ("~", "Rexy", "available", str(second), 2),
    ]
    changes = Pet.history.order_by("history_id")
    assert [change.change.run for change in changes] == [first, first, first, second]
    assert {change.history_date for change in changes} == set(Pet.objects.values_list("created_at", flat=True)) | {
        Pet.objects.get(name="Rexy").updated_at
    }


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("x" * 101, "external_reference must have 1 to 100 characters."),
        ("a\x01", "external_reference must not contain control characters or lone surrogates."),
        (" ", "external_reference must contain at least one visible character."),
    ],
)
def test_a_reference_has_rules_too(run_import: Import, dogs: Category, reference: str, message: str) -> None:
    errors = run_import(f"name,category,external_reference\nRex,Dogs,{reference}\n", "--json").json["errors"]
    assert [error["message"] for error in errors] == [message]


def told(result: Result) -> list[tuple[int, str, str, str]]:
    return [(each["line"], each["field"], each["code"], each["message"]) for each in result.json["errors"]]


def test_rows_that_are_no_rows_are_errors(run_import: Import, dogs: Category) -> None:
    csv = run_import('category,name\nDogs\nDogs,Rex,sold\n"a"b,Rex\n\nDogs,Mia\n', "--json")
    assert told(csv) == [
        (2, "", "validation_failed", 'The row has 1 cell ("Dogs"), the header has 2.'),
        (3, "", "validation_failed", "The row has 3 cells, the header has 2."),
        (
            4,
            "",
            "validation_failed",
            'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").',
        ),
    ]
    lines = run_import(
        '{"name": "Rex"\n5\n{"nmae": 1}\n{"name": NaN}\n{"external_reference": 5}', "--json", name="a.jsonl"
    )
    assert told(lines) == [
        (
            1,
            "",
            "malformed_json",
            "The line is not valid JSON. It must be one object in { }, with all quotes, colons and commas.",
        ),
        (2, "", "validation_failed", "The row must be a JSON object."),
        (3, "", "validation_failed", f'Unknown column: "nmae". Did you mean name? {COLUMNS}'),
        (
            4,
            "",
            "malformed_json",
            "The line has NaN, which is not a JSON value.",
        ),
        (5, "external_reference", "validation_failed", "external_reference must be a string."),
        (5, "name", "validation_failed", "name is required."),
        (5, "categoryId", "validation_failed", "categoryId is required."),
    ]
    twice = '{"name": "Rex", "category": "Dogs", "name": "Max"}'
    in_two_cases = twice.replace('"name": "Max', '"NAME": "Max')
    assert told(run_import(twice, "--json", name="a.jsonl")) == [
        (1, "", "malformed_json", 'The field "name" is there twice.')
    ]
    assert told(run_import(in_two_cases, "--json", name="b.jsonl")) == [
        (1, "", "validation_failed", 'The field "name" is there twice.')
    ]
    assert told(run_import(f"[{twice}]", "--json", name="a.json")) == [
        (1, "", "malformed_json", 'The field "name" is there twice.')
    ]
    both = run_import(json.dumps([{"name": "Rex", "category": "Dogs", "categoryId": dogs.pk}]), "--json", name="a.json")
    assert told(both) == [
        (1, "categoryId", "validation_failed", "categoryId and category say the same: give one of them.")
    ]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_the_case_of_json_names_does_not_matter(run_import: Import, dogs: Category, name: str) -> None:
    animal = '{"Tier": "Rex", "CATEGORYID": %d, "Status": "Sold", " External_Reference ": "A-1", "_LINE": 7}'
    lines = animal % dogs.pk, '{"tier": "Mia", "Category": "Dogs", "EXTERNAL_REFERENCE": null}'
    content = f"[{','.join(lines)}]" if name == "a.json" else "\n".join(lines)
    assert run_import(content, "--map", "TIER=name", name=name).status == 0
    assert catalogue() == [("Rex", "Dogs", "sold", "A-1"), ("Mia", "Dogs", "available", None)]


def test_rejects_have_their_remarks_once(run_import: Import, dogs: Category, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    run_import('{"_LINE": 7, "nmae": "Rex", "category": "Dogs"}', "--rejects", str(rejects), name="a.jsonl")
    assert json.loads(rejects.read_text()) == {
        "_line": "1",
        "_code": "validation_failed",
        "_message": f'Unknown column: "nmae". Did you mean name? {COLUMNS}',
        "nmae": "Rex",
        "category": "Dogs",
    }


@pytest.mark.parametrize(
    ("last", "options", "status"),
    [('"k0": 1', (), 3), ('"name": "Rex", "category": "Dogs"', ("--ignore-unknown-columns",), 0)],
    ids=["twice", "unknown"],
)
def test_many_fields_take_time_in_proportion(
    run_import: Import, dogs: Category, last: str, options: tuple[str, ...], status: int
) -> None:
    fields = ", ".join(f'"k{number}": 1' for number in range(40_000, -1, -1))
    begun = time.process_time()
    assert run_import(f"{{{fields}, {last}}}", *options, name="a.jsonl").status == status
    assert time.process_time() - begun < 4


def test_the_prefix_of_a_formula_safe_file_is_dropped(run_import: Import, dogs: Category) -> None:
    """An apostrophe that guards no formula is part of the text."""
    names = ["'=1+1", "''quoted", "''t Vosje", "''", "Rex", "'t Vosje", "'1", "'"]
    run_import("name,category\n" + "".join(f"{name},Dogs\n" for name in names), "--formula-safe")
    assert [name for name, *_ in catalogue()] == ["=1+1", "'quoted", "'t Vosje", "'", "Rex", "'t Vosje", "'1", "'"]


@pytest.mark.parametrize(
    ("line", "row", "error"),
    [
        (1, "A-1,Rex,Dogs,lost", 'line 2: status "lost" must be one of available, pending, sold.'),
        (2_500, "A-2500,,Dogs,sold", "line 2,501: name is required."),
        (2_500, 'A-2500,"Rex\nthe second",Dogs,sold', "must not contain control characters or lone surrogates."),
        (5_000, f"A-5000,{'x' * 256},Dogs,sold", "must have 1 to 255 characters."),
        (5_000, "A-5000,Rex,Cats,sold", 'line 5,001: category "Cats" does not exist.'),
        (5_000, "A-5000", 'line 5,001: The row has 1 cell ("A-5000"), the header has 4.'),
        (5_000, "A-5000,Rex,Dogs,sold,x", "line 5,001: The row has 5 cells, the header has 4."),
        (5_000, "A-5000,Rex", "line 5,001: category is required."),
    ],
)
def test_one_mistake_among_thousands_of_rows_is_found_and_all_others_are_imported_in_order(
    run_import: Import, dogs: Category, line: int, row: str, error: str
) -> None:
    rows = [f"A-{number},Rex {number},Dogs,sold" for number in range(1, 5_001)]
    rows[line - 1] = row
    result = run_import("external_reference,name,category,status\n" + "\n".join(rows) + "\n", "--on-error", "skip")
    assert (result.status, error in result.error) == (4, True), result.error
    good = [each for number, each in enumerate(range(1, 5_001), 1) if number != line]
    expected = [(f"Rex {number}", "Dogs", "sold", f"A-{number}") for number in good]
    assert catalogue() == expected
    assert [name for _, name, *_ in history()] == [name for name, *_ in expected]
