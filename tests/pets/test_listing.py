"""The list of animals: its pages, search and filters, and that none of them reads the whole catalogue."""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.asserts import assertInHTML

from categories.models import Category
from changes.models import Change
from pets.admin import listing
from pets.admin.animals import PetAdmin
from pets.models import ImportRun, Pet
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import PETS, member, text_of

postgresql_only = pytest.mark.postgresql("SQLite has no trigrams")


def names(client: Client, query: str = "", **parameters: Any) -> list[str]:
    answer = client.get(f"{PETS}{query}", parameters or None)
    assert answer.status_code == 200
    return [pet.name for pet in answer.context["cl"].result_list]


@pytest.fixture
def three_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PetAdmin, "list_per_page", 3)


def test_newest_first_or_sorted_by_what_the_headers_say(staff: Client, category: Category) -> None:
    for name in ("b", "Ç", "A", "c"):
        PetFactory(name=name, category=category)
    for name, microsecond in (("b", 0), ("A", 10), ("c", 200_000), ("Ç", 210_000)):
        Pet.objects.filter(name=name).update(updated_at=datetime(2026, 5, 1, 12, 0, 0, microsecond, tzinfo=UTC))
    assert names(staff) == names(staff, o="1") == names(staff, o="-added") == ["c", "A", "Ç", "b"]
    assert names(staff, o="added") == ["b", "Ç", "A", "c"]
    assert names(staff, o="name") == ["A", "b", "Ç", "c"]
    assert names(staff, o="-name") == ["c", "Ç", "b", "A"]
    assert names(staff, o="-changed") == ["Ç", "c", "A", "b"]
    headers = staff.get(PETS, {"o": "-name", "q": "a"}).context["cl"].headers()
    assert headers["name"] == {"query": "?o=name&q=a", "sort": "descending"}
    assert headers["changed"] == {"query": "?o=-changed&q=a", "sort": ""}


@pytest.fixture
def sold(category: Category) -> None:
    """Two sold on one day, one before, one when it came, and one that is not."""
    for name, day in (("Two", 2), ("One", 1), ("Too", 2), ("Came so", 0)):
        pet = PetFactory(name=name, category=category, status="sold" if not day else "available")
        if day:
            Pet.objects.filter(pk=pet.pk).update(status="sold")
            Pet.objects.filter(pk=pet.pk).update(sold_on=date(2025, 5, day))
    PetFactory(name="Here", category=category)


@pytest.mark.usefixtures("sold")
def test_the_sold_come_by_the_day_they_were_sold_on(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names(staff, status__exact="sold") == ["Too", "Two", "One", "Came so"]
    assert names(staff, status__exact="sold", o="sold") == ["One", "Two", "Too", "Came so"]
    assert names(staff, status__exact="sold", o="-sold", sold_from="2025-05-02") == ["Too", "Two"]
    assert names(staff, status__exact="sold", o="name") == ["Came so", "One", "Too", "Two"]
    [all_animals, available, *_] = staff.get(PETS, {"status__exact": "sold", "o": "sold"}).context["cl"].tabs()
    assert names(staff, available["query"]) == ["Here"]
    assert names(staff, all_animals["query"]) == ["Here", "Came so", "Too", "One", "Two"]
    table = staff.get(PETS, {"status__exact": "sold"}).content.decode()
    titles = re.findall(r"<th[^>]*>(?:<a [^>]*>)?(\w+)", table)
    assert titles == ["Name", "Category", "Reference", "Sold", "Added", "Changed"]
    assert [text_of(cell) for cell in re.findall(r'field-sold">(.*?)</td>', table)] == [
        "2 May 2025", "2 May 2025", "1 May 2025", "Not known",
    ]  # fmt: skip
    monkeypatch.setattr(PetAdmin, "list_per_page", 2)
    assert names(staff, status__exact="sold", p=2) == ["One", "Came so"]


@pytest.mark.usefixtures("sold")
def test_too_many_are_sorted_by_an_index_or_not_at_all(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LISTED", 2)
    monkeypatch.setattr(PetAdmin, "list_per_page", 2)
    assert names(staff, o="name") == names(staff)
    with CaptureQueriesContext(connection) as queries:
        assert "they can't be sorted by name. Filter for fewer." in staff.get(PETS, {"o": "name"}).content.decode()
    assert not [query for query in queries if re.search('"name" FROM "pets_pet" .*LIMIT', query["sql"])], "stock knows"
    assert "can't be sorted" not in staff.get(PETS).content.decode()
    assert names(staff, q="t", o="-sold") == ["Too", "Two"]
    assert names(staff, q="o", status__exact="sold") == ["Too", "Two"]
    for name, value in (("NEWEST", 0), ("LISTED", 1)):
        monkeypatch.setattr(listing, name, value)
    monkeypatch.setattr(PetAdmin, "list_per_page", 1)
    with CaptureQueriesContext(connection) as queries:
        assert "so some are missing here" in staff.get(PETS, {"q": "t", "o": "name"}).content.decode()
    found = [query["sql"] for query in queries if re.search(r" WHERE .*search_fold", query["sql"])]
    assert len(found) == 3, "sorted by name, then the newest, then all by ID"


@pytest.mark.usefixtures("three_a_page")
def test_each_animal_is_on_one_page(staff: Client, category: Category) -> None:
    PetFactory.create_batch(7, category=category)
    for query in ("", "&q=pet", "&status__exact=available"):
        pages = [names(staff, f"?p={number}{query}") for number in (1, 2, 3)]
        assert [len(page) for page in pages] == [3, 3, 1]
        assert len({name for page in pages for name in page}) == 7


@pytest.mark.usefixtures("three_a_page")
def test_a_page_says_whether_there_are_others(staff: Client, category: Category) -> None:
    PetFactory.create_batch(4, category=category)
    first, last = (staff.get(PETS, {"p": page, "status__exact": "available"}).content.decode() for page in (1, 2))
    assert 'href="?p=2&amp;status__exact=available" rel="next">' in first
    assert 'rel="prev"' not in first
    assert "Page 2, the last" in last
    assert 'href="?p=1&amp;status__exact=available" rel="prev">' in last


@pytest.mark.usefixtures("three_a_page")
def test_the_list_ends_and_says_so(staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LISTED", 6)
    PetFactory.create_batch(8, category=category)
    page = staff.get(PETS, {"p": 2}).content.decode()
    assert "The list ends here, though there are more animals. Search or filter to see others." in page
    assert names(staff, p=99) == names(staff, p=2)
    assert names(staff, p="-1") == names(staff, p="x") == names(staff)


SEARCHES = {
    "rex": ["Rex II", "Rex"],
    " rex ": ["Rex II", "Rex"],
    "EX I": ["Rex II"],
    "ma": ["Max"],
    "-1": ["Max"],
    "a-": ["Max"],
    "小花": ["小花"],
    "花": ["小花"],
    "小": ["小花"],
    "花小": [],
    "%": ["100% Dog"],
    "\N{FULLWIDTH PERCENT SIGN}": ["100% Dog"],
    "_ex": [],
    "zzz": [],
    "9" * 5_000: [],
    "٣": [],
    "\0": ["100% Dog", "小花", "Max", "Rex II", "Rex"],
}


@pytest.mark.parametrize("newest", [1, listing.NEWEST])
def test_search(staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch, newest: int) -> None:
    """What is far from the newest is found too, but for one letter within a word."""
    monkeypatch.setattr(listing, "NEWEST", newest)
    for name, reference in (("Rex", None), ("Rex II", None), ("Max", "A-17"), ("小花", None), ("100% Dog", None)):
        pet = PetFactory(name=name, external_reference=reference, category=category)
    for needle, found in (SEARCHES | {f"{pet.pk:03}": ["100% Dog"]}).items():  # 7 is in A-17
        assert (needle, names(staff, q=needle)) == (needle, found)
    assert names(staff, q="rex", o="added") == ["Rex", "Rex II"]
    assert newest == 1 or names(staff, q="x") == ["Max", "Rex II", "Rex"]


@pytest.mark.usefixtures("three_a_page")
def test_too_many_to_list_are_told(staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "NEWEST", 0)
    monkeypatch.setattr(listing, "LISTED", 4)
    PetFactory.create_batch(5, category=category)
    assert "so some are missing here" in staff.get(PETS, {"q": "pet"}).content.decode()
    monkeypatch.setattr(listing, "LISTED", 5)
    assert "so some are missing here" not in staff.get(PETS, {"q": "pet"}).content.decode()


@pytest.fixture
def various(db: None) -> tuple[Category, ImportRun]:
    dogs, cats = CategoryFactory(name="Dogs"), CategoryFactory(name="Cats")
    run = ImportRun.objects.create(
        who="root", file_name="a.csv", options={}, state="done", change=Change.objects.create()
    )
    for name, category, status, day in (
        ("Rex", dogs, "sold", 1),
        ("Max", dogs, "available", 2),
        ("Tom", cats, "sold", 3),
        ("Kit", cats, "pending", 4),
    ):
        pet = PetFactory(name=name, category=category, status=status)
        Pet.objects.filter(pk=pet.pk).update(created_at=datetime(2026, 5, day, 23, 59, tzinfo=UTC))
    Pet.history.filter(name__in=["Max", "Kit"]).update(change=run.change)
    return dogs, run


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status__exact=sold", ["Tom", "Rex"]),
        ("status__exact=sold&category__id__exact={dogs}", ["Rex"]),
        ("category__id__exact={dogs}&q=max", ["Max"]),
        ("added_from=2026-05-02&added_to=2026-05-03", ["Tom", "Max"]),
        ("added_from=2026-05-04", ["Kit"]),
        ("added_to=9999-12-31", ["Kit", "Tom", "Max", "Rex"]),
        ("added_to=2026-05-03&q=x", ["Max", "Rex"]),
        ("added_from=2026-05-02&q=x", ["Max"]),
        ("created_at__gte=2026-05-04+00:00:00%2B00:00", ["Kit"]),
        ("import_run={run}", ["Kit", "Max"]),
        ("import_run={run}&status__exact=pending", ["Kit"]),
        ("import_run=999999", []),
        ("status__exact=&category__id__exact=&added_from=&added_to=&import_run=", ["Kit", "Tom", "Max", "Rex"]),
    ],
)
def test_filters(staff: Client, various: tuple[Category, ImportRun], query: str, found: list[str]) -> None:
    dogs, run = various
    assert names(staff, f"?{query.format(dogs=dogs.pk, run=run.pk)}") == found


def test_the_chosen_category_stays_chosen(staff: Client, db: None) -> None:
    cats, dogs = CategoryFactory(name="<Cats>"), CategoryFactory(name="Dogs & co")
    PetFactory(category=cats)  # a list of no animals has no filters
    page = staff.get(PETS, {"category__id__exact": dogs.pk}).content.decode()
    assertInHTML(f'<option value="{cats.pk}">&lt;Cats&gt;</option>', page, 1)
    assertInHTML(f'<option value="{dogs.pk}" selected>Dogs &amp; co</option>', page, 1)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("added_from=2026-05-02", ["Next"]),
        ("added_to=2026-05-01", ["Last"]),
        ("added_to=2026-04-30", []),
        ("unchanged_since=2026-05-02", ["Last"]),
    ],
)
def test_a_day_begins_at_midnight(staff: Client, category: Category, query: str, found: list[str]) -> None:
    midnight = datetime(2026, 5, 2, tzinfo=UTC)
    for name, at in (("Last", midnight - timedelta(microseconds=1)), ("Next", midnight)):
        Pet.objects.filter(pk=PetFactory(name=name, category=category).pk).update(created_at=at, updated_at=at)
    assert names(staff, f"?{query}") == found


@pytest.mark.parametrize("listed", [1, 10_000])
def test_a_span_of_days_is_in_order_whether_its_animals_are_few_or_many(
    staff: Client, various: tuple[Category, ImportRun], monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr(listing, "LISTED", listed)
    monkeypatch.setattr(PetAdmin, "list_per_page", 1)
    span = "?added_from=2026-05-01&added_to=2026-05-03"
    assert names(staff, span) == ["Tom"]
    assert names(staff, f"{span}&o=added") == ["Rex"]


@pytest.mark.usefixtures("various")
def test_what_an_import_added_is_looked_for_among_its_ids(staff: Client) -> None:
    """The newest animals are not looked through for those of an old import."""
    last = Pet.objects.get(name="Kit").pk
    run = ImportRun.objects.latest("pk")
    ImportRun.objects.filter(pk=run.pk).update(first_id=1, last_id=last)
    with CaptureQueriesContext(connection) as queries:
        assert names(staff, f"?import_run={run.pk}") == ["Kit", "Max"]
    looked = [query["sql"] for query in queries if '"bulk_change_id" = ' in query["sql"]]
    assert looked
    assert [sql for sql in looked if f"BETWEEN 1 AND {last}" not in sql] == []


def test_what_an_import_changed_is_not_what_it_added(staff: Client, various: tuple[Category, ImportRun]) -> None:
    _, run = various
    rex = Pet.objects.get(name="Rex")
    rex.status = "available"
    rex.save()
    Pet.history.filter(id=rex.pk, history_type="~").update(change=run.change)
    assert names(staff, f"?import_run={run.pk}") == ["Kit", "Max"]


@pytest.mark.parametrize(
    "query",
    [
        "status__exact=broken",
        "category__id__exact=0",
        "category__id__exact=x",
        "added_from=31.12.",
        "import_run=-1",
        "import_run=" + "9" * 30,
    ],
)
def test_a_filter_that_makes_no_sense_finds_nothing_and_says_so(
    staff: Client, various: tuple[Category, ImportRun], query: str
) -> None:
    assert names(staff, f"?{query}") == []
    assert 'class="errorlist"' in staff.get(f"{PETS}?{query}").content.decode()


def test_the_list_costs_the_same_for_one_and_for_fifty(staff: Client, django_assert_num_queries: Any) -> None:
    PetFactory.create_batch(50)
    with django_assert_num_queries(7):  # session, user, views, keys, rows, stock, categories to choose from
        staff.get(PETS)
    priced = 3 if connection.vendor == "postgresql" else 0  # BEGIN, the price of a page, COMMIT
    with django_assert_num_queries(8 + priced):  # no stock, but the newest id, and what is found beside the newest
        staff.get(PETS, {"q": "pet"})


def test_nothing_is_counted(staff: Client) -> None:
    PetFactory.create_batch(3)
    with CaptureQueriesContext(connection) as queries:
        for query in ("", "?q=pet", "?status__exact=sold", "?_facets=True"):
            staff.get(f"{PETS}{query}")
    assert not [query["sql"] for query in queries if re.search("count(?!.* limit 10001)", query["sql"].lower())]


def test_who_may_only_look_gets_no_form(db: None, category: Category) -> None:
    PetFactory(name="Rex", category=category)
    page = member("viewer", "view_pet").get(PETS).content.decode()
    assert "Rex" in page
    assert "<select" not in page.split('id="result_list"')[1]
    assert 'name="action"' not in page
    assert "Deleted animals" not in page


def store_many(name: str = "'Rex '", status: str = "'sold'") -> None:
    """Store enough animals that a plan is what it would be for a million."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # a busy machine must not fail the test,
        cursor.execute("SET LOCAL lock_timeout = 0")  # nor an autovacuum, which gives way after a second
        cursor.execute(
            "INSERT INTO pets_pet (name, category_id, status, external_reference, created_at, updated_at)"
            f" SELECT {name} || md5(n::text), %s, {status}, 'A-' || n, now() - (20000 - n) * interval '1 minute', now()"
            " FROM generate_series(1, 20000) n",
            [CategoryFactory().pk],
        )
        cursor.execute("ANALYZE pets_pet")
        cursor.execute("SELECT gin_clean_pending_list('pet_search')")


def plans(search: Callable[[], Any]) -> list[str]:
    """Return the plan of each statement that looks for animals. What adds up some of them, in any order, is none."""
    with CaptureQueriesContext(connection) as queries:
        search()
    statements = [query["sql"] for query in queries if re.search(r"^SELECT (pk|\"pets_pet).*search_fold", query["sql"])]
    found = []
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}")
            found.append(json.dumps(cursor.fetchone()[0]))
    return found


@postgresql_only
@pytest.mark.parametrize(("letter", "beginning"), [("q", ["T-q", "Queen"]), ("ก", ["T-ก็", "กบ"]), ("ก็", ["T-ก็"])])
def test_the_index_finds_the_words_that_one_letter_begins(
    staff: Client, monkeypatch: pytest.MonkeyPatch, letter: str, beginning: list[str]
) -> None:
    monkeypatch.setattr(listing, "NEWEST", 1)
    for name in ("Queen", "T-q", "Aqua", "กบ", "T-ก็", "นก", "Old"):
        PetFactory(name=name, category=CategoryFactory())
    store_many()
    with connection.cursor() as cursor:
        assert names(staff, q=letter) == beginning
        cursor.execute("SET LOCAL enable_seqscan = off")  # without a VACUUM the planner knows no costs of the index
        made = plans(lambda: names(staff, q=letter))
    assert len(made) == 2
    assert "pet_search" in made[1]
    assert f"~~ '%{letter}%'" not in made[1], "for that the index would look through all that it has"
    assert letter < "\u0800" or "~ '(^|" not in made[1], "nor does it find such a letter in a regular expression"


@postgresql_only
def test_what_is_rare_is_found_by_indexes_and_what_is_common_among_the_newest(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_many()
    for needle in ("rex", "Re", "r"):
        for address in (PETS, "/admin/search/"):
            with CaptureQueriesContext(connection) as queries:
                made = plans(partial(staff.get, address, {"q": needle}))
            assert [("Seq Scan" in plan) for plan in made] == [False], (needle, address)
            assert not [query for query in queries if "count(" in query["sql"]], "there are more than are counted"
    monkeypatch.setattr(listing, "NEWEST", 100)
    for needle in ("zzz", "xqzk", "zq", "A-19999", "花", "小花", "Rex zzz"):
        made = plans(partial(names, staff, q=needle))
        assert len(made) == 2, f"{needle}: the newest, and all by the index"
        assert ("pet_search" in made[1], "Seq Scan" in made[1]) == (True, False), needle
    filters: dict[str, Any] = {"status__exact": "sold", "category__id__exact": Pet.objects.latest("pk").category_id}
    made = plans(lambda: names(staff, q="xqzk", o="-added", **filters))
    made += plans(lambda: names(staff, q="xqzk", o="name", **filters))
    assert len(made) == 3
    assert all("pet_search" in plan for plan in made[1:])
    assert not [plan for plan in made if "Seq Scan" in plan]


@postgresql_only
def test_a_search_with_a_status_folds_no_other_names(staff: Client) -> None:
    store_many(
        "CASE WHEN mod(n, 15) = 0 THEN 'Rex ' ELSE 'Tom ' END",
        "CASE WHEN mod(n, 4) = 0 THEN 'sold' ELSE 'available' END",
    )
    [plan] = plans(lambda: names(staff, q="rex", status__exact="sold"))
    assert [index in plan for index in ("BitmapAnd", "pet_search", "pet_status_id")] == [True, True, True]


@postgresql_only
def test_a_search_until_a_day_does_not_use_the_index_of_days(staff: Client) -> None:
    """It knows pages only: joined with it, a search would fold all names on half of the pages."""
    store_many()
    today: Any = datetime.now(UTC).date()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
        cursor.execute("DROP INDEX pet_search")  # then only that of days is left, if it fits
    ago: dict[str, Any] = {str(days): today - timedelta(days=days) for days in (0, 7, 13)}
    for first, last, is_used in (
        ("7", "", False),
        ("", "7", False),
        ("13", "7", False),
        ("0", "", True),
        ("7", "7", True),
    ):
        made = plans(partial(names, staff, q="rex", added_from=ago.get(first, ""), added_to=ago.get(last, "")))
        assert any("pet_created_at" in plan for plan in made) == is_used, (first, last)


@postgresql_only
def test_the_animals_of_a_day_and_the_last_sold_are_found_by_indexes(staff: Client) -> None:
    """Also if all were sold on one day."""
    day = datetime.now(UTC).date() - timedelta(days=9)
    store_many()
    with connection.cursor() as cursor:
        with CaptureQueriesContext(connection) as queries:
            assert names(staff, added_from=day, added_to=day)
        [statement] = [query["sql"] for query in queries if query["sql"].startswith("SELECT pk")]
        cursor.execute(f"EXPLAIN {statement}")
        assert "pet_created_at" in str(cursor.fetchall())
        with CaptureQueriesContext(connection) as queries:
            assert len(names(staff, status__exact="sold")) == PetAdmin.list_per_page
        assert '"sold_on" IS NULL' not in str(queries.captured_queries), "PostgreSQL would pass all newer animals"
        cursor.execute("UPDATE pets_pet SET sold_on = '2026-05-01' WHERE status = 'sold'; ANALYZE pets_pet")
        with CaptureQueriesContext(connection) as queries:
            assert len(names(staff, status__exact="sold")) == PetAdmin.list_per_page
        [statement] = [query["sql"] for query in queries if 'ORDER BY "pets_pet"."sold_on"' in query["sql"]]
        cursor.execute(f"EXPLAIN {statement}")
        plan = str(cursor.fetchall())
    assert ("pet_sold_on" in plan, "Sort" in plan) == (True, False)


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("", ""),
        ("?status__exact=available", "all 2"),
        ("?status__exact=sold", "all 1"),
        ("?q=rex", "all that match"),
        ("?q=rex&status__exact=sold", "all that match"),
    ],
)
def test_what_selects_all_says_how_many(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch, query: str, offered: str
) -> None:
    monkeypatch.setattr(listing, "AT_MOST", 2)
    for status in ("available", "available", "pending", "sold"):
        PetFactory(category=category, status=status)
    assert staff.get(f"{PETS}{query}").context["cl"].selectable() == offered


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", None),
        ("?status__exact=sold", None),
        ("?q=Pippin", "3 animals match 2 available 1 sold"),
        ("?q=Pippin&status__exact=sold", "1 animal matches 1 sold"),
        ("?category__id__exact={}", "4 animals match 2 available 1 pending 1 sold"),
        ("?category__id__exact={}&status__exact=pending", "1 animal matches 1 pending"),
        ("?added_from=2020-01-01", "More than 4 animals match"),
        ("?q=nowhere", None),
        ("?q=p", "More than 3 animals match"),
    ],
)
def test_a_filtered_list_says_what_it_adds_up_to(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch, query: str, said: str | None
) -> None:
    monkeypatch.setattr(listing, "LISTED", 4)
    monkeypatch.setattr(listing, "COUNTED", 3)
    monkeypatch.setattr("pets.admin.animals.PetAdmin.list_per_page", 2)
    for name, status in (("Pippin", "available"), ("Pippin", "available"), ("Pippin", "sold"), ("Rex", "pending")):
        PetFactory(name=name, status=status, category=category)
    PetFactory(name="Top", status="sold")
    page = staff.get(f"{PETS}{query.format(category.pk)}").content.decode()
    shown = re.search('(?s)<p class="totals">(.*?)</p>', page)
    assert (text_of(shown[1]) if shown else None) == said
