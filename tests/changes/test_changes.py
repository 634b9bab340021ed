"""One undo for every change: an edit, an addition, a bulk change, an import, a deletion, a restore, an undo."""

from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from categories.models import Category
from changes import log
from changes import undo as undoing
from changes.bulk import Target, begin, delete, select
from changes.models import Change, Kind, State, UnrecordedChange
from changes.preview import undo_plan
from changes.write import change_animals
from history.acting import identify
from history.edits import NotUndoneError
from pets.columns import NAMES
from pets.models import Pet
from tests.factories import PetFactory
from tests.pets.office import seen

pytestmark = pytest.mark.django_db(transaction=True)

DAY = date(2026, 1, 5)


@pytest.fixture
def anna() -> User:
    identify("staff anna")
    return User.objects.create(username="anna", is_staff=True)


@pytest.fixture
def cats() -> Category:
    return Category.objects.create(name="Cats")


@pytest.fixture
def rex(category: Category) -> Pet:
    return PetFactory(name="Rex", category=category, external_reference="A-1")


def now(pet: Pet) -> tuple[Any, ...]:
    """Return what the animal is; nothing if it is deleted."""
    found = Pet.objects.filter(pk=pet.pk).values_list("name", "status", "category__name", "external_reference")
    return found.first() or ()


def edit(pet: Pet, **values: Any) -> UnrecordedChange:
    pet.refresh_from_db()
    for name, value in values.items():
        setattr(pet, name, value)
    pet.save()
    return UnrecordedChange.of_row(Pet.history.latest("history_id"))


def told(undo: Change) -> tuple[Any, ...]:
    return (undo.kind, undo.state, undo.changed, undo.added, undo.deleted, undo.left)


def test_what_others_changed_since_stays_and_the_rest_goes_back(rex: Pet, cats: Category, anna: User) -> None:
    change = edit(rex, name="Rexy", status="sold", category=cats)
    edit(rex, name="Roxy")
    shown = undo_plan(change)
    assert shown.flows == [("Status", "Sold", "Available", 1), ("Category", "Cats", "Dogs", 1)]
    assert [(one.undo.reason, one.row.since.name) for one in shown.left] == [("changed since", "Roxy")]
    undo = undoing.undo(change, user=anna)
    assert now(rex) == ("Roxy", "available", "Dogs", "A-1")
    assert told(undo) == (Kind.UNDO, State.DONE, 1, 0, 0, [[rex.pk, "Roxy", "changed since"]])
    edit(rex, name="Rexy", status="sold")  # what was put back is done, what was left can be undone now
    undoing.undo(change, user=anna)
    assert now(rex) == ("Rex", "sold", "Dogs", "A-1")


def test_what_is_in_the_way_of_a_restore_is_said(rex: Pet, cats: Category, anna: User) -> None:
    deleted = delete({rex.pk: seen(rex)}, user=anna)
    assert deleted is not None
    other = PetFactory(name="Other", category=cats, external_reference="A-1")
    with pytest.raises(NotUndoneError, match="its former reference belongs to another animal now"):
        undoing.undo(deleted, user=anna)
    edit(other, external_reference=None)
    Category.objects.get(name="Dogs").delete()
    with pytest.raises(NotUndoneError, match="its former category was deleted"):
        undoing.undo(deleted, user=anna)
    assert not Change.objects.exclude(pk=deleted.pk).exists()
    undoing.undo(deleted, user=anna, category=cats.pk)
    assert now(rex) == ("Rex", "available", "Cats", "A-1")


def test_only_what_is_there_to_undo_is_undone_and_only_once(rex: Pet, anna: User) -> None:
    change = edit(rex, status="sold")
    undoing.undo(change, user=anna)
    with pytest.raises(NotUndoneError, match=r"^Nothing changed. It was undone already, by anna.$"):
        undoing.undo(change, user=anna)
    change = edit(rex, name="Rexy")
    rex.delete()
    with pytest.raises(NotUndoneError, match=r"^Nothing changed. “Rexy” \(\d+\): deleted since.$"):
        undoing.undo(change, user=anna)


def test_a_large_one_is_undone_in_blocks_goes_on_after_a_kill_and_can_be_stopped(
    category: Category, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    pets = PetFactory.create_batch(5, category=category)
    monkeypatch.setattr("changes.plan.BLOCK", 2)
    monkeypatch.setattr("changes.undo.BLOCK", 2)
    bulk = begin(select(Pet.objects.all(), user=anna), Target("status", "sold", "sold"))
    while undoing.advance(bulk.pk):
        pass
    bulk.refresh_from_db()
    undo = undoing.begin(bulk, user=anna)
    with pytest.raises(NotUndoneError, match="It is being undone by anna"):
        undoing.begin(bulk, user=anna)
    assert undoing.advance(undo.pk)
    assert undoing.progress(Change.objects.get(pk=undo.pk)) == (2, 5)
    assert [pet.status for pet in Pet.objects.order_by("pk")] == ["sold"] * 3 + ["available"] * 2
    assert undoing.stop(undo.pk, "Stopped by anna.").unreached == 3
    assert not undoing.advance(undo.pk)
    found = log.find(str(bulk.pk))
    assert found is not None
    assert (found.is_undone, found.undone is None) == (False, False)
    rest = undoing.begin(bulk, user=anna)
    while undoing.advance(rest.pk):
        pass
    rest.refresh_from_db()
    assert told(rest) == (Kind.UNDO, State.DONE, 3, 0, 0, [])
    assert {pet.status for pet in Pet.objects.filter(pk__in=[pet.pk for pet in pets])} == {"available"}


def test_changes_are_listed_page_by_page_whatever_they_are(rex: Pet, cats: Category, anna: User) -> None:
    change = edit(rex, name="Rexy")
    undo = undoing.undo(change, user=anna)
    tom = PetFactory(name="Tom", category=cats)
    deleted = delete({pet.pk: seen(pet) for pet in (rex, tom)}, user=anna)
    assert deleted is not None
    expected = [
        (deleted.key, Kind.DELETION, "", False), (f"r{Pet.history.filter(id=tom.pk).earliest('history_id').pk}", Kind.EDIT, "Tom", False),
        (undo.key, Kind.UNDO, "Rex", False), (change.key, Kind.EDIT, "Rexy", True),
        (f"r{Pet.history.earliest('history_id').pk}", Kind.EDIT, "Rex", False),
    ]  # fmt: skip
    for size, pages in ((1, 5), (2, 3), (5, 1)):
        found, before = [], ""
        for _ in range(pages):
            page, before = log.changes(log.Filters(), before=before, count=size)
            found += page
        assert before == ""
        assert [
            (each.key, each.kind, each.animal.row.name if each.animal else "", each.is_undone) for each in found
        ] == expected
    narrowed = {
        "kind": (log.Filters(kind=Kind.UNDO), [undo.key]),
        "who": (log.Filters(who="staff anna"), [key for key, *_ in expected[:-1]]),
        "animals": (log.Filters(animals=[tom.pk]), [key for key, *_ in expected[:2]]),
        "day": (log.Filters(day_to=DAY), []),
    }
    for filters, keys in narrowed.values():
        assert [each.key for each in log.changes(filters)[0]] == keys
    assert [(row.row.name, row.former.name, row.now) for part in log.animals_in_parts(deleted) for row in part] == [
        ("Rex", "Rex", None),
        ("Tom", "Tom", None),
    ]
    assert log.animals_named("rexy") == {rex.pk}


def test_references_that_moved_on_move_back(rex: Pet) -> None:
    """Each waits for that of the animal before it."""
    rex.external_reference = "R-1"
    rex.save()
    moved = [rex, *(PetFactory(external_reference=f"R-{number}") for number in (2, 3))]
    change = Change.begin(changed=3, state=State.DONE)
    for number, pet in reversed([*enumerate(moved, 2)]):
        values = {name: getattr(pet, name) for name in NAMES} | {"external_reference": f"R-{number}"}
        change_animals({pet.pk: values}, timezone.now(), change)
    undone = undoing.undo(change)
    assert (undone.changed, undone.left) == (3, [])
    assert [Pet.objects.get(pk=pet.pk).external_reference for pet in moved] == ["R-1", "R-2", "R-3"]
