"""What a person sees of the changes of an import before it happens, and what of them looks wrong."""

import pytest

from categories.models import Category
from pets.models import Pet
from tests.days import today
from tests.factories import PetFactory
from tests.files.conftest import Import, catalogue, history
from tests.whole import changed

pytestmark = pytest.mark.django_db(transaction=True)

HEADER = "id,external_reference,name,category,status\n"


@pytest.fixture
def rex(dogs: Category) -> Pet:
    return PetFactory(name="Rex", category=dogs, external_reference="A-1")


@pytest.fixture
def tom(dogs: Category) -> Pet:
    return PetFactory(name="Tom", category=dogs)


def content(rex: Pet, tom: Pet) -> str:
    return f"{HEADER}{rex.pk},A-9,Rexy,Cats,sold\n{tom.pk},B-1,Tom,Dogs,\n,C-1,Mia,Cats,\n"


def changes(rex: Pet, tom: Pet, mia: int | None) -> list[tuple[int | None, str, int, str, str | None, str]]:
    return [
        (rex.pk, "A-1", 2, "external_reference", "A-1", "A-9"),
        (rex.pk, "A-1", 2, "name", "Rex", "Rexy"),
        (rex.pk, "A-1", 2, "category", "Dogs", "Cats"),
        (rex.pk, "A-1", 2, "status", "available", "sold"),
        (tom.pk, None, 3, "external_reference", None, "B-1"),  # type: ignore[list-item]
        (mia, "C-1", 4, "external_reference", None, "C-1"),
        (mia, "C-1", 4, "name", None, "Mia"),
        (mia, "C-1", 4, "category", None, "Cats"),
        (mia, "C-1", 4, "status", None, "available"),
    ]


def test_a_dry_run_shows_what_would_change(run_import: Import, rex: Pet, tom: Pet) -> None:
    before = catalogue(), history()
    result = run_import(content(rex, tom), "--dry-run", "--create-categories")
    assert result.out.splitlines()[1:] == [
        "Matched 2 by id and 0 by external_reference.",
        "Fields: external_reference: 2 changed, name: 1 changed, category: 1 changed, status: 1 changed.",
        f'  line 2, animal {rex.pk} (A-1): external_reference "A-1" → "A-9", name "Rex" → "Rexy", '
        'category "Dogs" → "Cats", status "available" → "sold"',
        f'  line 3, animal {tom.pk}: external_reference none → "B-1"',
        '  line 4, new animal: external_reference "C-1", name "Mia", category "Cats", status "available"',
        'New categories: "Cats".',
        "Dry run: nothing was saved.",
    ]
    assert (catalogue(), history()) == before


def test_only_the_first_animals_are_shown(run_import: Import, dogs: Category) -> None:
    names = "".join(f"Animal {number},Dogs\n" for number in range(25))
    lines = run_import(f"name,category\n{names}", "--dry-run").out.splitlines()
    assert [lines[1], lines[20], lines[21]] == [
        '  line 2, new animal: name "Animal 0", category "Dogs", status "available"',
        '  line 21, new animal: name "Animal 19", category "Dogs", status "available"',
        "  … and 5 more.",
    ]


def test_a_machine_is_told_the_same(run_import: Import, rex: Pet, tom: Pet) -> None:
    told = run_import(content(rex, tom), "--dry-run", "--create-categories", "--json").json["changes"]
    names = ("id", "reference", "line", "field", "before", "after")
    all_of_them = [dict(zip(names, change, strict=True)) for change in changes(rex, tom, None)]
    assert told == {
        "fields": changed(external_reference=2, name=1, category=1, status=1),
        "foreign_ids": {"count": 0, "first": []},
        "altered": {"count": 0, "first": []},
        "misread": {"count": 0, "first": []},
        "first": all_of_them,
    }


YEAR = today().year


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("1/2", f"01/02/{YEAR}", 3),
        ("SEPT 2", "2-Sep", 3),
        ("007", "7", 3),
        ("$1234567.50", "1234567.5", 3),
        ("=SUM(A1:A9)", "#NAME?", 3),
        ("小花小花小花小花小花", "小花小花小花小花小花\u3000", 3),
        ("\u2212123456789", "-123456789", 3),
        ("März 2024", f"01.03.{YEAR}", 0),
        ("März 2024", "01.03.2024", 3),
        ("Rex ", "Rex", 0),
        ("Rex 1/2", "Rex", 0),
    ],
)
def test_a_name_that_became_a_date_stops_the_import(
    run_import: Import, dogs: Category, before: str, after: str, status: int
) -> None:
    PetFactory(name=before, category=dogs, external_reference="A-1")
    assert run_import(f"external_reference,name,category\nA-1,{after},Dogs\n").status == status


def test_three_examples_are_shown_of_many(run_import: Import, dogs: Category) -> None:
    pets = [PetFactory(name="Rex", category=dogs, external_reference=f"00{number}") for number in range(1, 6)]
    rows = "".join(f"{pet.pk},{int(pet.external_reference or 0)},Rex,Dogs,\n" for pet in pets)
    told = run_import(HEADER + rows, "--dry-run", "--json").json["changes"]["altered"]
    assert (told["count"], [change["before"] for change in told["first"]]) == (5, ["001", "002", "003"])
    looks = f'5 references or names look altered by a spreadsheet program or a wrong encoding: "001" → "1" (animal {pets[0].pk}), '
    assert f"Warning: {looks}" in run_import(HEADER + rows, "--dry-run").out
    assert run_import(HEADER + rows).error.startswith(looks)
    assert run_import(HEADER + rows, "--accept-references").status == 0
    assert [row[3] for row in catalogue()] == ["1", "2", "3", "4", "5"]


NEAR = [
    ("R1", "R1 "),
    ("R1", " R1"),
    ("R1", "R1\u00a0"),
    ("R1", "\ufeffR1"),
    ("Zo\u00eb", "Zoe\u0308"),
    ("Zoe\u0308", "Zo\u00eb"),
    ("R1 ", "R1"),
    ("R1 ", "R1\u00a0"),
    ("Zo\u00eb", "Zoe\u0308\u200b "),
    ("Zoe\u0308", "Zoe\u0308 "),
    ("42 ", "42"),
    ("00042", "42 "),
    ("Геша 1", "Ð“ÐµÑˆÐ° 1"),
]


def test_a_file_without_its_zeros_adds_nothing(run_import: Import, dogs: Category) -> None:
    """A supplier's file, which never has our ids, after a spreadsheet program saved it."""
    numbers = range(1, 21)
    rows = "".join(f"{number:05},Rex,Dogs,available\n" for number in numbers)
    header = "external_reference,name,category,status\n"
    assert run_import(header + rows).status == 0
    before, ids = catalogue(), list(Pet.objects.order_by("pk").values_list("pk", flat=True))
    saved = header + "".join(f"{number},Rex,Dogs,sold\n" for number in numbers)
    lines = [
        f'line {number + 1}: external_reference "{number}" looks like "{number:05}" of animal {pk}. '
        "If it is right, use --accept-references."
        for number, pk in zip(numbers, ids, strict=True)
    ]
    for option in ((), ("--dry-run",)):
        stopped = run_import(saved, *option)
        assert stopped.status == 3
        assert [line for line in stopped.error.splitlines() if "looks like" in line] == lines
        assert "20 of 20 rows have errors. Nothing changed." in stopped.error
    assert catalogue() == before
    assert run_import(saved, "--on-error", "skip").status != 0
    assert catalogue() == before
    assert run_import(saved, "--accept-references").status == 0
    assert Pet.objects.count() == 40
    assert run_import(saved, "--again").status == 0  # what is known is no near miss
    assert Pet.objects.count() == 40


def test_of_many_numbers_that_became_one_the_first_is_named(run_import: Import, dogs: Category) -> None:
    first, *_ = [PetFactory(name="Rex", category=dogs, external_reference=f"590123412345{n}") for n in range(10)]
    told = run_import("external_reference,name,category\n5.90123E+12,Max,Dogs\n", "--json").json
    assert [error["message"] for error in told["errors"]] == [
        f'external_reference looks like "{first.external_reference}" of animal {first.pk}. '
        "If it is right, use --accept-references."
    ]
    other = run_import(f"{HEADER}{first.pk},5.90123E+12,,,\n", "--json").json
    assert f"of animal {first.pk + 9}. If" in other["errors"][0]["message"]  # its own does not hide the others


@pytest.mark.parametrize(("theirs", "given"), NEAR)
def test_a_near_miss_of_a_reference_is_an_error(run_import: Import, dogs: Category, theirs: str, given: str) -> None:
    pet = PetFactory(name="Rex", category=dogs, external_reference=theirs)
    file = f'external_reference,name,category\n"{given}",Max,Dogs\nQ,Pip,Dogs\n'
    told = run_import(file, "--json").json
    shown = theirs.replace("\u00a0", "\ufffd")
    assert [(error["line"], error["message"]) for error in told["errors"]] == [
        (
            2,
            f'external_reference looks like "{shown}" of animal {pet.pk}. If it is right, use --accept-references.',
        )
    ]
    assert [row[3] for row in catalogue()] == [theirs]


def test_a_near_miss_is_found_beside_an_id_too_but_not_of_itself(run_import: Import, rex: Pet, tom: Pet) -> None:
    assert run_import(f'{HEADER}{tom.pk},"A-1 ",,,\n').status == 3
    of_itself = run_import(f'{HEADER}{rex.pk},"A-1 ",,,\n')
    assert of_itself.error.startswith(
        "1 reference or name looks altered by a spreadsheet program or a wrong encoding: "
    )
    assert run_import(f'{HEADER}{rex.pk},"A-1 ",,,\n', "--accept-references").status == 0
    assert Pet.objects.get(pk=rex.pk).external_reference == "A-1 "


MISREAD = [
    ("Геша", "Ð“ÐµÑˆÐ°"),  # in cp1252
    ("Ё", "Ð\N{REPLACEMENT CHARACTER}"),
    ("Łatka", "Å\uf181atka"),  # as LibreOffice reads a byte that cp1252 does not have
    ("小白", "??"),
    ("Zoë", "Zo\N{REPLACEMENT CHARACTER}"),
    ("Żółwik, what?", "???wik, what?"),
    ("Şeker", "Þeker"),
    ("小白", "小白".encode("gb18030").decode("cp949")),
    ("Gümüş", "G?m??"),
]


@pytest.mark.parametrize(("before", "after"), MISREAD)
def test_a_name_that_was_misread_stops_the_import(run_import: Import, dogs: Category, before: str, after: str) -> None:
    pet = PetFactory(name=before, category=dogs, external_reference="A-1")
    file = f'external_reference,name,category\nA-1,"{after}",Dogs\n'
    result = run_import(file)
    looks = "1 reference or name looks altered by a spreadsheet program or a wrong encoding:"
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in after)
    assert (result.status, result.error.startswith(f'{looks} "{before}" → "{shown}" (animal {pet.pk}).')) == (3, True)
    assert Pet.objects.get().name == before


@pytest.mark.parametrize(
    ("before", "after"),
    [("Ð“ÐµÑˆÐ°", "Геша"), ("Zoë", "Zoé"), ("Zoë", "Zoe"), ("Zoe", "Zo?"), ("Żółwik", "Żółw?x"), ("Геша", "Мурка")],
)
def test_a_name_that_was_corrected_is_imported(run_import: Import, dogs: Category, before: str, after: str) -> None:
    PetFactory(name=before, category=dogs, external_reference="A-1")
    assert run_import(f"external_reference,name,category\nA-1,{after},Dogs\n").status == 0
    assert Pet.objects.get().name == after


@pytest.mark.parametrize("option", [(), ("--dry-run",)])
def test_a_name_of_a_new_animal_that_looks_wrong_is_a_warning(
    run_import: Import, dogs: Category, option: tuple[str, ...]
) -> None:
    PetFactory(name="Ð“ÐµÑˆÐ°", category=dogs, external_reference="A-1")  # it is known as that
    PetFactory(name="NULL", category=dogs, external_reference="A-2")
    known = "external_reference,name,category\nA-1,Ð“ÐµÑˆÐ°,Dogs\nA-2,NULL,Dogs\n"
    file = f"{known}A-3,ZoÃ«,Dogs\nA-4,Żółwik,Dogs\nA-5,#N/A,Dogs\nA-6,Null,Dogs\n"
    result = run_import(file, *option)
    assert result.status == 0
    warning = 'Warning: 2 names look wrong: "ZoÃ«" is probably "Zoë", "#N/A" is probably no name.'
    assert warning in result.out.splitlines()
    told = run_import(f"{known}A-7,ZoÃ«,Dogs\nA-8,nil,Dogs\n", "--dry-run", "--json").json["changes"]["misread"]
    misread = {"line": 4, "reference": "A-7", "name": "ZoÃ«", "likely": "Zoë"}
    no_name = {"line": 5, "reference": "A-8", "name": "nil", "likely": None}
    assert told == {"count": 2, "first": [misread, no_name]}


@pytest.mark.sqlite("it counts the steps of its statements")
def test_rows_are_not_searched_for_each_row(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of names that are looked at: `NOT EXISTS` without an index reads all animals of the file for each of them."""
    rows, blocks = 2000, 0

    def count() -> bool:
        nonlocal blocks
        blocks += 1
        return False

    def file(end: str) -> str:
        return "external_reference,name,category\n" + "".join(f"A-{row},小花 {row}{end},Dogs\n" for row in range(rows))

    assert run_import(file("")).status == 0
    monkeypatch.setattr("files.transactions.is_stopped", count)
    assert run_import(file(" II"), "--default-status", "sold").status == 0
    assert 0 < 100_000 * blocks < rows * rows  # SQLite asks after each 100,000 of its steps
