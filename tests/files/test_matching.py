"""Which animal a row is about: by its id, by its reference, or a new one."""

import json
import tracemalloc
from pathlib import Path

import pytest

from categories.models import Category
from categories.similar import Similar
from pets.columns import COLUMNS, RowValues
from pets.models import ImportRun, Pet
from tests.factories import CategoryFactory, PetFactory
from tests.files.conftest import Import, catalogue, command, history

pytestmark = pytest.mark.django_db(transaction=True)

HEADER = "id,external_reference,name,category,status\n"


@pytest.fixture
def rex(dogs: Category) -> Pet:
    """An animal that came through the API: without a reference."""
    return PetFactory(name="Rex", category=dogs)


@pytest.fixture
def tom(dogs: Category) -> Pet:
    return PetFactory(name="Tom", category=dogs, external_reference="A-1")


def test_export_edit_import_changes_the_animal_and_undo_brings_it_back(
    tmp_path: Path, run_import: Import, rex: Pet, tom: Pet
) -> None:
    before = catalogue()
    command("export_pets", str(tmp_path / "a.csv"), "-v0")
    edited = (tmp_path / "a.csv").read_text().replace(f"{rex.pk},,Rex", f"{rex.pk},B-1,Rexy").replace("A-1", "A-2")
    told = run_import(edited, "--json").json
    assert (told["created"], told["updated"], told["matched_by_id"], told["matched_by_reference"]) == (0, 2, 2, 0)
    assert catalogue() == [("Rexy", "Dogs", "available", "B-1"), ("Tom", "Dogs", "available", "A-2")]
    assert Pet.history.filter(change__imported=told["import"]).count() == 2
    command("undo_import", str(told["import"]), "-v0")
    assert catalogue() == before


@pytest.mark.parametrize(
    ("rows", "errors"),
    [
        ("999,,X,Dogs,\n", ["line 2: id 999 is not the ID of an animal. Leave it blank to add one."]),
        ("0,,X,Dogs,\n", ["line 2: id 0 is not the ID of an animal. Leave it blank to add one."]),
        ("0,,X,,sold\n", ["line 2: id 0 is not the ID of an animal. Leave it blank to add one."]),
        ("x1,,X,Dogs,\n", ['line 2: id "x1" must be digits only.']),
        ("2.000,,X,Dogs,\n", ['line 2: id "2.000" must be digits only.']),
        ('"2,000",,X,Dogs,\n', ['line 2: id "2,000" must be digits only.']),
        ("-1,,X,Dogs,\n", ['line 2: id "-1" must be digits only.']),
        ("007,,X,Dogs,\n", ['line 2: id "007" must be a 64-bit integer.']),
        ("9223372036854775808,,X,Dogs,\n", ["line 2: id 9223372036854775808 must be a 64-bit integer."]),
        ("{rex},A-1,X,Dogs,\n", ['line 2: external_reference "A-1" belongs to animal {tom}.']),
        (
            "{rex},,X,Dogs,\n{rex},,Y,Dogs,\n",
            ["line 3: id {rex} is the same animal as line 2. An animal can be in a file only once."],
        ),
        (
            "{tom},,X,Dogs,\n,A-1,Y,Dogs,\n",
            ['line 3: external_reference "A-1" is the same animal as line 2. An animal can be in a file only once.'],
        ),
        (
            ",A-1,X,Dogs,\n{tom},,Y,Dogs,\n",
            ["line 3: id {tom} is the same animal as line 2. An animal can be in a file only once."],
        ),
        (
            "{tom},A-2,X,Dogs,\n,A-1,Y,Dogs,\n",
            ['line 3: external_reference "A-1" is the same animal as line 2. An animal can be in a file only once.'],
        ),
        (
            "{tom},A-2,X,Dogs,\n,A-2,Y,Dogs,\n",
            ['line 3: external_reference "A-2" is the same animal as line 2. An animal can be in a file only once.'],
        ),
        (
            "{tom},,X,Dogs,lost\n,A-1,Y,Dogs,\n",
            [
                'line 2: status "lost" must be one of available, pending, sold.',
                'line 3: external_reference "A-1" is the same animal as line 2. An animal can be in a file only once.',
            ],
        ),
    ],
)
def test_a_row_that_is_about_no_animal_or_about_one_twice_is_an_error(
    run_import: Import, rex: Pet, tom: Pet, rows: str, errors: list[str]
) -> None:
    before = catalogue(), history()
    names = {"rex": rex.pk, "tom": tom.pk}
    result = run_import(HEADER + rows.format(**names))
    assert result.error.splitlines()[:-1] == [error.format(**names) for error in errors]
    assert (catalogue(), history()) == before


@pytest.mark.parametrize(
    ("rows", "errors"),
    [
        ("A,B B,A", ['"B" belongs to animal {B}.', '"A" belongs to animal {A}.']),  # as if a column was sorted alone
        ("A,B B,N", ['"B" belongs to animal {B}.']),
        ("A,B B,A C,A", ['"B" belongs to animal {B}.', '"A" belongs to animal {A}.', '"A" belongs to animal {A}.']),
        ("A,N B,N", ['"N" is the same animal as line 2.']),
        (
            "A,B B,C B,E",
            ['"B" belongs to animal {B}.', '"C" belongs to animal {C}.', "{B} is the same animal as line 3."],
        ),
        ("A,B B,B", ['"B" belongs to animal {B}.', '"B" is the same animal as line 2.']),
    ],
)
def test_no_row_gets_the_reference_of_another_animal(
    run_import: Import, dogs: Category, rows: str, errors: list[str]
) -> None:
    pets = {letter: PetFactory(category=dogs, external_reference=letter) for letter in "ABCE"}
    numbers = {letter: pet.pk for letter, pet in pets.items()}
    lines = [row.split(",") for row in rows.split()]
    content = HEADER + "".join(f"{numbers[animal]},{reference},,,\n" for animal, reference in lines)
    said = run_import(content, "--on-error", "skip").error.splitlines()
    assert [error.format(**numbers) in line for error, line in zip(errors, said, strict=True)] == [True] * len(errors)
    failed = {int(line.split()[1][:-1]) - 2 for line in said}
    right = {animal: reference for at, (animal, reference) in enumerate(lines) if at not in failed}
    now = dict(Pet.objects.values_list("pk", "external_reference"))
    assert {letter: now[number] for letter, number in numbers.items()} == {each: each for each in "ABCE"} | right
    assert Pet.history.filter(history_type="~").count() == len(right)


def test_ids_are_never_taken_from_a_file(run_import: Import, dogs: Category) -> None:
    content = f"{HEADER}7000000,,Rex,Dogs,\nx,,Tom,Dogs,\n"
    assert run_import(content, "--ignore-ids").status == 0
    assert [name for name, *_ in catalogue()] == ["Rex", "Tom"]
    assert not Pet.objects.filter(pk=7_000_000).exists()


EAST = ["E-77,Olive,Dogs,available", "E-78,Pepper,Cats,available", "E-79,Juno,Dogs,sold"]
"""Animals of another shop, whose IDs are those of `known`."""


@pytest.fixture
def known(dogs: Category) -> list[Pet]:
    CategoryFactory(name="Cats")
    return [
        PetFactory(name="Rex", category=dogs, external_reference="W-1"),
        PetFactory(name="Tom", category=dogs),
        PetFactory(name="Mia", category=dogs, external_reference="W-3"),
    ]


def by_id(known: list[Pet], rows: list[str]) -> str:
    return HEADER + "".join(f"{pet.pk},{row}\n" for pet, row in zip(known, rows, strict=False))


def test_ids_of_another_catalogue_stop_the_import_with_the_pairs(run_import: Import, known: list[Pet]) -> None:
    content, before = by_id(known, EAST), (catalogue(), history())
    first, second, third = (pet.pk for pet in known)
    pairs = (
        "The IDs look like those of another catalogue. Most rows with one (3) change the name and also the reference "
        f'or category of its animal: animal {first} (W-1): external_reference "W-1" → "E-77", name "Rex" → "Olive"; '
        f'animal {second}: external_reference none → "E-78", name "Tom" → "Pepper", category "Dogs" → "Cats"; '
        f'animal {third} (W-3): external_reference "W-3" → "E-79", name "Mia" → "Juno", status "available" → "sold". '
    )
    options = "If they are, use --ignore-ids. If the changes are right, use --accept-ids."
    dry = run_import(content, "--dry-run")
    assert dry.out.splitlines()[3:5] == [f"Warning: {pairs.strip()}", f"The import will stop there. {options}"]
    told = run_import(content, "--dry-run", "--json").json["changes"]["foreign_ids"]
    assert (told["count"], told["first"][0]) == (
        3,
        {"id": first, "reference": "W-1", "line": 2, "field": "external_reference", "before": "W-1", "after": "E-77"},
    )
    stopped = run_import(content)
    assert (stopped.status, stopped.error) == (
        3,
        f"{pairs}{options} Nothing changed. ({ImportRun.objects.latest('pk')})",
    )
    assert (catalogue(), history()) == before
    assert run_import(content, "--ignore-ids").status == 0
    assert catalogue()[:3] == before[0]
    assert [name for name, *_ in catalogue()[3:]] == ["Olive", "Pepper", "Juno"]


def test_ids_that_are_right_can_be_accepted(run_import: Import, known: list[Pet]) -> None:
    assert run_import(by_id(known, EAST), "--accept-ids").status == 0
    assert [name for name, *_ in catalogue()] == ["Olive", "Pepper", "Juno"]


@pytest.mark.parametrize(
    ("rows", "asks"),
    [
        ([",Olive,,", ",Pepper,,", ",Juno,,"], False),  # a mass rename
        (["E-77,,,", "E-78,,,", "E-79,,,"], False),  # new references
        ([",,Cats,", ",,Cats,", ",,Cats,"], False),
        (["E-77,,Cats,sold", "E-78,,Cats,sold", "E-79,,Cats,sold"], False),
        ([EAST[0], ",Pepper,,", ",Juno,,"], False),
        ([EAST[0], ",,,"], False),  # as many as others
        ([EAST[0], EAST[1], ",,,"], True),
        ([",Olive,Cats,", ",Pepper,Cats,", ",Juno,,"], True),
        ([EAST[0]], True),
    ],
)
def test_only_if_most_rows_make_another_animal_of_theirs_the_import_asks(
    run_import: Import, known: list[Pet], rows: list[str], *, asks: bool
) -> None:
    before = catalogue()
    result = run_import(by_id(known, rows) + ",E-1,New,Dogs,\n,E-2,Newer,Dogs,\n,E-3,Newest,Dogs,\n")
    assert (result.status, catalogue() == before) == ((3, True) if asks else (0, False)), result.error


def test_animals_that_are_found_by_their_references_have_no_ids_of_another_catalogue(
    run_import: Import, known: list[Pet]
) -> None:
    assert run_import(f"{HEADER},W-1,Olive,Cats,\n,W-3,Juno,Cats,\n").status == 0


def test_a_rejected_row_keeps_its_id(run_import: Import, rex: Pet, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.csv"
    run_import(f"{HEADER}{rex.pk},,Rexy,Dogs,lost\n", "--rejects", str(rejects))
    run_import(rejects.read_text().replace("lost", "sold"))
    assert catalogue() == [("Rexy", "Dogs", "sold", None)]


def test_an_animal_deleted_meanwhile_is_not_added_again(
    run_import: Import, rex: Pet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from files import staging  # noqa: PLC0415

    set_ids_aside = staging.set_ids_aside

    def delete_meanwhile(run: ImportRun) -> None:
        Pet.objects.all().delete()
        set_ids_aside(run)

    monkeypatch.setattr(staging, "set_ids_aside", delete_meanwhile)
    assert run_import(f"{HEADER}{rex.pk},,Rexy,Dogs,sold\n").status == 3
    assert catalogue() == []


def test_the_row_of_an_import_has_the_columns_of_an_animal() -> None:
    assert RowValues._fields == ("line", "id", *[column.name for column in COLUMNS], "rejected")
    stored = {field.column for field in Pet._meta.concrete_fields}
    assert stored - {"id", "created_at", "updated_at", "sold_on"} == {column.name for column in COLUMNS}


@pytest.mark.parametrize("status", [" available ", "available\u00a0"])
def test_blanks_around_a_status_are_never_trimmed(run_import: Import, dogs: Category, status: str) -> None:
    assert run_import(f"name,category,status\nRex,Dogs,{status}\n").status == 3
    assert catalogue() == []


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        *((name, "Dogs") for name in ("dogs", "Dgos", "Dogs ", "Dog", "Doggs", "Dofs")),
        ("Rabxbits", "Rabbits"),
    ],
)
def test_a_category_that_looks_like_a_typo_is_created_by_force_only(
    run_import: Import, dogs: Category, name: str, similar: str
) -> None:
    CategoryFactory(name="Rabbits")
    content = f"name,category\nRex,{name}\n"
    assert run_import(content).error.splitlines()[0] == (
        f'line 2: category "{name}" does not exist. Did you mean "{similar}"?'
    )
    assert run_import(content, "--create-categories").error.splitlines()[0] == (
        f'line 2: category "{name}" is too similar to "{similar}" to be created.'
    )
    told = run_import(content, "--create-categories=force", "--dry-run", "--json").json
    assert told["new_category_names"] == [name]
    assert run_import(content, "--create-categories=force").out.splitlines()[1] == f'New categories: "{name}".'


@pytest.mark.parametrize("name", ["Logs", "Cats", "Dodos", "Wolves", "Dogs 2", "犬"])
def test_another_category_is_no_typo(run_import: Import, dogs: Category, name: str) -> None:
    assert run_import(f"name,category\nRex,{name}\n", "--create-categories").status == 0


def test_long_categories_take_little_memory() -> None:
    """As the texts that come with a wrong column."""
    names = [f"{number} {'likes long walks ' * 15}"[:255] for number in range(100)]
    tracemalloc.start()
    try:
        known = Similar(names)
        assert tracemalloc.get_traced_memory()[1] < 100 * 4096
    finally:
        tracemalloc.stop()
    assert known.find(names[7].upper()) == names[7]


def test_one_long_cell_takes_little_memory() -> None:
    """Its length is only checked later."""
    known = Similar(["Dogs"])
    tracemalloc.start()
    try:
        assert known.find("Dogs" * 1_000) is None
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()


def test_long_categories_are_alike_without_case_and_blanks(run_import: Import) -> None:
    name = "likes long walks " * 4
    rows = f"Rex,{name}\nTom,{name.upper()}\nMia,{name}x\n"
    result = run_import(f"name,category\n{rows}", "--create-categories", "--on-error", "skip", "--json")
    assert [error["message"] for error in result.json["errors"]] == [
        f'category is too similar to "{name}" to be created.'
    ]


def test_new_categories_can_be_typos_of_each_other(run_import: Import) -> None:
    result = run_import("name,category\nRex,Kennel 1\nTom,Kennel 2\nMia,kennel 1\n", "--create-categories")
    assert result.error.splitlines()[0] == 'line 4: category "kennel 1" is too similar to "Kennel 1" to be created.'


def test_a_value_is_shown_shortened_and_printable(run_import: Import, dogs: Category) -> None:
    content = f"name,category,status\nRex,Dogs,{'x' * 100}\nRex,\u202eDogs\u2028,\n"
    assert run_import(content).error.splitlines()[:2] == [
        f'line 2: status "{"x" * 40}…" must be one of available, pending, sold.',
        'line 3: category "\N{REPLACEMENT CHARACTER}Dogs\N{REPLACEMENT CHARACTER}" does not exist. Did you mean "Dogs"?',
    ]


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_animals_that_the_file_lacks_are_listed_and_kept(
    run_import: Import, rex: Pet, tom: Pet, dogs: Category, options: list[str]
) -> None:
    """An animal whose row is rejected is not missing; one that the file adds is not either."""
    wrong, wrong_too = (PetFactory(name=name, category=dogs, external_reference=name) for name in ("W-1", "W-2"))
    pip = PetFactory(name="Pip", category=dogs, external_reference="A-2")
    rows = f"{rex.pk},,Rex,Dogs,available\n{wrong.pk},,,,lost\n,W-2,,Birds,\n,A-9,Max,Dogs,\n"
    arguments = ["--missing", "report", "--on-error", "skip", *options]
    assert {wrong.pk, wrong_too.pk} == set(Pet.objects.filter(name__startswith="W").values_list("pk", flat=True))
    before = catalogue()
    result = run_import(HEADER + rows, *arguments)
    lines = result.out.splitlines()
    first = lines.index("Missing in the file: 2 animals.")
    assert (result.status, lines[first : first + 3]) == (
        4,
        ["Missing in the file: 2 animals.", f"  animal {tom.pk} (A-1): Tom", f"  animal {pip.pk} (A-2): Pip"],
    )
    told = run_import(HEADER + rows.replace("A-9", "A-8"), *arguments, "--json").json
    added = Pet.objects.filter(external_reference="A-9")
    expected = [(tom.pk, "A-1", "Tom"), (pip.pk, "A-2", "Pip"), *((pet.pk, "A-9", "Max") for pet in added)]
    assert told["missing"] == [
        {"id": number, "external_reference": reference, "name": name} for number, reference, name in expected
    ]
    assert told["missing_count"] == len(expected) == 2 + (not options)
    assert catalogue()[: len(before)] == before


def test_only_the_first_of_many_missing_animals_are_listed(run_import: Import, dogs: Category) -> None:
    first = PetFactory(name="Animal 0\u2028", category=dogs)
    Pet.objects.bulk_create([Pet(name=f"Animal {number}", category=dogs) for number in range(1, 120)])
    result = run_import(HEADER, "--missing", "report", "--allow-empty")
    lines = result.out.splitlines()
    assert (result.status, len(lines)) == (0, 23)
    assert lines[1:3] == ["Missing in the file: 120 animals.", f"  animal {first.pk}: Animal 0\ufffd"]
    assert lines[-2:] == [f"  animal {first.pk + 19}: Animal 19", "  … and 100 more."]
    told = run_import(HEADER, "--missing", "report", "--json", "--allow-empty").json
    assert (told["missing_count"], len(told["missing"])) == (120, 100)
    Pet.objects.filter(pk__gt=first.pk + 19).delete()
    assert run_import(HEADER, "--missing", "report", "--allow-empty").out.endswith(f"{first.pk + 19}: Animal 19\n")
    assert "missing" not in run_import(HEADER, "--json").json


def test_the_counts_of_matched_rows_are_recorded(run_import: Import, rex: Pet, tom: Pet) -> None:
    content = f"{HEADER}{rex.pk},,Rexy,Dogs,sold\n,A-1,Tommy,Dogs,sold\n,A-2,Mia,Dogs,sold\n"
    run_import(content)
    run = ImportRun.objects.get()
    assert (run.matched_by_id, run.matched_by_reference) == (1, 1)
    run_import(content.replace("Mia", ""), name="wrong.csv")
    [told, _] = json.loads(command("list_imports", "--json").out)
    assert (told["state"], told["matched_by_id"], told["matched_by_reference"]) == ("done", 1, 2)
