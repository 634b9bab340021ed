"""The first page of the back office: each figure against a plain count, and against the list that it leads to."""

import re
from datetime import UTC, datetime, time, timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from changes.models import Change
from pets.models import ImportRun, Pet, PetStatus
from petstore_site.apikeys.models import APIKey, KeyUsage, Use
from petstore_site.back_office.dashboard import animals, keys
from tests.days import today
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import member, text_of

HOSTILE = '<script>alert("stock")</script>'
EVERYTHING = (
    *("pets.view_pet", "pets.change_pet", "pets.view_importrun", "pets.add_importrun", "categories.view_category"),
    *("apikeys.view_apikey", "apikeys.change_apikey", "apikeys.view_keyusage", "request_desk.view_requestrecord"),
)
"""What the parts of the page ask for."""

FIGURE = re.compile(r'<a href="([^"]+)">([0-9,]+)</a>')
TILE = re.compile(
    r'<a class="card tile" href="([^"]+)"><span class="tile-name">([^<]+)</span><span class="tile-value">([^<]+)<'
)


def days_ago(days: int) -> datetime:
    return datetime.combine(today() - timedelta(days=days), time(23, 59, 59), UTC)


def sell(pet: Pet, days: int) -> None:
    pet.status = "sold"
    pet.save()
    Pet.objects.filter(pk=pet.pk).update(sold_on=days_ago(days))
    Pet.history.filter(id=pet.pk, history_type="~").update(history_date=days_ago(days))


@pytest.fixture
def shop(db: None) -> None:
    """Animals of some months, and keys with some use."""
    for category, added in (("Dogs", (0, 0, 1, 29, 30, 400)), (HOSTILE, (0, 5, 5)), ("Cats", (29,))):
        kind = CategoryFactory(name=category)
        for number, days in enumerate(added):
            pet = PetFactory(category=kind, status=PetStatus.values[number % 3])
            Pet.objects.filter(pk=pet.pk).update(created_at=days_ago(days))
    waiting = Pet.objects.exclude(status="sold").order_by("pk")
    for pet, days in zip(list(waiting)[:4], (0, 0, 29, 30), strict=True):
        sell(pet, days)
    for key in (APIKeyFactory(name=HOSTILE), APIKeyFactory(name="Shop", expires_at=timezone.now() + timedelta(days=9))):
        for days in (0, 1, 29, 30):
            day = days_ago(days).date()
            for count, (route, answers) in enumerate([("pet-list", 2), ("pet-list", 4), ("pet-detail", 5)], 1):
                KeyUsage.objects.add_all([(Use(key.pk, day, route, answers), count * 1000 + days)])
    for file in ("stock.csv", HOSTILE):
        change = Change.objects.create(kind="import", who="root", what=file, added=1234)
        ImportRun.objects.create(who="root", file_name=file, options={}, state="done", created=1234, change=change)


def somebody(*permissions: str) -> Client:
    return member("someone", *(permission.partition(".")[2] for permission in permissions))


def overview(client: Client) -> Any:
    return client.get("/admin/").context


def counted(**of: Any) -> list[int]:
    recent = [usage for usage in KeyUsage.objects.select_related("key") if usage.day > today() - timedelta(days=30)]
    chosen = [usage for usage in recent if all(getattr(usage, field) == value for field, value in of.items())]
    return [sum(usage.count for usage in chosen if usage.status_class in kind) for kind in ((1, 2, 3), (4,), (5,))]


def test_what_was_added_and_sold_is_a_plain_count(shop: None, staff: Client) -> None:
    table = overview(staff)["figures"]
    days = [today() - timedelta(days=back) for back in range(30)]
    added = [sum(pet.created_at.date() == day for pet in Pet.objects.all()) for day in days]
    became_sold = Pet.history.filter(history_type="~", status="sold")
    sold = [sum(change.history_date.date() == day for change in became_sold) for day in days]
    assert table["columns"][:2] == ["Added", "Sold"]
    assert [(day, row[0].value, row[1].value) for day, row in table["days"]] == list(
        zip(days, added, sold, strict=True)
    )
    assert (sum(added), sum(sold)) == (8, 3)


def test_the_use_of_keys_is_a_plain_count(shop: None, staff: Client) -> None:
    shown = overview(staff)
    for day, row in shown["figures"]["days"]:
        good, rejected, failed = counted(day=day)
        assert [figure.value for figure in row[2:]] == [good + rejected + failed, rejected, failed]
    of_keys = {key["key_id"]: [figure.value for figure in key["tally"].figures()] for key in shown["use"]["keys"]}
    assert of_keys == {key.key_id: counted(key=key) for key in APIKey.objects.all()}


def test_the_tiles_sum_the_days_and_lead_to_their_lists(shop: None, staff: Client) -> None:
    page = staff.get("/admin/").content.decode()
    found = {name: (unescape(url), value.strip()) for url, name, value in TILE.findall(page)}
    good, rejected, failed = counted()
    requests = good + rejected + failed
    assert {name: value for name, (_, value) in found.items()} == {
        "Animals": "10",
        "Added, 30 days": "8",
        "Sold, 30 days": "3",
        "API requests, 30 days": f"{requests:,}",
        "Errors, 30 days": f"{100 * (rejected + failed) / requests:.1f} %",
    }
    *lists, usage, errors = [url for url, _ in found.values()]
    assert [staff.get(url).context["cl"].result_count for url in lists] == [10, 8, 3]
    assert usage == errors == "/admin/apikeys/keyusage/"


@pytest.mark.parametrize(
    ("now", "before", "note"),
    [
        (3, 0, ""),
        (3, 2, "+50 %"),
        (2, 3, "\N{MINUS SIGN}33 %"),
        (3, 3, "+0 %"),
        (0, 2, "\N{MINUS SIGN}100 %"),
        (99, 1, ""),
    ],
)
def test_a_tile_compares_with_the_days_before(staff: Client, now: int, before: int, note: str) -> None:
    for days, count in ((3, now), (33, before)):
        for pet in PetFactory.create_batch(count):
            Pet.objects.filter(pk=pet.pk).update(created_at=days_ago(days))
    assert overview(staff)["figures"]["tiles"][1].note == note


def test_each_figure_leads_to_just_what_it_counts(shop: None, staff: Client) -> None:
    page = staff.get("/admin/").content.decode()
    figures = {(unescape(url), int(value.replace(",", ""))) for url, value in FIGURE.findall(page)}
    assert len(figures) > 50
    for url, value in figures:
        answer = staff.get(url)
        assert answer.status_code == 200, url
        assert answer.context["cl"].result_count == value, url


PARTS = ["stock", "use", "attention", "activity"]


@pytest.mark.parametrize(
    ("permissions", "shown", "tiles", "matters"),
    [
        ([], [], 0, []),
        (["pets.view_pet"], ["stock", "activity"], 3, []),
        (["pets.view_importrun"], ["attention"], 0, []),
        (["categories.view_category"], ["activity"], 0, []),
        (["apikeys.view_apikey"], ["attention", "activity"], 0, ["1 key"]),
        (["apikeys.view_apikey", "apikeys.view_keyusage"], ["use", "attention", "activity"], 2, ["1 key"]),
        (["pets.view_pet", "apikeys.view_keyusage"], ["stock", "activity"], 3, []),
    ],
)
def test_a_part_is_for_those_who_may_see_what_it_counts(
    shop: None, permissions: list[str], shown: list[str], tiles: int, matters: list[str]
) -> None:
    answer = somebody(*permissions).get("/admin/")
    assert [part for part in PARTS if answer.context[part] is not None] == shown
    assert len(answer.context["figures"]["tiles"]) == tiles
    assert [matter.what for matter in (answer.context["attention"] or {"matters": []})["matters"]] == matters


@pytest.mark.parametrize("permissions", [["pets.view_pet", "pets.view_importrun"], EVERYTHING])
def test_no_link_leads_to_what_is_missing_or_not_allowed(shop: None, permissions: list[str]) -> None:
    client = somebody(*permissions)
    found = re.findall(r'<a [^>]*href="(/admin/[^"]+)"', client.get("/admin/").content.decode())
    one_of_each = {re.sub("[0-9]+", "", link): unescape(link) for link in found}
    assert {client.get(link).status_code for link in one_of_each.values()} == {200}


def test_a_visit_counts_no_animal_and_writes_nothing(shop: None, staff: Client) -> None:
    staff.get("/admin/")
    with CaptureQueriesContext(connection) as queries:
        staff.get("/admin/")
    statements = [query["sql"] for query in queries]
    assert [sql for sql in statements if not sql.lstrip("(").startswith("SELECT")] == []
    counts = [sql for sql in statements if '"pets_pet"' in sql and "COUNT" in sql]
    assert ['"sold_on" >= ' in sql and sql.count('"pets_pet" WHERE') for sql in counts] == [1]
    assert [sql.count("LIMIT 101") for sql in statements if "LIMIT 101" in sql] == [3]
    assert len(statements) == 10, "\n".join(statements)


def test_a_member_of_the_staff_who_sees_everything_needs_two_statements_more(shop: None) -> None:
    """For the permissions, and for the names of the keys that acted."""
    key = APIKeyFactory(name="Web shop")
    Pet.history.filter(id=PetFactory().pk).update(actor=f"key {key.key_id}")
    client = somebody(*EVERYTHING)
    with CaptureQueriesContext(connection) as queries:
        page = client.get("/admin/").content.decode()
    assert "<b>Web shop</b>" in page
    assert len(queries) == 12, "\n".join(query["sql"] for query in queries)


def test_names_are_only_text(shop: None, staff: Client) -> None:
    page = staff.get("/admin/").content.decode()
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(&quot;stock&quot;)&lt;/script&gt;") > 5
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:", page)


def test_many_categories_and_keys_are_cut_short(staff: Client) -> None:
    for number in range(animals.MOST + 2):
        PetFactory.create_batch(2 if number else 1, category=CategoryFactory(name=f"Kind {number}"))
    for key in [APIKeyFactory() for _ in range(keys.MOST + 1)]:
        KeyUsage.objects.add_all([(Use(key.pk, today(), "pet-list", 2), key.pk)])
    shown = overview(staff)
    stock = shown["stock"]
    assert len(stock["rows"]) == animals.MOST
    assert (stock["others"].label, stock["others"].total) == ("2 other categories", 3)
    assert stock["all"].value == Pet.objects.count()
    assert len(shown["use"]["keys"]) == keys.MOST


def words_of(page: Any) -> str:
    return text_of(page.content.decode().split('<div class="page-head">')[1])


FIRST_STEPS = (
    "No animals yet Import a list you already have, or add them by hand. You can undo it. Import a file Add animal "
    "Add a category Cats, dogs, fish: animals are sorted by it. Add a category "
    "Add the animals One by one, or all at once from a spreadsheet. Import a file "
)
CONNECT = "Connect your web shop An API key lets a program read the animals. Issue a key "


def test_the_overview_of_an_empty_store_is_an_invitation(staff: Client) -> None:
    page = staff.get("/admin/")
    assert words_of(page).startswith(
        f"Welcome, keeper The store is empty. {FIRST_STEPS}{CONNECT}"
        "Recent activity All activity Nothing happened yet Each change appears here with a name and a time."
    )
    links = re.findall('<a class="btn[^"]*" href="([^"]+)"', page.content.decode())
    assert links == ["/admin/pets/importrun/add/", "/admin/pets/pet/add/"]


def test_the_invitation_has_only_steps_that_its_reader_can_take(db: None) -> None:
    clerk = somebody("pets.view_pet", "pets.add_pet", "pets.add_importrun", "categories.add_category")
    assert words_of(clerk.get("/admin/")).startswith(f"Welcome, someone The store is empty. {FIRST_STEPS}")
    assert "web shop" not in words_of(clerk.get("/admin/"))


def test_who_may_not_add_is_not_sent_to_add(db: None) -> None:
    client = somebody("pets.view_pet")
    for path in ("/admin/", "/admin/pets/pet/"):
        page = client.get(path).content.decode()
        assert "<h2>No animals yet</h2>" in page
        assert "Animals appear here when someone adds them." in page
        assert "/add/" not in page


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pets/pet/", f"{FIRST_STEPS}{CONNECT}".strip()),
        ("apikeys/apikey/", "No API keys yet Issue an API key"),
        ("categories/category/", "No categories yet Add category"),
        ("pets/pet/?q=nobody", "Nothing matches “nobody” Check the spelling, or try fewer letters. Show all animals"),
        (
            "pets/pet/?q=nobody&status__exact=sold",
            "Nothing matches “nobody” Try fewer letters, or search without the filters. "
            "Search without the filters Show all animals",
        ),
    ],
)
def test_an_empty_list_says_what_to_do(staff: Client, path: str, words: str) -> None:
    [empty] = re.findall('(?s)<div class="empty">.*?</form>', staff.get(f"/admin/{path}").content.decode())
    assert text_of(empty) == words
