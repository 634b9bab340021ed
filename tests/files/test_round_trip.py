"""What `export_pets` writes, `import_pets` reads back to the same catalogue."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from categories.models import Category
from files.export import IMPORTED
from pets.models import ImportRun, Pet, PetStatus
from tests.exploring import STEADY
from tests.factories import PetFactory
from tests.files.conftest import Animal, catalogue, command, counts

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["Rex", "=1+1", "'quoted", "+3", "-", "@x", ' "a", b ', "\\.", "\\N", "\u202eevil", "🐾" * 255, "<b>&amp;</b>"]
NAMES += ["_x0041_", "_x005F_", "\uffff", "\ufeffRex", "1", "1.0", "TRUE", "2026-11-21", "#N/A", "sep=;", "Żółw"]
NAMES += ["'t Vosje", "'"]
FORMS: list[tuple[str, list[str]]] = [("a.csv", []), ("a.jsonl", []), ("a.xlsx", [])]
FORMS += [("safe.csv", ["--for-spreadsheets"]), ("safe.xlsx", ["--for-spreadsheets"])]
SAFE = {"safe.csv": ["--formula-safe"], "safe.xlsx": ["--formula-safe"]}
"""What an import of these needs."""

WITHOUT_IDS = f"--columns={','.join(IMPORTED[1:])}"

EACH_FORM = pytest.mark.parametrize("form", FORMS, ids=lambda form: form[0])


def round_trip(folder: Path, form: tuple[str, list[str]]) -> tuple[list[Animal], bytes, bytes]:
    """Export, import into an empty catalogue, export; return what is there then, and both files."""
    name, options = form
    first, second = folder / f"first-{name}", folder / f"second-{name}"
    assert command("export_pets", str(first), "--force", WITHOUT_IDS, *options, "-v0").status == 0
    for rows in (Pet.objects.all(), Pet.history.all(), ImportRun.objects.all(), Category.objects.all()):
        rows.delete()
    result = command("import_pets", str(first), "--create-categories=force", *SAFE.get(name, []), "-v0")
    assert result.status == 0, result.error
    assert command("export_pets", str(second), "--force", WITHOUT_IDS, *options, "-v0").status == 0
    return catalogue(), first.read_bytes(), second.read_bytes()


@EACH_FORM
def test_the_same_catalogue_and_the_same_bytes(tmp_path: Path, form: tuple[str, list[str]]) -> None:
    for number, name in enumerate(NAMES):
        category = Category.objects.create(name=f"{name[:200]} and kin")
        PetFactory(name=name, category=category, external_reference=name[:100] if number % 2 else None, status="sold")
    before = catalogue()
    after, first, second = round_trip(tmp_path, form)
    assert after == before
    assert first == second


ANIMALS = 1_707
"""A file of JSON lines that is longer than what is read at a time, and no multiple of it."""


@pytest.fixture
def many() -> list[Animal]:
    """Animals of which every other one has no reference, in several categories and states."""
    categories = [Category.objects.create(name=name) for name in ("Dogs", "Cats", "Fish")]
    Pet.objects.bulk_create(
        Pet(
            name=f"Animal {number}",
            category=categories[number % 3],
            status=PetStatus.values[number % len(PetStatus)],
            external_reference=f"A-{number}" if number % 2 else None,
        )
        for number in range(ANIMALS)
    )
    return catalogue()


@EACH_FORM
def test_an_export_of_this_catalogue_changes_nothing(
    tmp_path: Path, many: list[Animal], form: tuple[str, list[str]]
) -> None:
    name, options = form
    assert command("export_pets", str(tmp_path / name), *options, "-v0").status == 0
    result = command("import_pets", str(tmp_path / name), *SAFE.get(name, []), "--missing", "report", "-v0", "--json")
    assert (result.status, result.error, catalogue()) == (0, "", many)
    assert (result.json["matched_by_id"], result.json["missing_count"]) == (ANIMALS, 0)
    assert (counts(), Pet.history.count()) == (("done", ANIMALS, 0, 0, ANIMALS, 0), 0)


@pytest.mark.parametrize(
    ("form", "leave_out"),
    [*((form, "--columns") for form in FORMS), *((form, "--ignore-ids") for form in FORMS[:3])],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
@pytest.mark.slow
@pytest.mark.each_database
def test_a_catalogue_can_move(tmp_path: Path, many: list[Animal], form: tuple[str, list[str]], leave_out: str) -> None:
    name, options = form
    exported, imported = ([WITHOUT_IDS], []) if leave_out == "--columns" else ([], [leave_out])
    assert command("export_pets", str(tmp_path / name), *exported, *options, "-v0").status == 0
    assert command("export_pets", str(tmp_path / f"before-{name}"), WITHOUT_IDS, *options, "-v0").status == 0
    for rows in (Pet.objects.all(), Category.objects.all()):
        rows.delete()
    result = command("import_pets", str(tmp_path / name), "--create-categories", *imported, *SAFE.get(name, []), "-v0")
    assert (result.status, catalogue()) == (0, many)
    assert command("export_pets", str(tmp_path / f"after-{name}"), WITHOUT_IDS, *options, "-v0").status == 0
    assert (tmp_path / f"after-{name}").read_bytes() == (tmp_path / f"before-{name}").read_bytes()


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8).map(lambda text: f"{text}x")


@pytest.mark.slow
@pytest.mark.each_database
@EACH_FORM
@settings(STEADY, max_examples=6)  # the texts of an example take less time than its two exports
@given(names=st.lists(TEXT, min_size=30, max_size=50, unique=True))
def test_any_text(tmp_path: Path, form: tuple[str, list[str]], names: list[str]) -> None:
    Pet.objects.all().delete()
    Category.objects.all().delete()
    category = Category.objects.create(name=names[0])
    for number, name in enumerate(names):
        PetFactory(name=name, category=category, external_reference=name if number % 2 else None)
    before = catalogue()
    after, first, second = round_trip(tmp_path, form)
    assert after == before
    assert first == second
