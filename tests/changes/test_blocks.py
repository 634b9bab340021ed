"""Bulk changes of any size: block by block, stopped, interrupted, continued and undone."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg.errors import QueryCanceled, TransactionTimeout

from categories.models import Category
from changes import attempts, preview
from changes import undo as undoing
from changes.bulk import Target, begin
from changes.models import Change, SelectedBlock, Selection
from history.acting import acting, end_request, identify
from pets.models import Pet, StockMovement
from pets.sql import execute
from petstore_site import work
from tests.factories import CategoryFactory, PetFactory, set_days
from tests.pets.office import PETS, ask, confirm, history_disagrees, member, text_of, told, work_off
from tests.racing import patient

BULK = "/admin/activity/"
SALE = date(2026, 1, 5)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two animals, selected three at a time."""
    monkeypatch.setattr("changes.bulk.BLOCK", 2)
    monkeypatch.setattr("changes.undo.BLOCK", 2)
    monkeypatch.setattr("changes.plan.BLOCK", 2)
    monkeypatch.setattr(preview, "BLOCK", 2)
    monkeypatch.setattr("changes.bulk.READ", 3)


@pytest.fixture
def five(category: Category) -> list[Pet]:
    return [PetFactory(name=f"Rex {number}", category=category) for number in range(5)]


def statuses() -> list[str]:
    return list(Pet.objects.order_by("pk").values_list("status", flat=True))


def begun(client: Client, *pets: Pet) -> Change:
    """Confirm a change of all animals in a process that is killed before the first block."""
    selection = Selection.objects.get(pk=ask(client, "become_sold", *pets, across=True).context["selection"].pk)
    identify("staff keeper")
    bulk = begin(selection, Target("status", "sold", "sold"))
    end_request()
    return bulk


def interrupt(bulk: Change) -> None:
    """Let the last block be long ago."""
    Change.objects.filter(pk=bulk.pk).update(worked_at=timezone.now() - timedelta(seconds=21))


def page_of(client: Client, bulk: Change) -> str:
    return text_of(client.get(f"{BULK}{bulk.pk}/").content.decode())


def test_all_that_match_are_changed_in_one_record_and_undone_in_one(
    staff: Client, five: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(staff, "become_sold", five[0], query="?status__exact=available", across=True)
    assert asked.context["title"] == "Mark 5 animals sold?"
    assert asked.context["counts"] == [("available", "sold", 5)]
    assert "2 of 5 shown" in text_of(asked.content.decode())
    assert [block.size for block in SelectedBlock.objects.order_by("pk")] == [2, 1, 2]
    confirm(staff, asked)
    work_off()
    made = Change.objects.get()
    assert "keeper marked 5 animals sold" in page_of(staff, made)
    assert (made.state, made.changed, made.left_count, statuses()) == ("done", 5, 0, ["sold"] * 5)
    assert not SelectedBlock.objects.exists()
    monkeypatch.setattr("changes.preview.LISTED", 1)
    with CaptureQueriesContext(connection) as queries:
        asked = text_of(staff.get(f"{BULK}{made.pk}/undo/").content.decode())
    for shown in ("5 animals Set back", "Set back 5", "Animals that someone changed since stay as they are"):
        assert shown in asked
    [looked] = [query["sql"] for query in queries if "FROM pets_petchange h" in query["sql"]]
    assert "," not in looked.partition("WHERE h.history_id")[2].partition("ORDER BY")[0], "only the one that is named"
    staff.post(f"{BULK}{made.pk}/undo/")
    work_off()
    assert statuses() == ["available"] * 5
    assert [change.changed for change in made.undoings.all()] == [5]
    assert history_disagrees() == []


def test_what_is_counted_by_category_is_moved(staff: Client, five: list[Pet]) -> None:
    cats, birds = CategoryFactory(name="Cats"), CategoryFactory(name="Birds")
    for pet, category in ((five[0], cats), (five[4], birds)):
        pet.category = category
        pet.save()
    address = ask(staff, "become_category", five[0], across=True).redirect_chain[-1][0]
    asked = staff.get(address, {"category": cats.pk})
    assert asked.context["title"] == "Move 4 animals to Cats?"
    assert sorted(asked.context["counts"]) == [("Birds", "Cats", 1), ("Dogs", "Cats", 3)]
    assert (asked.context["count"], asked.context["already"]) == (4, 1)
    staff.post(address, {"category": cats.pk})
    work_off()
    assert Change.objects.get().changed == 4
    staff.post(f"{BULK}{Change.objects.get().pk}/undo/")
    work_off()
    assert list(Pet.objects.order_by("pk").values_list("category__name", flat=True)) == [
        *("Cats", "Dogs", "Dogs", "Dogs", "Birds")
    ]


def test_each_animal_gets_the_day_of_its_sale_back(staff: Client, five: list[Pet]) -> None:
    """The blocks are done at different times, and the sales of each ended then."""
    for pet in five:
        pet.status = "sold"
        pet.save()
    days = [SALE + timedelta(days=number) for number in range(5)]
    for pet, day in zip(five, days, strict=True):
        set_days(day, id=pet.pk)
    confirm(staff, ask(staff, "become_pending", five[0], across=True))
    work_off()
    assert not Pet.objects.exclude(sold_on=None)
    staff.post(f"{BULK}{Change.objects.get().pk}/undo/")
    work_off()
    assert statuses() == ["sold"] * 5
    assert list(Pet.objects.order_by("pk").values_list("sold_on", flat=True)) == days


def test_the_first_that_were_left_are_listed_and_all_are_counted(
    staff: Client, five: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("changes.bulk.LEFT_LISTED", 1)
    asked = ask(staff, "become_sold", five[0], across=True)
    for pet in five[:3]:
        pet.name = f"{pet.name} II"
        pet.save()
    confirm(staff, asked)
    work_off()
    made = Change.objects.get()
    assert (made.changed, made.left_count, len(made.left)) == (2, 3, 1)
    assert f"Left as they are 3 Rex 0 II changed since · {five[0].pk}" in page_of(staff, made)


def test_a_killed_process_leaves_what_it_did_and_another_goes_on(staff: Client, five: list[Pet]) -> None:
    bulk = begun(staff, five[0])
    assert undoing.advance(bulk.pk)
    assert "2 of 5 animals" in page_of(staff, bulk)
    rejected = "Nothing changed. It is running. Wait, or stop it, then undo it."
    assert told(staff.post(f"{BULK}{bulk.pk}/undo/", follow=True)) == [rejected]
    assert "Waiting" not in page_of(staff, bulk)
    interrupt(bulk)
    page = page_of(staff, bulk)
    assert re.search(r"Waiting for the worker For 2\d seconds\. 2 of 5 animals are done\.", page)
    assert "Ask an operator if this lasts longer than a minute." in page
    assert "running, or the database can’t save what it does." in page  # noqa: RUF001
    work_off()
    bulk.refresh_from_db()
    assert (statuses(), bulk.state, bulk.changed) == (["sold"] * 5, "done", 5)
    assert {row.actor for row in Pet.history.filter(change=bulk)} == {"staff keeper"}
    assert history_disagrees() == []


def test_anyone_who_can_change_animals_can_stop_it_and_what_was_done_can_be_undone(
    staff: Client, five: list[Pet]
) -> None:
    bulk = begun(staff, five[0])
    undoing.advance(bulk.pk)
    other = member("other", "view_pet", "change_pet")
    other.post(f"{BULK}{bulk.pk}/stop/")
    assert not undoing.advance(bulk.pk)
    bulk.refresh_from_db()
    assert (bulk.state, bulk.outcome, bulk.changed, bulk.unreached) == ("stopped", "Stopped by other.", 2, 3)
    assert "keeper marked 2 of 5 animals sold Stopped" in page_of(staff, bulk)
    assert "Stopped by other." in page_of(staff, bulk)
    other.post(f"{BULK}{bulk.pk}/stop/")
    assert told(staff.post(f"{BULK}{bulk.pk}/undo/", follow=True)) == ["Undid “marked 2 of 5 animals sold”."]
    assert statuses() == ["available"] * 5
    assert history_disagrees() == []


def test_it_stops_when_the_account_of_its_owner_is_deleted(staff: Client, five: list[Pet]) -> None:
    bulk = begun(member("anna", "view_pet", "change_pet"), five[0])
    assert undoing.advance(bulk.pk)
    anna = User.objects.get(username="anna")
    root = member("root", superuser=True)
    assert root.post(f"/admin/auth/user/{anna.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not undoing.advance(bulk.pk)
    bulk.refresh_from_db()
    assert (bulk.state, bulk.outcome, bulk.changed, bulk.unreached) == ("stopped", undoing.OWNER_GONE, 2, 3)
    assert "The account of its owner was deleted" in page_of(staff, bulk)
    assert not SelectedBlock.objects.exists()


def test_an_undo_stops_too_when_the_account_of_who_began_it_is_deleted(staff: Client, five: list[Pet]) -> None:
    bulk = begun(staff, *five)
    work_off()
    member("anna", "view_pet", "change_pet")
    undo = undoing.begin(Change.objects.get(pk=bulk.pk), user=User.objects.get(username="anna"))
    assert undoing.advance(undo.pk)
    User.objects.get(username="anna").delete()
    work_off()
    undo.refresh_from_db()
    assert (undo.state, undo.outcome, undo.changed) == ("stopped", undoing.OWNER_GONE, 2)
    assert statuses() == ["sold"] * 3 + ["available"] * 2


def test_one_that_runs_for_more_than_a_day_is_kept_when_others_select(staff: Client, five: list[Pet]) -> None:
    bulk = begun(staff, *five)
    Selection.objects.update(made_at=timezone.now() - timedelta(days=2))
    ask(staff, "become_pending", five[0])
    work_off()
    bulk.refresh_from_db()
    assert (bulk.state, bulk.changed, statuses()) == ("done", 5, ["sold"] * 5)


def test_a_selection_that_is_confirmed_twice_at_once_is_one_bulk_change(staff: Client, five: list[Pet]) -> None:
    asked = ask(staff, "become_sold", *five).context["selection"].pk
    first, second = Selection.objects.get(pk=asked), Selection.objects.get(pk=asked)
    made = begin(first, Target("status", "sold", "sold"))
    assert begin(second, Target("status", "pending", "pending")) == made
    assert [bulk.what for bulk in Change.objects.all()] == ["Status becomes sold"]


def test_it_stops_when_its_category_is_deleted(staff: Client, five: list[Pet]) -> None:
    cats = CategoryFactory(name="Cats")
    selection = ask(staff, "become_category", five[0], across=True).context["selection"]
    bulk = begin(selection, Target("category_id", cats.pk, "Cats"))
    cats.delete()
    interrupt(bulk)
    work_off()
    bulk.refresh_from_db()
    assert (bulk.state, bulk.outcome, bulk.unreached) == ("stopped", "Its category was deleted.", 5)


@contextmanager
def broken_history() -> Iterator[None]:
    """Let the database reject rows of history."""
    broken, whole = {
        "postgresql": (
            "ALTER TABLE pets_petchange ADD CONSTRAINT broken CHECK (bulk_change_id IS NULL) NOT VALID",
            "ALTER TABLE pets_petchange DROP CONSTRAINT broken",
        ),
        "sqlite": (
            "CREATE TRIGGER broken BEFORE INSERT ON pets_petchange BEGIN SELECT RAISE(ABORT, 'broken'); END",
            "DROP TRIGGER broken",
        ),
    }[connection.vendor]
    execute(broken)
    try:
        yield
    finally:
        execute(whole)


@pytest.mark.django_db(transaction=True)
def test_what_is_more_than_a_block_goes_on_behind_its_page(staff: Client, five: list[Pet]) -> None:
    page = confirm(staff, ask(staff, "become_sold", five[0], across=True))
    made = Change.objects.get()
    assert page.redirect_chain == [(f"{BULK}{made.pk}/", 302)]
    assert (made.state, made.changed) == ("running", 2)
    work_off()
    made.refresh_from_db()
    assert (made.state, made.changed, statuses()) == ("done", 5, ["sold"] * 5)
    assert StockMovement.objects.count() == 2  # one for the day, one for the status
    rows = Pet.history.filter(change=made)
    assert {(row.actor, row.history_user.username) for row in rows} == {("staff keeper", "keeper")}
    assert {row.request_id for row in rows} == {made.request_id} != {""}


@pytest.mark.django_db(transaction=True)
def test_a_block_that_fails_five_times_in_a_row_ends_its_change_and_no_other(
    staff: Client, five: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "TRY_AGAIN", 0)
    bulk, worker, requests = begun(staff, *five), work.WorkLoop(), set[str]()
    Change.objects.filter(pk=bulk.pk).update(request_id="7f3c2a9e")
    monkeypatch.setattr(work.logger, "error", lambda *_, **__: requests.add(acting().request_id))
    with broken_history():
        for _ in range(4):
            worker.step()
        assert page_of(staff, bulk).count("Stopped") == 0
    worker.step()  # only failures in a row count
    with broken_history():
        for _ in range(6):
            worker.step()
    bulk.refresh_from_db()
    assert (bulk.state, bulk.outcome, bulk.changed) == ("stopped", attempts.GIVEN_UP, 2)
    assert requests == {"7f3c2a9e"}
    other = begun(staff, *five)
    assert bulk.animals == 2
    while worker.step():
        pass
    other.refresh_from_db()
    assert (other.state, statuses()) == ("done", ["sold"] * 5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("cause", "state"), [(None, "running"), (QueryCanceled(), "stopped"), (TransactionTimeout(), "stopped")]
)
def test_while_the_database_is_away_no_block_fails_but_one_that_takes_too_long(
    staff: Client, five: list[Pet], monkeypatch: pytest.MonkeyPatch, cause: Exception | None, state: str
) -> None:
    monkeypatch.setattr(work, "TRY_AGAIN", 0)
    failure = OperationalError("away")
    failure.__cause__ = cause
    monkeypatch.setattr(undoing, "advance", Mock(side_effect=failure))
    bulk, worker = begun(staff, *five), work.WorkLoop()
    for _ in range(attempts.KILLS + 1):
        worker.step()
    bulk.refresh_from_db()
    assert (bulk.state, bulk.kills == 0) == (state, state == "running")


@pytest.mark.django_db(transaction=True)
def test_someone_who_lost_the_right_meanwhile_changes_nothing_more(five: list[Pet]) -> None:
    anna = member("anna", "view_pet", "change_pet")
    bulk, worker = begun(anna, *five), work.WorkLoop()
    worker.step()
    User.objects.get(username="anna").user_permissions.clear()
    worker.step()
    bulk.refresh_from_db()
    reason = "keeper can no longer do this, so it was stopped."  # whom `begun` names
    assert (bulk.state, bulk.outcome, bulk.changed, statuses().count("sold")) == ("stopped", reason, 2, 2)


@pytest.mark.django_db(transaction=True)
@pytest.mark.each_database
def test_two_people_who_confirm_the_same_change_each_animal_once(staff: Client, five: list[Pet]) -> None:
    anna = member("anna", "view_pet", "change_pet")
    asked = [(each, ask(each, "become_sold", five[0], across=True)) for each in (staff, anna)]

    def press(each: tuple[Client, Any]) -> None:
        confirm(*each)
        connections.close_all()

    with patient(), ThreadPoolExecutor(2) as pool:
        list(pool.map(press, asked))
    work_off()
    made = Change.objects.all()
    assert {change.state for change in made} == {"done"}
    assert sum(change.changed for change in made) == 5
    assert sum(change.left_count for change in made) == 5
    assert Pet.history.filter(change__isnull=False).count() == 5
    assert statuses() == ["sold"] * 5
    assert history_disagrees() == []


def test_the_list_offers_it_without_script(staff: Client, five: list[Pet], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pets.admin.animals.PetAdmin.list_per_page", 2)
    page = staff.get(PETS).content.decode()
    box = '<noscript><label><input type="checkbox" name="select_across" value="1"> Select all 5</label></noscript>'
    assert box in page
    across = {"action": "become_sold", "index": 0, "_selected_action": five[0].pk, "select_across": ["0", "1"]}
    assert staff.post(PETS, across, follow=True).context["count"] == 5
