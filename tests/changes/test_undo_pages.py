"""The pages around an undo: what it would do, animal by animal, and what it did."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from categories.models import Category
from changes.models import Change
from pets.models import Pet
from tests.factories import PetFactory
from tests.pets.office import ask, click, confirm, member, text_of, told

pytestmark = pytest.mark.django_db(transaction=True)

ACTIVITY = "/admin/activity/"


@pytest.fixture
def bob() -> Client:
    return member("bob", superuser=True)


@pytest.fixture
def autumn(category: Category, tmp_path: Path) -> Change:
    """An import that added Ann, Ben and Cid, and marked Rex and Tom sold."""
    old = [PetFactory(name=name, category=category, external_reference=name) for name in ("Rex", "Tom")]
    file = tmp_path / "autumn.csv"
    rows = [("Ann", "pending"), ("Ben", "available"), ("Cid", "available"), *((pet.name, "sold") for pet in old)]
    lines = ("name,category,status,external_reference", *(f"{name},Dogs,{status},{name}" for name, status in rows))
    file.write_text("\n".join(lines))
    call_command("import_pets", str(file), verbosity=0)
    return Change.objects.get()


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("changes.preview.LISTED", 2)


@pytest.fixture
def looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An undo of more animals than these is not looked at whole before it is done."""
    monkeypatch.setattr("changes.preview.BLOCK", request.param)


def rows(page: Any) -> list[str]:
    """Return the rows of the last table of a page, without what is small."""
    table = page.content.decode().rpartition("<tbody>")[2]
    cells = [re.sub("(?s)<small>.*?</small>", "", row) for row in re.findall("(?s)<tr>(.*?)</tr>", table)]
    return [text_of(row) for row in cells]


def on_all_pages(client: Client, address: str) -> list[list[str]]:
    found, query = [], "?"
    while query:
        page = client.get(address + query)
        found.append(rows(page))
        following = re.search(r'rel="next" href="([^"]*)"', page.content.decode())
        query = html.unescape(following[1]) if following else ""
        assert len(found) < 9
    return found


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize("looked_at", [1_000, 1], indirect=True)
def test_an_undo_says_all_that_it_would_do_and_pages_through_each_animal(bob: Client, autumn: Change) -> None:
    address = f"{ACTIVITY}{autumn.key}/undo/"
    page = bob.get(address).content.decode()
    assert "<h1>Undo: delete 3 animals and set back 2?</h1>" in page
    [button] = re.findall('(?s)<button type="submit" class="btn ([^"]*)" data-busy.*?>(.*?)</button>', page)
    assert (button[0], text_of(button[1])) == ("btn-danger default", "Undo: delete 3 animals and set back 2")
    assert "Deleted 3 Set back 2" in text_of(page)
    assert on_all_pages(bob, address) == [
        ["Ann Pending becomes Deleted", "Ben Available becomes Deleted"],
        ["Cid Available becomes Deleted"],
    ]
    assert rows(bob.get(f"{address}?show=set-back")) == [
        "Rex Status Sold becomes Available",
        "Tom Status Sold becomes Available",
    ]
    assert rows(bob.get(f"{address}?show=none&after=x")) == on_all_pages(bob, address)[0]


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize(
    ("looked_at", "title", "shown"),
    [
        (1_000, "Undo: delete 2 animals and set back 2? 1 stays.", [["Ann Pending becomes Deleted", "Cid Available becomes Deleted"]]),
        (1, "Undo: delete 3 animals and set back 2?", [["Ann Pending becomes Deleted", "Ben Changed since bob, Just now"], ["Cid Available becomes Deleted"]]),
    ],
    indirect=["looked_at"],
)  # fmt: skip
def test_what_stays_is_not_among_what_goes_or_says_why(
    bob: Client, autumn: Change, title: str, shown: list[list[str]]
) -> None:
    click(bob, Pet.objects.get(name="Ben"), "sold")
    address = f"{ACTIVITY}{autumn.key}/undo/"
    page = bob.get(address)
    assert f"<h1>{title}</h1>" in page.content.decode()
    assert [re.sub("<small.*?</small>", "", row) for row in on_all_pages(bob, address)[0]] == shown[0]
    assert on_all_pages(bob, address) == shown


def test_those_that_stay_have_pages_too_if_they_are_many(bob: Client, autumn: Change) -> None:
    for pet in Pet.objects.all():
        click(bob, pet, "sold" if pet.status != "sold" else "pending")
    address = f"{ACTIVITY}{autumn.key}/undo/"
    page = bob.get(address).content.decode()
    assert "<h1>Undo would change nothing</h1>" in page
    assert "Stay 5" in text_of(page)
    names = [[row.split()[0] for row in part] for part in on_all_pages(bob, address)]
    assert names == [["Rex", "Tom"], ["Ann", "Ben"], ["Cid"]]


def test_undoing_an_undo_is_to_redo_and_undoing_that_to_undo(bob: Client, autumn: Change) -> None:
    titles = []
    for _ in range(3):
        address = f"{ACTIVITY}{Change.objects.latest('pk').key}/undo/"
        found = re.search("<h1>(.*?)</h1>", bob.get(address).content.decode())
        titles.append(found and found[1])
        bob.post(address)
    assert titles == [
        "Undo: delete 3 animals and set back 2?",
        "Redo: restore 3 animals and change 2?",
        "Undo: delete 3 animals and set back 2?",
    ]


def now_of(client: Client, key: str, query: str = "") -> dict[str, str]:
    """Return what the page of a change says that its animals are now."""
    page = client.get(f"{ACTIVITY}{key}/{query}").content.decode()
    lines = re.findall(r'(?s)<div class="named">(.*?)</div>.*?<td[^>]*>(?:(?!<td).)*</td>\s*<td[^>]*>(.*?)</td>', page)
    return {text_of(name.partition("<small>")[0]): text_of(now) for name, now in lines}


def test_what_an_undo_did_is_not_what_others_changed_since(bob: Client, autumn: Change) -> None:
    ben, rex = Pet.objects.get(name="Ben"), Pet.objects.get(name="Rex")
    click(bob, ben, "sold")
    rex.name = "Rexy"
    rex.save()
    address = f"{ACTIVITY}{autumn.key}/"
    bob.post(f"{address}undo/")
    undone = {
        "Rex": "Now Set back: Available",
        "Tom": "Now Set back: Available",
        "Ann": "Now Deleted by the undo",
        "Ben": "Now Sold bob, Just now",
        "Cid": "Now Deleted by the undo",
    }
    assert now_of(bob, autumn.key) == undone
    page = text_of(bob.get(address).content.decode())
    assert "All 5 Changed 2 Added 3 Changed since 2" in page
    assert "bob undid it just now. 2 animals were deleted, 2 set back. 1 stayed as it was. Show the undo Redo…" in page
    assert now_of(bob, autumn.key, "?show=since") == {name: undone[name] for name in ("Rex", "Ben")}
    click(bob, rex, "pending")
    assert now_of(bob, autumn.key)["Rex"] == "Now Pending bob, Just now"


def test_what_was_redone_is_as_the_change_left_it(bob: Client, autumn: Change) -> None:
    for _ in range(2):
        bob.post(f"{ACTIVITY}{Change.objects.latest('pk').key}/undo/")
    assert set(now_of(bob, autumn.key).values()) == {"As it was set"}
    assert "Changed since" not in text_of(bob.get(f"{ACTIVITY}{autumn.key}/").content.decode())
    undo = Change.objects.get(undo_of=autumn)
    page = text_of(bob.get(f"{ACTIVITY}{undo.key}/").content.decode())
    assert "bob redid it just now. 3 animals were restored, 2 changed. Show the redo Undo…" in page
    assert set(now_of(bob, undo.key).values()) == {"Now Restored by the undo", "Now Set back: Sold"}


@pytest.fixture
def deleted(bob: Client, category: Category, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a deletion of five animals, two on a page."""
    monkeypatch.setattr("changes.admin.change.LISTED", 2)
    pets = [PetFactory(name=name, category=category) for name in ("Ann", "Ben", "Cid", "Dot", "Eve")]
    confirm(bob, ask(bob, "delete_selected", *pets), post="yes")
    return f"{ACTIVITY}{Change.objects.get().key}/"


def press(client: Client, page: Any, button: str, *ticks: str) -> Any:
    """Send the form of a page as a browser does that ticks just these animals and presses a button."""
    form = page.content.decode().rpartition('<form method="post"')[2].partition("</form>")[0]
    boxes = {
        name: number for number, name in re.findall(r'name="animal" value="(\d+)" aria-label="Choose (\w+),', form)
    }
    sent = dict(re.findall('<input type="hidden" name="(chosen|show|back)" value="(.*?)"', form))
    for markup, label in re.findall('(?s)<button type="submit"([^>]*)>(.*?)</button>', form):
        if text_of(label) == button:
            sent |= dict(re.findall('name="(.*?)" value="(.*?)"', markup))
            other = re.search('formaction="(.*?)"', markup)
            target = other[1] if other else page.request["PATH_INFO"]
            return client.post(target, sent | {"animal": [boxes[name] for name in ticks]}, follow=True)
    raise AssertionError(button)


def ticked(page: Any) -> dict[str, bool]:
    boxes = re.findall(r'aria-label="Choose (\w+), \d+"( checked)?', page.content.decode())
    return {name: bool(checked) for name, checked in boxes}


def test_chosen_animals_outlive_paging_and_are_restored_after_a_preview(bob: Client, deleted: str) -> None:
    first = bob.get(deleted)
    assert ticked(first) == {"Ann": False, "Ben": False}
    second = press(bob, first, "Next", "Ben")
    assert ticked(second) == {"Cid": False, "Dot": False}
    assert "1 chosen on other pages" in text_of(second.content.decode())
    third = press(bob, second, "Next", "Dot", "Cid")
    again = press(bob, third, "First page", "Eve")
    assert ticked(again) == {"Ann": False, "Ben": True}
    chosen = press(bob, again, "Chosen", "Ben")
    assert ticked(chosen) == {"Ben": True, "Cid": True}
    rest = press(bob, chosen, "Next", "Ben")
    assert ticked(rest) == {"Dot": True, "Eve": True}
    asked = press(bob, rest, "Restore chosen…", "Dot", "Eve")
    page = asked.content.decode()
    assert "<h1>Restore 3 of 5 animals?</h1>" in page
    assert "3 animals Restored With their ID, reference and history. 2 animals Not chosen" in text_of(page)
    assert rows(asked) == ["Ben Deleted becomes Available", "Dot Deleted becomes Available"]
    assert "?show=" not in page, "a link would lose what was chosen"
    assert rows(press(bob, asked, "Next")) == ["Eve Deleted becomes Available"]
    assert ticked(press(bob, asked, "Back to the list")) == {"Ann": False, "Ben": True}
    assert not Pet.objects.exists()
    assert told(press(bob, asked, "Restore 3 animals")) == ["Restored 3 animals."]
    assert [*Pet.objects.order_by("name").values_list("name", flat=True)] == ["Ben", "Dot", "Eve"]
    left = bob.get(deleted)
    assert ticked(left) == {"Ann": False}
    assert "Restored by the undo" in text_of(left.content.decode())


def test_all_are_restored_in_the_same_words_and_none_by_mistake(bob: Client, deleted: str) -> None:
    first = bob.get(deleted)
    assert f'href="{deleted}undo/"' in first.content.decode()
    assert "Restore all 5…" in text_of(first.content.decode())
    assert "<h1>Restore 5 animals?</h1>" in bob.get(f"{deleted}undo/").content.decode()
    for button in ("Restore chosen…", "Choose none"):
        assert not any(ticked(press(bob, first, button)).values())
    assert told(press(bob, first, "Restore chosen…")) == ["Nothing changed. Choose 1 to 1,000 animals."]
    for sent in ("", "x", ",,", ",".join(map(str, range(1, 1_002)))):
        assert told(bob.post(f"{deleted}undo/", {"chosen": sent}, follow=True)) == [
            "Nothing changed. Choose 1 to 1,000 animals."
        ]
    assert ticked(press(bob, press(bob, first, "Next", "Ann"), "Choose none")) == {"Ann": False, "Ben": False}
    assert not Pet.objects.exists()
