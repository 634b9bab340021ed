"""What releases before 1.3 wrote becomes changes that can be undone; their rows of history stay as they were."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from changes.models import Change
from pets import activity, undoing
from pets.models import ImportRun, Pet
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import history_disagrees, member, text_of

pytestmark = pytest.mark.django_db(transaction=True)

MIGRATION = import_module("pets.migrations.0015_old_changes")


def written() -> list[dict[str, Any]]:
    """Return all rows of history but for the change that they are a part of."""
    rows = [*Pet.history.order_by("history_id").values()]
    for row in rows:
        del row["change_id"]
    return rows


def test_old_records_become_changes_and_can_be_undone() -> None:
    dogs, now = CategoryFactory(name="Dogs"), timezone.now()
    new, old, gone, back = (PetFactory(name=name, category=dogs) for name in ("New", "Old", "Gone", "Back"))
    run = ImportRun.objects.create(
        who="staff anna", file_name="a.csv", sha256="0", options={}, state="partly undone", created=2, updated=1,
        finished_at=now - timedelta(days=1),
    )  # fmt: skip
    Pet.history.filter(id__in=[new.pk, gone.pk]).update(import_run=run, actor=f"import {run.pk}")
    for pet, values in ((old, {"name": "Older"}), (back, {"status": "sold"})):
        Pet(pk=pet.pk, **({"name": pet.name, "category": dogs, "created_at": pet.created_at} | values)).save()
    edits = {row.id: row for row in Pet.history.filter(history_type="~")}
    Pet.history.filter(pk=edits[old.pk].pk).update(import_run=run)
    gone.delete()
    undone = Pet.history.latest("history_id")
    Pet.history.filter(pk=undone.pk).update(undo_of=run, actor=f"undo of {run} by staff bert", history_date=now)
    back.refresh_from_db()
    back.status = "available"
    back._change_reason = f"Undo of change {edits[back.pk].pk}"  # type: ignore[attr-defined]  # where simple-history looks
    back.save()
    before = written()
    MIGRATION._adopt(apps, None)
    MIGRATION._adopt(apps, None)  # stopped and run again, it does nothing twice
    assert written() == before
    run.refresh_from_db()
    told = Change.objects.order_by("pk").values_list(
        "kind", "who", "added", "changed", "deleted", "undo_of", "undo_of_row"
    )
    assert [*told] == [
        ("import", "staff anna", 2, 1, 0, None, None),
        ("undo", "staff bert", 0, 0, 1, run.change_id, None),
        ("undo", "", 0, 1, 0, None, edits[back.pk].pk),
    ]
    edit = activity.find(f"r{edits[back.pk].pk}")
    assert edit is not None
    assert edit.is_undone
    [imported, undo, of_edit] = Change.objects.order_by("pk")
    assert undoing.undo(undo).added == 1
    assert undoing.undo(of_edit).changed == 1
    assert undoing.undo(imported).deleted == 2
    assert [*Pet.objects.order_by("name").values_list("name", "status")] == [("Back", "sold"), ("Old", "available")]
    assert history_disagrees() == []


def test_an_undo_of_several_blocks_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MIGRATION, "BLOCK", 2)
    at, dogs = timezone.now(), CategoryFactory()
    run = ImportRun.objects.create(
        who="staff anna", file_name="a.csv", sha256="0", options={}, state="undone", created=3, finished_at=at
    )
    pets = [PetFactory(category=dogs) for _ in range(3)]
    Pet.history.update(import_run=run, actor=f"import {run.pk}")
    for pet in pets:
        pet.delete()
    undone = {"undo_of": run, "actor": f"undo of {run} by staff bert", "history_date": at}
    Pet.history.filter(history_type="-").update(**undone)
    MIGRATION._adopt(apps, None)
    run.refresh_from_db()
    imported = activity.find(str(run.change_id))
    assert imported is not None
    assert (imported.is_undone, undoing.why_not(imported)) == (True, "It was undone already, by bert.")


def test_animals_that_one_request_deleted_are_one_deletion() -> None:
    for name in ("Rex", "Max", "Tom"):
        PetFactory(name=name).delete()
    deleted = Pet.history.filter(history_type="-")
    deleted.update(request_id="deleted-1", actor="staff anna")
    deleted.filter(name="Max").update(request_id="deleted-2")
    MIGRATION._adopt(apps, None)
    deletion = Change.objects.get()
    assert (deletion.kind, deletion.who, deletion.deleted) == ("deletion", "staff anna", 2)
    assert undoing.undo(deletion).added == 2
    assert [*Pet.objects.order_by("name").values_list("name", flat=True)] == ["Rex", "Tom"]


def test_an_undo_that_the_release_before_made_beside_this_one_is_one() -> None:
    pet = PetFactory(name="Rex", status="available")
    made = {"who": "staff anna", "column": "status", "changed": 1}
    bulk = Change.objects.create(what="Status becomes Sold", **made)
    undo = Change.objects.create(what="Undo of bulk change 1: Status becomes Sold", undo_of=bulk, **made)
    for change, status in ((bulk, "sold"), (undo, "available")):
        pet.status = status
        pet.save()
        Pet.history.filter(pk=Pet.history.latest("history_id").pk).update(change=change)
    page = text_of(member("bert", "view_pet", "change_pet").get("/admin/activity/").content.decode())
    assert "undid “marked Rex sold”" in page
    found = activity.find(str(bulk.pk))
    assert found is not None
    assert (found.is_undone, undoing.why_not(found)) == (True, "It was undone already, by anna.")
