"""The history of an animal: its story by day, and its pages."""

import csv
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from changes.models import Change
from history import paging
from pets.models import ImportRun, Pet
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import PETS, ask, click, confirm, form_of, history_disagrees, member, seen, text_of, told


def edit(client: Client, pet: Pet, **changed: Any) -> None:
    pet.refresh_from_db()
    client.post(f"{PETS}{pet.pk}/change/", form_of(pet, **changed))


def page_of(client: Client, pet: Pet, query: str = "") -> str:
    return client.get(f"{PETS}{pet.pk}/history/{query}").content.decode()


def story(client: Client, pet: Pet, query: str = "") -> dict[str, list[str]]:
    """Return by day what is read of each change, and of what undoes it; but for the time of day."""
    days = re.findall('(?s)<h2 class="day"[^>]*>(.*?)</h2>(.*?)</section>', page_of(client, pet, query))
    event = "(?s)<li><span class=.mark.*?(?=<li><span class=.mark|</ol>)"
    return {
        text_of(day): [re.sub("[0-9:]{8} · ", "· ", text_of(each)) for each in re.findall(event, events)]
        for day, events in days
    }


def today() -> str:
    return f"Today, {timezone.now().day} {timezone.now():%B}"


def test_it_is_told_by_day_with_what_was_before_and_who_undid_it(staff: Client, rex: Pet) -> None:
    anna = member("anna", "view_pet", "change_pet")
    day = timezone.now() - timedelta(days=3)
    year = "" if day.year == timezone.now().year else f" {day.year}"
    Pet.history.update(history_date=day)
    edit(anna, rex, name="Max", external_reference="A-1")
    edit(anna, rex, category=CategoryFactory(name="<b>Cats</b>").pk)
    staff.post(f"/admin/activity/r{seen(rex)}/undo/")
    assert story(staff, rex) == {
        today(): [
            "keeper undid a move Category <b>Cats</b> becomes Dogs · back office Undo : undid a move",
            "anna moved it to another category Category Dogs becomes <b>Cats</b> · back office · As it was then Undone by keeper",
            "anna changed it Name Rex becomes Max Reference none becomes A-1"
            " · back office · As it was then Undo : changed it",
        ],
        f"{day:%A}, {day.day} {day:%B}{year}": ["A command or script added it · command · As it was then"],
    }
    assert [re.findall("<button[^>]*btn-small", page_of(member("vera", "view_pet"), rex))] == [[]]


def imported(pet: Pet, number: int, **columns: Any) -> ImportRun:
    """Let the row of history with that number be of an import that anna ran."""
    counts = {"added": columns.get("created", 0), "changed": columns.get("updated", 0)}
    change = Change.objects.create(kind="import", who="staff anna", what="<friday>.csv", column="", **counts)
    run = ImportRun.objects.create(
        who="staff anna", file_name="<friday>.csv", options={}, state="done", change=change, **columns
    )
    Pet.history.filter(pk=number).update(actor=str(run), change=change, import_line=1_007)
    return run


def test_an_import_is_told_by_who_ran_it_and_a_row_of_it_can_be_undone(staff: Client, rex: Pet) -> None:
    added = imported(rex, seen(rex), created=1)
    edit(staff, rex, name="Max")
    changed = imported(rex, seen(rex), updated=1)
    [[newest, first]] = story(staff, rex).values()
    assert newest == (
        f"anna updated it from <friday>.csv, line 1,007 Name Rex becomes Max · {changed} Undo…"
        " : imported <friday>.csv: 1 changed"
    )
    undo = "Undo… : imported <friday>.csv: 1 added"
    assert first == f"anna imported it from <friday>.csv, line 1,007 · {added} · As it was then {undo}"
    assert f'href="/admin/activity/i{changed.pk}/">&lt;friday&gt;.csv</a>' in page_of(staff, rex)
    staff.post(f"/admin/activity/r{seen(rex)}/undo/")
    assert Pet.objects.get().name == "Rex"
    [[_, undone, _]] = story(staff, rex).values()
    assert undone.endswith("Undone by keeper")
    assert history_disagrees() == []


def test_an_undone_import_is_told_by_who_undid_it(staff: Client, rex: Pet) -> None:
    run = imported(rex, seen(rex), created=1)
    number = rex.pk
    rex.delete()
    Pet.history.filter(pk=Pet.history.latest("pk").pk).update(actor=f"undo of {run} by staff tomasz", undo_of=run)
    rex.pk = number
    [[newest, _]] = story(staff, rex).values()
    assert newest == (f"tomasz undid {run}, which deleted it · undo of an import Undo : undid {run}, which deleted it")


def test_a_bulk_change_is_undone_by_who_may_edit(staff: Client, rex: Pet) -> None:
    other = PetFactory(status="available")
    confirm(staff, ask(staff, "become_sold", rex, other))
    bulk = Change.objects.get()
    [[newest, _]] = story(staff, rex).values()
    assert newest == (
        "keeper marked it sold Status Available becomes Sold · with 1 other Undo all 2… : marked 2 animals sold"
    )
    [[of_anna, _]] = story(member("anna", "view_pet", "change_pet"), rex).values()
    assert "Undo all 2…" in of_anna
    staff.post(f"/admin/activity/{bulk.pk}/undo/")
    [[undoing, undone, _]] = story(staff, rex).values()
    assert undoing.startswith("keeper undid a change of status Status Sold becomes Available")
    assert undone.endswith("As it was then Undone by keeper")


def test_one_click_undoes_a_status(staff: Client, rex: Pet) -> None:
    click(staff, rex, "sold")
    address, back = re.findall(
        'class="act"><form method="post" action="([^"]+)">.*?name="back" value="([^"]+)"', page_of(staff, rex)
    )[0]
    answer = staff.post(address, {"back": back}, follow=True)
    assert answer.redirect_chain[-1][0] == f"{PETS}{rex.pk}/history/"
    assert Pet.objects.get().status == "available"


def test_an_old_version_that_was_restored_is_told(staff: Client, rex: Pet) -> None:
    first = seen(rex)
    edit(staff, rex, name="Max")
    staff.post(f"{PETS}{rex.pk}/history/{first}/", {"seen": seen(rex)})
    [[newest, *_]] = story(staff, rex).values()
    assert newest.startswith("keeper restored an old version Name Max becomes Rex")


@pytest.fixture
def key(rex: Pet) -> Any:
    """The key that added Rex."""
    key = APIKeyFactory(name="Partner <shop>", contact="it@partner.example")
    Pet.history.filter(id=rex.pk).update(actor=f"key {key.key_id}", request_id="c5da&ddb-9")
    return key


def test_a_key_has_its_name_contact_and_request(staff: Client, rex: Pet, key: Any) -> None:
    [[added]] = story(staff, rex).values()
    assert added == "Partner <shop> added it · API · it@partner.example · request c5da&ddb…"
    assert 'href="/admin/request_desk/requestrecord/desk/?request_id=c5da%26ddb-9"' in page_of(staff, rex)
    [[hidden]] = story(member("vera", "view_pet"), rex).values()
    assert hidden == f"Key {key.key_id} added it · API"


@pytest.mark.usefixtures("key")
def test_a_conflict_and_an_undo_that_met_a_change_name_the_key(staff: Client, rex: Pet, key: Any) -> None:
    edit(staff, rex, name="Max")
    undo, stale = f"/admin/activity/r{seen(rex)}/undo/", form_of(rex, name="Typed")
    edit(staff, rex, name="Moritz")
    Pet.history.filter(pk=seen(rex)).update(actor=f"key {key.key_id}")
    by_name, by_id = "Partner <shop>", f"key {key.key_id}"
    for client, who, contact in (
        (staff, by_name, "it@partner.example"),
        (member("anna", "view_pet", "change_pet"), by_id, ""),
    ):
        *_, said = told(client.post(undo, follow=True))
        assert said.startswith(f"Nothing changed. “Moritz” ({rex.pk}): ")
        shown = text_of(client.post(f"{PETS}{rex.pk}/change/", stale).content.decode())
        assert f"Not saved. {who} changed this just now." in shown
        assert f"through the API{f' ({contact})' * bool(contact)}." in shown


# --- Pages -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def renamed(rex: Pet, monkeypatch: pytest.MonkeyPatch) -> Pet:
    """Rex, named 1 to 5 in turn, so that he has three pages of two changes."""
    monkeypatch.setattr(paging, "PER_PAGE", 2)
    for number in range(1, 6):
        rex.name = str(number)
        rex.save()
    return rex


def links(client: Client, pet: Pet, query: str) -> dict[str, str]:
    return {
        rel: query.replace("&amp;", "&")
        for rel, query in re.findall('rel="(next)" href="([^"]+)"', page_of(client, pet, query))
    }


def becomes(client: Client, pet: Pet, query: str) -> list[str]:
    return re.findall("<ins>(.*?)</ins>", page_of(client, pet, query))


def test_pages_lead_to_each_other(staff: Client, renamed: Pet) -> None:
    first = ""
    second = links(staff, renamed, first)["next"]
    last = links(staff, renamed, second)["next"]
    assert [becomes(staff, renamed, page) for page in (first, second, last)] == [["5", "4"], ["3", "2"], ["1"]]
    assert [list(links(staff, renamed, page)) for page in (first, second, last)] == [["next"], ["next"], []]
    assert [">Newest</a>" in page_of(staff, renamed, page).replace("\n", "") for page in (first, last)] == [False, True]


@pytest.mark.parametrize("query", ["before=1", "before=x", "before=" + "9" * 18, "after=1", "p=2"])
def test_a_page_that_is_none_is_the_first(staff: Client, renamed: Pet, query: str) -> None:
    assert becomes(staff, renamed, f"?{query}") == ["5", "4"]


def test_a_long_history_is_not_counted_and_needs_no_more_statements(staff: Client, renamed: Pet) -> None:
    for query in ("", links(staff, renamed, "")["next"]):
        with CaptureQueriesContext(connection) as queries:
            page_of(staff, renamed, query)
        statements = [each["sql"] for each in queries]
        assert [sql for sql in statements if "COUNT(" in sql.upper() or " OFFSET " in sql.upper()] == []
        assert len(statements) <= 8, "\n".join(statements)


def test_its_export_is_that_of_activity_for_it(staff: Client, rex: Pet) -> None:
    PetFactory(name="Another")
    edit(staff, rex, name="Max")
    [link] = re.findall('href="(/admin/activity/csv/[^"]*)"', page_of(staff, rex))
    answer: Any = staff.get(link)
    lines = csv.DictReader(StringIO(b"".join(answer.streaming_content).decode()))
    assert [line["what"] for line in lines] == ["renamed Rex to Max", "added Rex"]
    assert "/activity/csv/" not in page_of(member("vera", "view_pet"), rex)
