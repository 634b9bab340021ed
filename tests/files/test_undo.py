"""Taking an import back: the catalogue as it was, except what others have changed since."""

import json
from datetime import date
from typing import Any

import pytest

from categories.models import Category
from changes import undo as undoing
from changes.models import Change, UnrecordedChange
from history.acting import account
from pets import stock
from pets.models import ImportRun, Pet, StockMovement
from tests.factories import PetFactory, set_days
from tests.files.conftest import Import, catalogue, command, counts, history
from tests.pets.office import history_disagrees, work_off

pytestmark = pytest.mark.django_db(transaction=True)

HEADER = "external_reference,name,category,status\n"
OLD = [("Rex", "Dogs", "available", "A-1"), ("Tom", "Dogs", "pending", "A-2"), ("Pip", "Dogs", "sold", None)]
FILE = HEADER + "A-1,Rexy,Cats,sold\nA-2,Tom,Dogs,pending\nA-3,Mia,Cats,\n,Nemo,Dogs,\n"


@pytest.fixture
def old(dogs: Category) -> None:
    for name, _, status, reference in OLD:
        PetFactory(name=name, category=dogs, status=status, external_reference=reference)


@pytest.fixture
def run(old: None, run_import: Import) -> ImportRun:
    """An import that changed one animal, added two and a category, and left two as they were."""
    assert run_import(FILE, "--create-categories").status == 0
    return ImportRun.objects.get()


def undo(run: ImportRun, *options: str) -> Any:
    return json.loads(command("undo_import", str(run.pk), "-v0", "--json", *options).out)


def test_everything_is_as_it_was(run: ImportRun) -> None:
    assert [name for name, *_ in catalogue()] == ["Rexy", "Tom", "Pip", "Mia", "Nemo"]
    assert undo(run) == {
        "import": run.pk, "dry_run": False, "deleted": 2, "restored": 1, "left": [], "left_count": 0, "state": "undone",
    }  # fmt: skip
    assert catalogue() == OLD
    assert [*Category.objects.values_list("name", flat=True)] == ["Dogs"]
    assert counts()[0] == "undone"


@pytest.mark.parametrize(
    "steps",
    [
        ["0a partly", "0b partly", "0c undone"],
        ["0a partly", "0ab partly", "0c undone", "3 partly", "1 partly", "2 done"],
        ["0a partly", "0b partly", "1 partly", "2 done"],
        ["0 undone", "1a partly", "1b partly", "2 partly", "4 partly", "1 done"],
        ["0 undone", "1 done", "2 undone"],
        ["0a partly", "0 undone", "1 partly", "0 undone"],
    ],
)
def test_the_record_says_what_undos_in_parts_and_redos_leave(run: ImportRun, steps: list[str]) -> None:
    """Each step undoes the change of this number, 0 the import, or animals of it, and leaves this state."""
    rows = dict(Pet.history.filter(change=run.change_id).values_list("name", "id"))
    animals = {"a": rows["Nemo"], "b": rows["Mia"], "c": rows["Rexy"]}
    made = [Change.objects.get().pk]
    for step in steps:
        what, state = step.split()
        some = [animals[letter] for letter in what[1:]] or None
        made.append(undoing.undo(Change.objects.get(pk=made[int(what[0])]), animals=some).pk)
        assert counts()[0].removesuffix(" undone") == state, step


@pytest.mark.parametrize("blocks", [1, 3])
def test_what_was_stopped_amid_its_undo_is_not_undone(
    run: ImportRun, monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    """Also after the last of its three animals: the category is still there."""
    monkeypatch.setattr("changes.plan.BLOCK", 1)
    undo = undoing.begin(Change.objects.get())
    assert [undoing.advance(undo.pk) for _ in range(blocks)] == [True] * blocks
    undoing.stop(undo.pk, "Stopped by anna.")
    run.refresh_from_db()
    assert run.change is not None
    assert (run.state, run.change.is_undone, run.change.undone is None) == ("partly undone", False, False)


def test_what_is_set_back_changed_when_it_was_undone_and_the_rest_did_not(run: ImportRun) -> None:
    imported = dict(Pet.objects.values_list("name", "updated_at"))
    undo(run)
    run.refresh_from_db()
    assert dict(Pet.objects.values_list("name", "updated_at")) == {
        "Rex": Pet.history.latest("history_id").history_date,
        "Tom": imported["Tom"],
        "Pip": imported["Pip"],
    }


def test_the_history_tells_of_it(run: ImportRun) -> None:
    before = len(history())
    undo(run)
    assert sorted(history()[before:]) == [
        ("-", "Mia", "available", account(), None),
        ("-", "Nemo", "available", account(), None),
        ("~", "Rex", "available", account(), None),
    ]


def test_a_dry_run_changes_nothing(run: ImportRun) -> None:
    before = catalogue(), history()
    told = undo(run, "--dry-run")
    assert (told["deleted"], told["restored"], told["dry_run"]) == (2, 1, True)
    assert (catalogue(), history()) == before
    assert counts()[0] == "done"


def test_what_was_changed_since_is_left_and_listed(run: ImportRun) -> None:
    rexy, mia, nemo = (Pet.objects.get(name=name) for name in ("Rexy", "Mia", "Nemo"))
    rexy.status = "available"
    rexy.save()
    mia.name = "Mia the cat"
    mia.save()
    nemo.delete()
    text = command("undo_import", str(run.pk), "-v0").out
    assert text.splitlines() == [
        f"Undone, {run} of animals.csv by {account()}: 1 animal was set back.",
        "2 left as they are:",
        f"  animal {mia.pk}: changed since",
        f"  animal {nemo.pk or mia.pk + 1}: deleted since",
        f"Once they are as the import left them: manage.py undo_import {run.pk}",
    ]
    assert [row[:3] for row in catalogue()] == [
        ("Rex", "Dogs", "available"),  # someone put its status back, the undo the rest
        ("Tom", "Dogs", "pending"),
        ("Pip", "Dogs", "sold"),
        ("Mia the cat", "Cats", "available"),
    ]
    run.refresh_from_db()
    assert (run.state, run.outcome) == (
        "partly undone",
        f"It was undone by {account()}. 2 animals were left as they are.",
    )


def test_a_change_and_its_reversal_leave_nothing_changed(run: ImportRun) -> None:
    mia = Pet.objects.get(name="Mia")
    for status in ("sold", "available"):
        mia.status = status
        mia.save()
    assert undo(run)["left"] == []
    assert catalogue() == OLD


def test_in_one_block_some_go_back_whole_and_some_field_by_field(run_import: Import, dogs: Category) -> None:
    birds = Category.objects.create(name="Birds")
    names = ["Sold", "Edited", "Deleted", "Taken", "Orphan", "Back"]
    pets = [
        PetFactory(
            name=name,
            category=birds if name == "Orphan" else dogs,
            status="sold" if name == "Sold" else "pending",
            external_reference=name,
            sold_on=date(2026, 1, 5) if name == "Sold" else None,
        )
        for name in names
    ]
    sold, edited, deleted, _, orphan, back = pets
    rows = [f"{pet.pk},{pet.name} 2,New {pet.name},Cats,available\n" for pet in pets]
    run_import("id,external_reference,name,category,status\n" + "".join(rows), "--create-categories", "--accept-ids")
    run = ImportRun.objects.get()

    change(edited, name="Someone's")
    deleted.delete()
    PetFactory(name="Other", category=dogs, status="pending", external_reference="Taken")
    birds.delete()
    change(back, external_reference="Back", name="Back", category=dogs, status="pending")
    told = undo(run)
    assert (told["restored"], [each["reason"] for each in told["left"]]) == (
        4,
        [
            "changed since",
            "deleted since",
            "its former reference belongs to another animal now",
            "its former category was deleted",
        ],
    )
    assert catalogue() == [
        ("Sold", "Dogs", "sold", "Sold"),
        ("Someone's", "Dogs", "pending", "Edited"),
        ("Taken", "Dogs", "pending", "Taken 2"),
        ("Orphan", "Cats", "pending", "Orphan"),
        ("Back", "Dogs", "pending", "Back"),
        ("Other", "Dogs", "pending", "Taken"),
    ]
    assert [*Pet.objects.exclude(sold_on=None).values_list("pk", "sold_on")] == [(sold.pk, date(2026, 1, 5))]
    orphan.refresh_from_db()
    imported = {"external_reference": "Sold 2", "name": "New Sold", "category": orphan.category, "status": "available"}
    change(sold, **imported)  # what was put back once is done
    change(edited, name="New Edited")
    assert undo(run)["restored"] == 1
    assert [row[0] for row in catalogue()[:2]] == ["New Sold", "Edited"]
    assert (history_disagrees(), stock.differences()) == ([], [])


def test_a_later_import_is_a_change_too(run: ImportRun, run_import: Import) -> None:
    run_import(HEADER + "A-1,Rexy,Cats,pending\n", name="later.csv")
    later = ImportRun.objects.latest("pk")
    rexy = Pet.objects.get(name="Rexy")
    assert undo(run)["left"] == [{"id": rexy.pk, "reason": "changed since"}]
    assert undo(later)["restored"] == 1
    rexy.refresh_from_db()
    assert (rexy.name, rexy.status) == ("Rex", "sold")


def test_imports_of_the_same_animals_are_undone_in_reverse_order(run: ImportRun, run_import: Import) -> None:
    run_import(HEADER + "A-1,Roxy,Dogs,pending\nA-3,Mimi,Cats,sold\n", name="later.csv")
    later = ImportRun.objects.latest("pk")
    assert undo(run)["left_count"] == 2  # in the wrong order, all but these two
    assert (undo(later)["state"], undo(run)["state"]) == ("undone", "undone")
    assert catalogue() == OLD


def test_the_same_file_twice_is_undone_twice(run: ImportRun, run_import: Import) -> None:
    run_import(FILE.replace("sold", "pending"), "--again", name="between.csv")
    run_import(FILE, "--again")
    for each in ImportRun.objects.all():
        assert undo(each)["left"] == []
    assert catalogue() == OLD


def test_what_was_left_can_be_undone_later_and_nothing_else(run: ImportRun) -> None:
    rexy, mia = Pet.objects.get(name="Rexy"), Pet.objects.get(name="Mia")
    change(mia, name="Mimi")
    assert undo(run)["left"] == [{"id": mia.pk, "reason": "changed since"}]
    change(rexy, name="Rexy", category=Category.objects.get(name="Cats"), status="sold")  # as the import left it
    assert undo(run, "--dry-run")["left_count"] == 1
    change(mia, name="Mia")
    told = undo(run)
    assert (told["deleted"], told["restored"], told["left"], told["state"]) == (1, 0, [], "undone")
    assert [row[0] for row in catalogue()] == ["Rexy", "Tom", "Pip"]


def test_an_animal_that_was_deleted_and_restored_is_undone_then(run: ImportRun) -> None:
    rexy, mia = Pet.objects.get(name="Rexy"), Pet.objects.get(name="Mia")
    numbers = rexy.pk, mia.pk
    PetFactory(name="Cat", category=mia.category, status="sold")
    rexy.delete()
    mia.delete()
    left = sorted(undo(run)["left"], key=lambda each: int(each["id"]))
    assert left == [{"id": number, "reason": "deleted since"} for number in sorted(numbers)]
    for number in numbers:
        undoing.undo(UnrecordedChange.of_row(Pet.history.filter(id=number).latest("history_id")))
    assert undo(run)["left"] == []
    assert [row[0] for row in catalogue()] == ["Rex", "Tom", "Pip", "Cat"]


def test_what_someone_has_put_back_is_not_left(run: ImportRun) -> None:
    rexy = Pet.objects.get(name="Rexy")
    change(rexy, name="Rex", category=Category.objects.get(name="Dogs"), status="available")
    assert undo(run)["left"] == []
    assert catalogue() == OLD


def change(pet: Pet, **values: Any) -> None:
    pet.refresh_from_db()
    for name, value in values.items():
        setattr(pet, name, value)
    pet.save()


def test_the_day_of_a_sale_comes_back(run_import: Import, dogs: Category) -> None:
    rex = PetFactory(name="Rex", category=dogs, external_reference="A-1")
    PetFactory(name="Pip", category=dogs, external_reference="A-2", status="sold")  # nobody knows when
    change(rex, status="sold")
    day = date(2026, 1, 5)
    set_days(day, id=rex.pk)
    run_import(HEADER + "A-1,,,available\nA-2,,,available\n")
    run_import(HEADER + "A-1,,,sold\nA-2,,,sold\n", name="later.csv")
    later, first = ImportRun.objects.all()
    assert Pet.objects.exclude(sold_on=day).count() == 2
    undo(later)
    assert not Pet.objects.exclude(sold_on=None).exists()
    undo(first)
    assert list(Pet.objects.exclude(sold_on=None).values_list("pk", "sold_on")) == [(rex.pk, day)]
    assert stock.differences() == []


def test_a_former_category_that_is_gone_cannot_come_back(run: ImportRun) -> None:
    Pet.objects.exclude(name__in=["Rexy", "Mia"]).delete()
    Category.objects.get(name="Dogs").delete()
    rexy = Pet.objects.get(name="Rexy")
    left = undo(run)["left"]
    assert {"id": rexy.pk, "reason": "its former category was deleted"} in left


def test_a_former_reference_that_another_animal_has_is_listed(run_import: Import, old: None) -> None:
    """All others are undone, and this one once the reference is free again."""
    rex, tom = Pet.objects.get(name="Rex"), Pet.objects.get(name="Tom")
    run_import(f"id,{HEADER}{rex.pk},B-1,Rexy,,\n{tom.pk},B-2,Tommy,,\n,,Nemo,Dogs,\n", "--accept-ids")
    run = ImportRun.objects.get()
    other = PetFactory(name="Other", external_reference="A-1", category=rex.category)
    expected = {"deleted": 1, "restored": 2, "left_count": 1, "state": "partly undone"}
    for options in (["--dry-run"], []):
        told = undo(run, *options)
        assert told["left"] == [{"id": rex.pk, "reason": "its former reference belongs to another animal now"}]
        assert {name: told[name] for name in expected} == expected | ({"state": "dry run"} if options else {})
    assert catalogue() == [("Rex", "Dogs", "available", "B-1"), *OLD[1:], ("Other", "Dogs", "available", "A-1")]
    still = command("undo_import", str(run.pk), "--json")
    assert (still.status, still.json["message"]) == (
        3,
        f"Nothing changed. “Rex” ({rex.pk}): its former reference belongs to another animal now.",
    )
    other.delete()
    told = undo(run)
    assert (told["restored"], told["left_count"], told["state"], catalogue()) == (1, 0, "undone", OLD)


def test_a_category_that_is_in_use_or_renamed_is_left(run: ImportRun, run_import: Import) -> None:
    PetFactory(category=Category.objects.get(name="Cats"))
    run_import(HEADER + "B-1,Birdie,Birds,\n", "--create-categories", name="birds.csv")
    birds = Category.objects.get(name="Birds")
    birds.name = "All birds"
    birds.save()
    for each in ImportRun.objects.all():
        assert undo(each)["state"] == "undone"
    assert [*Category.objects.values_list("name", flat=True).order_by("pk")] == ["Dogs", "Cats", "All birds"]


def test_a_large_undo_that_only_deletes_a_category_is_kept(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("changes.undo.BLOCK", 1)
    run_import("name,category\nMia,Cats\nTom,Cats\n", "--create-categories")
    change = ImportRun.objects.get().change
    Pet.objects.all().delete()
    assert change is not None
    undo = undoing.undo(change)
    work_off()
    undo.refresh_from_db()
    assert (undo.state, undo.animals, undo.left_count) == ("done", 0, 2)
    assert [*Category.objects.all()] == [dogs]


def test_only_what_wrote_can_be_undone_and_only_once(run: ImportRun, run_import: Import) -> None:
    undo(run)
    again = command("undo_import", str(run.pk))
    run.refresh_from_db()
    assert (again.status, again.error) == (3, f"Nothing changed. It was undone already, by {account()}.")
    run_import("name,category\n,Dogs\n", name="wrong.csv")
    rejected = ImportRun.objects.latest("pk")
    assert command("undo_import", str(rejected.pk)).error == (
        f"Nothing changed. Import {rejected.pk} changed nothing, so there is nothing to undo."
    )
    assert command("undo_import", "999").error == "There is no import 999. list_imports shows them."


def test_many_that_are_left_are_counted(run_import: Import, dogs: Category) -> None:
    run_import("name,category\n" + "Rex,Dogs\n" * 26)
    Pet.objects.exclude(pk=Pet.objects.latest("pk").pk).update(status="sold")
    run = ImportRun.objects.get()
    result = command("undo_import", str(run.pk), "--dry-run")
    lines = result.out.splitlines()
    assert (result.status, len(lines)) == (4, 24)
    assert [*lines[:2], *lines[-2:]] == [
        f"Import {run.pk} of animals.csv by {account()}, {run.started_at:%Y-%m-%d %H:%M} UTC. Undo: delete 1 animal.",
        "25 left as they are:",
        "  … and 5 more.",
        "Dry run: nothing was saved.",
    ]
    result = command("undo_import", str(run.pk))
    lines = result.out.splitlines()
    assert (result.status, len(lines), lines[1], lines[-2]) == (4, 24, "25 left as they are:", "  … and 5 more.")
    nothing = command("undo_import", str(run.pk))
    assert (nothing.status, nothing.error.startswith("Nothing changed. “Rex” (")) == (3, True)


def test_of_many_a_dry_run_says_what_it_did_not_look_at(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_import("name,category\n" + "Rex,Dogs\n" * 3)
    Pet.objects.update(status="sold")
    monkeypatch.setattr("changes.preview.BLOCK", 2)
    run = ImportRun.objects.get()
    result = command("undo_import", str(run.pk), "--dry-run")
    assert (result.status, result.out.partition("UTC. ")[2].splitlines()) == (
        0,
        [
            "Undo: delete 3 animals.",
            "How many are left as they are shows only afterwards: there are too many to look at each of them.",
            "Dry run: nothing was saved.",
        ],
    )
    assert undo(run, "--dry-run")["left_count"] is None


@pytest.mark.postgresql("SQLite has one writer")
def test_an_animal_that_someone_changes_meanwhile_makes_it_begin_again(
    run_import: Import, old: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from files import staging  # noqa: PLC0415
    from tests.files.test_runs import manage  # noqa: PLC0415

    write, calls = staging.write, []

    def write_while_someone_changes(*given: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            Pet.objects.count()  # the transaction has its state of the catalogue from here on
            script = "from pets.models import Pet; p = Pet.objects.get(name='Rex'); p.status = 'sold'; p.save()"
            assert manage("shell", "-v0", "-c", script).returncode == 0
        return write(*given, **options)

    monkeypatch.setattr(staging, "write", write_while_someone_changes)
    assert run_import(HEADER + "A-1,Rexy,,\n").status == 0
    assert len(calls) == 2
    assert catalogue()[0] == ("Rexy", "Dogs", "sold", "A-1")
    assert [(row[0], row[1], row[2]) for row in history()[-2:]] == [("~", "Rex", "sold"), ("~", "Rexy", "sold")]


def test_a_large_undo_that_is_stopped_stays_so_and_the_next_one_undoes_the_rest(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_import("name,category\n" + "Rex,Dogs\n" * 5)
    for module in ("changes.plan", "changes.undo"):
        monkeypatch.setattr(f"{module}.BLOCK", 2)
    run, advance = ImportRun.objects.get(), undoing.advance

    def advance_and_be_stopped(*given: Any, **options: Any) -> None:
        advance(*given, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(undoing, "advance", advance_and_be_stopped)
        stopped = command("undo_import", str(run.pk), "-v0")
    assert (stopped.status, stopped.error) == (
        130,
        f"Stopped. 2 of its animals are done. To undo the rest: manage.py undo_import {run.pk}",
    )
    assert (len(catalogue()), counts()[0]) == (3, "partly undone")
    assert not Change.objects.filter(state="running").exists()  # or the process for work would go on with it
    assert undo(run)["deleted"] == 3
    assert (catalogue(), counts()[0]) == ([], "undone")
    assert Change.objects.filter(undo_of=run.change_id).count() == 2
    assert not StockMovement.objects.exclude(animals=0).exists()  # or each list would add up what the blocks left


@pytest.mark.parametrize("block", [1_000, 1])
def test_references_that_a_former_release_exchanged_stay_with_a_reason(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    for module in ("changes.plan", "changes.undo"):
        monkeypatch.setattr(f"{module}.BLOCK", block)
    pets = [PetFactory(name=f"Pet {n}", category=dogs, external_reference=f"A-{n}") for n in range(1, 4)]
    rows = [f"{pet.pk},B-{n},New {n}\n" for n, pet in enumerate(pets, 1)]
    run_import("id,external_reference,name\n" + "".join(rows), "--accept-ids")
    for records in (Pet.history.filter(history_type="~"), Pet.objects.order_by()):
        records.filter(external_reference="B-3").update(external_reference="B-4")
        for old, new in (("B-1", "A-2"), ("B-2", "A-1")):
            records.filter(external_reference=old).update(external_reference=new)
    run = ImportRun.objects.get()
    told = undo(run)
    left = [{"id": pet.pk, "reason": "its former reference belongs to another animal now"} for pet in pets[:2]]
    assert (told["restored"], told["left"]) == (3, left)
    assert dict(Pet.objects.values_list("name", "external_reference")) == {
        "Pet 1": "A-2",
        "Pet 2": "A-1",
        "Pet 3": "A-3",
    }
    assert history_disagrees() == []


def test_no_animal_gets_the_id_of_one_that_is_gone(run: ImportRun, run_import: Import) -> None:
    gone = Pet.objects.latest("pk").pk
    undo(run)
    assert run_import(FILE, "--create-categories", "--again").status == 0
    assert Pet.objects.filter(name="Mia").latest("pk").pk > gone
