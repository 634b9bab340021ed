"""Merging a category into another, and undoing it: one change of any size."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes import log, merging
from changes import undo as undoing
from changes.models import Change
from history.acting import identify
from pets import stock
from pets.models import Pet
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import history_disagrees, member, text_of, told, work_off

pytestmark = pytest.mark.django_db(transaction=True)

MERGE = "/admin/categories/category/merge/"
CATEGORIES = "/admin/categories/category/"


@pytest.fixture
def staff() -> Client:
    return member("anna", superuser=True)


@pytest.fixture
def cats() -> Category:
    return CategoryFactory(name="Cats")


@pytest.fixture
def old(cats: Category) -> Category:
    """A category of three animals; one is sold, and one of the other category is there too."""
    old = CategoryFactory(name="Cats (old)", icon="cat")
    Category.objects.filter(pk=old.pk).update(created_at=datetime(2026, 1, 2, tzinfo=UTC))
    Category.history.filter(id=old.pk).update(history_date=datetime(2026, 1, 2, tzinfo=UTC))
    for name in ("Rex", "Tom"):
        PetFactory(name=name, category=old, status="available")
    PetFactory(name="Pip", category=old, status="sold", sold_on=date(2026, 1, 5))
    PetFactory(name="Mia", category=cats)
    return old


@pytest.fixture(autouse=True)
def consistent() -> Iterator[None]:
    yield
    assert (history_disagrees(), stock.differences()) == ([], [])


def there() -> dict[str, str]:
    return dict(Pet.objects.order_by("pk").values_list("name", "category__name"))


def merge(client: Client, category: Category, into: Category, **sent: Any) -> Any:
    """Confirm on the page that asks, and return the page that it leads to."""
    asked = client.get(MERGE, {"keep": into.pk, "merge": category.pk})
    what = re.search('name="what" value="(.*?)"', asked.content.decode())
    sent = {"what": what[1] if what else "", "keep": into.pk, "merge": category.pk} | sent
    return client.post(f"{MERGE}?keep={into.pk}&merge={category.pk}", sent, follow=True)


def made() -> Any:
    return log.changes(log.Filters(), count=1)[0][0]


def undo(client: Client, change: Change) -> list[str]:
    return told(client.post(f"/admin/activity/{change.key}/undo/", follow=True))


BEFORE = {"Rex": "Cats (old)", "Tom": "Cats (old)", "Pip": "Cats (old)", "Mia": "Cats"}
AFTER = dict.fromkeys(BEFORE, "Cats")


def test_a_merge_is_one_change_that_several_people_undo_and_redo(staff: Client, old: Category, cats: Category) -> None:
    page = text_of(staff.get(MERGE, {"keep": cats.pk, "merge": old.pk}).content.decode())
    assert (
        "3 animals move from Cats (old) to Cats Cats (old) Deleted 3 to 0 animals 2 available, 0 pending, 1 sold"
        in page
    )
    assert "Cats Kept 1 to 4 animals 3 available, 0 pending, 1 sold" in page
    assert there() == BEFORE
    answer = merge(staff, old, cats)
    assert (answer.redirect_chain, told(answer)) == ([(CATEGORIES, 302)], ["Merged Cats (old) into Cats."])
    merged = made()
    assert f'href="/admin/activity/{merged.key}/undo/"' in answer.content.decode()
    page = text_of(staff.get(f"/admin/activity/{merged.key}/").content.decode())
    assert page.count("Category Cats (old) becomes Cats") == 3
    assert f"The category “Cats (old)” (ID {old.pk}) was deleted." in page
    assert "3 animals Cats (old) becomes Cats" in page
    fields = ("kind", "state", "who", "what", "changed", "left_count")
    assert [getattr(merged, name) for name in fields] == ["merge", "done", "staff anna", "Cats (old) into Cats", 3, 0]
    bert, kept = member("bert", superuser=True), Category.history.filter(id=old.pk).values("name", "icon").first()
    for client, expected in ((bert, BEFORE), (staff, AFTER), (bert, BEFORE), (staff, AFTER), (bert, BEFORE)):
        undo(client, made())
        page = text_of(client.get(f"/admin/activity/{made().key}/").content.decode())
        is_back = f"The category “Cats (old)” is back, with its ID {old.pk}." in page
        assert (is_back, f"“Cats (old)” (ID {old.pk}) was deleted." in page) == (expected == BEFORE, expected == AFTER)
        assert there() == expected
        assert Category.objects.filter(pk=old.pk).exists() == (expected == BEFORE)
        assert [*Pet.objects.values_list("sold_on", flat=True).exclude(sold_on=None)] == [date(2026, 1, 5)]
    back = Category.objects.get(pk=old.pk)
    assert ({"name": back.name, "icon": back.icon}, back.created_at) == (kept, datetime(2026, 1, 2, tzinfo=UTC))
    rows = Category.history.filter(id=old.pk).order_by("history_id").values_list("history_type", "actor")
    assert [*rows] == [("+", ""), *[("-", "staff anna"), ("+", "staff bert")] * 3]
    assert Pet.history.filter(name="Rex").count() == 7


def test_its_name_can_be_taken_meanwhile(staff: Client, old: Category, cats: Category) -> None:
    merge(staff, old, cats)
    merged, new = made(), CategoryFactory(name="Cats (old)")
    reason = "another category has the name of its former one now"
    assert reason.capitalize() in text_of(staff.get(f"/admin/activity/{merged.key}/undo/").content.decode())
    [message] = undo(staff, merged)
    assert message.startswith("Nothing changed. “Pip”")
    assert message.count(reason) == 3
    assert (there(), Change.objects.count()) == (AFTER, 1)
    new.delete()
    undo(staff, merged)
    assert there() == BEFORE


def test_what_it_was_merged_into_can_be_merged_too(staff: Client, old: Category, cats: Category) -> None:
    pets = CategoryFactory(name="Pets")
    merge(staff, old, cats)
    first = made()
    merge(staff, cats, pets)
    second = made()
    [message] = undo(staff, first)
    assert message.count("changed since") == 3
    assert [*Category.objects.values_list("name", flat=True)] == ["Pets"]
    undo(staff, second)
    undo(staff, first)
    assert there() == BEFORE


def begun(old: Category, cats: Category) -> Change:
    identify("staff anna")
    return merging.begin(old, cats, user=User.objects.get(username="anna"))


@pytest.fixture
def in_blocks(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("plan", "merging", "undo"):
        monkeypatch.setattr(f"changes.{module}.BLOCK", 1)


@pytest.mark.usefixtures("in_blocks")
def test_a_large_one_goes_on_after_a_kill_takes_what_is_added_and_can_be_stopped(
    staff: Client, old: Category, cats: Category
) -> None:
    merged = begun(old, cats)
    assert undoing.advance(merged.pk)
    PetFactory(name="New", category=old)
    Change.objects.update(worked_at=timezone.now() - timedelta(minutes=1))
    page = f"/admin/activity/{merged.pk}/"
    assert re.search("For 6[0-9] seconds. 1 of 4 animals are done.", text_of(staff.get(page).content.decode()))
    assert "merged Cats (old) into Cats: 1 of 4 animals" in text_of(staff.get("/admin/activity/").content.decode())
    staff.post(f"{page}stop/")
    stopped = Change.objects.get()
    assert (stopped.state, stopped.changed, stopped.unreached) == ("stopped", 1, 3)
    undo(staff, stopped)
    assert there() == BEFORE | {"New": "Cats (old)"}
    again = begun(old, cats)
    assert undoing.advance(again.pk)
    work_off()
    assert (there(), Category.objects.filter(pk=old.pk).exists()) == (AFTER | {"New": "Cats"}, False)
    undo(staff, Change.objects.get(pk=again.pk))
    work_off()
    assert there() == BEFORE | {"New": "Cats (old)"}
    undo(staff, made())
    work_off()
    assert (there(), Category.objects.filter(pk=old.pk).exists()) == (AFTER | {"New": "Cats"}, False)


@pytest.mark.usefixtures("in_blocks")
def test_of_two_at_once_that_touch_each_other_only_the_first_begins(
    staff: Client, old: Category, cats: Category
) -> None:
    dogs = CategoryFactory(name="Dogs")
    PetFactory(category=dogs)
    merged = begun(old, cats)
    undoing.advance(merged.pk)
    busy = "Nothing changed. “{}” is being merged by anna."
    for category, into in ((old, dogs), (cats, old), (cats, dogs), (dogs, old)):
        assert told(merge(staff, category, into)) == [busy.format(category)]
    merge(staff, dogs, cats)
    work_off()
    assert [*Category.objects.values_list("name", flat=True)] == ["Cats"]


@pytest.mark.usefixtures("in_blocks")
def test_it_stops_if_its_target_is_deleted_meanwhile(staff: Client, old: Category, cats: Category) -> None:
    merged = begun(old, cats)
    Pet.objects.filter(category=cats).delete()
    cats.delete()
    assert not undoing.advance(merged.pk)
    merged.refresh_from_db()
    assert (merged.state, merged.outcome, merged.changed) == ("stopped", "The category to merge into was deleted.", 0)
    assert set(there().values()) == {"Cats (old)"}


def test_what_makes_no_sense_changes_nothing(staff: Client, old: Category, cats: Category) -> None:
    empty = CategoryFactory(name="Empty")
    assert "Choose another category." in merge(staff, old, old).content.decode()
    assert "Empty has no animals." in merge(staff, empty, cats).content.decode()
    assert told(merge(staff, empty, cats, what="Empty into Cats")) == [
        "Nothing changed. “Empty” has no animals. Delete it instead."
    ]
    assert told(merge(staff, old, cats, what="Old cats into Cats")) == [
        "Nothing changed. Someone renamed a category. Check what will be merged."
    ]
    senseless: list[dict[str, Any]] = [{}, {"merge": "x"}, {"keep": 0, "merge": 10**22}, {"merge": old.pk, "keep": ""}]
    for given in senseless:
        assert staff.get(MERGE, given).status_code == 200
        assert staff.post(MERGE, given | {"what": "x"}).status_code == 200
    assert (there(), Change.objects.exists()) == (BEFORE, False)
    merge(staff, old, cats)
    assert merge(staff, old, cats, what="Cats (old) into Cats").status_code == 200
    assert Change.objects.count() == 1


@pytest.mark.parametrize(
    ("permissions", "may"),
    [
        (["view_pet", "change_pet", "view_category", "delete_category"], True),
        (["view_pet", "change_pet", "view_category", "change_category"], False),
        (["view_pet", "view_category", "delete_category"], False),
    ],
)
def test_merging_and_undoing_it_need_the_rights_to_edit_animals_and_to_delete_categories(
    staff: Client, old: Category, cats: Category, permissions: list[str], may: bool
) -> None:
    clerk = member("clerk", *permissions)
    assert (MERGE in clerk.get(CATEGORIES).content.decode()) == may
    sent: dict[str, Any] = {"what": "Cats (old) into Cats", "keep": cats.pk, "merge": old.pk}
    answers = [clerk.get(MERGE, sent), clerk.post(MERGE, sent)]
    assert [answer.status_code for answer in answers] == ([200, 302] if may else [403, 403])
    if not may:
        merge(staff, old, cats)
    merged = made()
    for change in (merged, None):
        answer = clerk.post(f"/admin/activity/{(change or made()).key}/undo/")
        assert answer.status_code == (302 if may else 403)
        if not may:
            undo(staff, made())


def test_names_as_long_as_can_be_are_merged(staff: Client) -> None:
    one, other = CategoryFactory(name="a" * 255), CategoryFactory(name="b" * 255)
    PetFactory(category=one)
    assert told(merge(staff, one, other)) == [f"Merged {'a' * 189}… into {'b' * 189}…."]
    assert not Category.objects.filter(pk=one.pk).exists()


def test_keys_that_add_animals_to_it_are_named(staff: Client, old: Category, cats: Category) -> None:
    shop = APIKeyFactory(name="Web shop", contact="shop@example.com")
    for actor, count in ((f"key {shop.key_id}", 2), ("key Ab3dE6gH", 1)):
        identify(actor)
        PetFactory.create_batch(count, category=old)
    markup = staff.get(MERGE, {"keep": cats.pk, "merge": old.pk}).content.decode()
    assert (
        f"2 API keys added animals to Cats (old) lately. After the merge, requests with category {old.pk} are rejected. "
        f"Web shop added 2. Ask shop@example.com to send category {cats.pk} first. "
        f"Key Ab3dE6gH added 1. Ask its owner to send category {cats.pk} first."
    ) in text_of(markup)
    assert f'<a href="/admin/apikeys/apikey/?q={shop.key_id}">Web shop</a>' in markup
    clerk = member("clerk", "view_pet", "change_pet", "view_category", "delete_category")
    page = clerk.get(MERGE, {"keep": cats.pk, "merge": old.pk}).content.decode()
    assert f"Key {shop.key_id} added 2. Ask its owner" in text_of(page)
    assert "apikey/?q=" not in page
    assert "API key" not in text_of(staff.get(MERGE, {"keep": old.pk, "merge": cats.pk}).content.decode())


def test_the_animals_are_shown_with_reference_and_status_and_a_link_to_all(
    staff: Client, old: Category, cats: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("changes.admin.merging.LISTED", 2)
    rex = Pet.objects.get(name="Rex")
    rex.external_reference = "OLD-7"
    rex.save()
    page = staff.get(MERGE, {"keep": cats.pk, "merge": old.pk}).content.decode()
    table = page.partition('id="which"')[2].partition("</section>")[0]
    assert text_of(table).removeprefix(">") == (
        "The animals 2 of 3 shown Name Status Category Rex OLD-7 Available Cats (old) becomes Cats "
        "Tom no reference Available Cats (old) becomes Cats Show all 3"
    )
    assert f'<a href="/admin/pets/pet/?category__id__exact={old.pk}">Show all 3</a>' in table


def test_categories_that_look_alike_are_shown_with_a_link(staff: Client, cats: Category) -> None:
    def notice(client: Client) -> str:
        found = re.search(
            '(?s)<div class="notice notice-info notice-apart">(.*?)</div></div>',
            client.get(CATEGORIES).content.decode(),
        )
        return found[1] if found else ""

    CategoryFactory(name="Dogs")
    assert notice(staff) == ""
    other = CategoryFactory(name="cats")
    assert text_of(notice(staff)) == "Cats and cats look alike. Merge them if they mean the same. Merge them…"
    assert f'href="{MERGE}?keep={cats.pk}&amp;merge={other.pk}"' in notice(staff)
    assert notice(member("clerk", "view_pet", "view_category")) == ""
    page = staff.get(MERGE, {"keep": cats.pk, "merge": other.pk}).content.decode()
    assert f'href="?keep={other.pk}&amp;merge={cats.pk}"' in page
