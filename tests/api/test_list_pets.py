"""`GET /v1/pets` (interface document, section 4.1)."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from categories.models import Category
from database.statements import Statement, rows
from pets.models import ImportRun, Pet, PetStatus
from pets.statements import list_of
from petstore_site.serving.postgresql import PLANS
from rest import lists
from rest.lists import INT64_MAX
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory, PetFactory, add_many
from tests.whole import shown

LIMIT = "limit must be a whole number from 1 to 100."
ONCE = "must be given only once."
STATUS = "status must be one of available, pending, sold."
CATEGORY_ID = "categoryId must be a whole number from 1 to 9223372036854775807."
CURSOR = "The cursor is damaged or belongs to another list."
CURSOR_TOO = "cursor is damaged or belongs to another list."


def next_path(answer: Any) -> str | None:
    """Return path and query of the next page, as a client finds it."""
    link = re.fullmatch(r'<http://testserver(.+)>; rel="next"', answer.get("Link", ""))
    return link[1] if link else None


def walk(api: ApiClient, path: str) -> list[int]:
    """Return the ids of all pages from `path` on."""
    ids: list[int] = []
    while path:
        answer = api.get(path)
        assert answer.status_code == 200, answer.content
        ids += [pet["id"] for pet in answer.json()]
        path = next_path(answer) or ""
    return ids


def test_newest_first_and_bare(api: ApiClient, category: Category) -> None:
    rex = PetFactory(name="Rex", category=category)
    luna = PetFactory(name="🐶 Luna", category=category, status="sold", external_reference="A-1")
    answer = api.get("/v1/pets")
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == [
        shown(id=luna.pk, name="🐶 Luna", categoryId=category.pk, status="sold"),
        shown(id=rex.pk, name="Rex", categoryId=category.pk),
    ]


def test_the_maximum_can_have_four_digits(api: ApiClient, category: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MOST", 1000)
    PetFactory.create_batch(2, category=category)
    assert len(api.get("/v1/pets?limit=1000").json()) == 2
    message = "limit must be a whole number from 1 to 1000."
    assert api.get("/v1/pets?limit=1001").json() == error("invalid_parameter", message, 400)


@pytest.mark.parametrize("status", [None, *PetStatus.values])
def test_category_filters_alone_and_with_a_status(api: ApiClient, status: str | None) -> None:
    one, other, empty = CategoryFactory.create_batch(3)
    pets = [PetFactory(category=one if n % 3 else other, status=PetStatus.values[n % 2]) for n in range(12)]
    query = f"limit=2&status={status}" if status else "limit=2"
    for category in (one, other, empty):
        wanted = [pet.pk for pet in reversed(pets) if pet.category == category and status in {None, pet.status}]
        assert walk(api, f"/v1/pets?{query}&categoryId={category.pk}") == wanted
    assert api.get("/v1/pets?categoryId=9223372036854775807").json() == []


@pytest.mark.parametrize(
    ("query", "foreign"),
    [
        ("", ["categories?", "pets?status=sold"]),
        ("&status=sold", ["categories?", "pets?", "pets?status=pending"]),
        ("&categoryId={one}", ["pets?", "pets?categoryId={other}", "pets?categoryId={one}&status=sold"]),
    ],
)
def test_a_cursor_belongs_to_its_list_and_filters(api: ApiClient, query: str, foreign: list[str]) -> None:
    one, other = CategoryFactory.create_batch(2)
    PetFactory.create_batch(3, category=one, status="sold")
    ids = {"one": one.pk, "other": other.pk}
    path = next_path(api.get(f"/v1/pets?limit=1{query.format(**ids)}")) or ""
    assert path.startswith(f"/v1/pets?limit=1{query.format(**ids)}&cursor=")
    for each in foreign:
        answer = api.get(f"/v1/{each.format(**ids)}&cursor={path.partition('cursor=')[2]}")
        assert (answer.status_code, answer.json()) == (400, error("invalid_cursor", CURSOR, 400))
    assert len(api.get(path.replace("limit=1", "limit=100")).json()) == 2


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        *[
            (f"limit={value}", "invalid_parameter", LIMIT)
            for value in (
                "", "0", "101", "-1", "+5", "%2B5", "1.5", "1e1", "abc", "007", "1_0", "%00", "%D9%A3", "5%0A", "9" * 20,
            )
        ],
        ("limit", "invalid_parameter", LIMIT),
        ("status", "invalid_parameter", STATUS),
        ("limit=5&limit=5", "invalid_parameter", "limit must be given only once."),
        *[
            (f"status={value}", "invalid_parameter", STATUS)
            for value in ("", "Sold", "foo", "available,sold", "%FF", "sold%00", "sold%20")
        ],
        *[
            (f"categoryId={value}", "invalid_parameter", CATEGORY_ID)
            for value in ("", "0", "01", "-1", "1.0", "abc", "9223372036854775808", "%D9%A1", "1%00", "9" * 300)
        ],
        ("categoryId=1&categoryId=1", "invalid_parameter", "categoryId must be given only once."),
        ("categoryId=x&cursor=abc", "invalid_parameter", f"{CATEGORY_ID} {CURSOR_TOO}"),
        ("status=sold&status=sold", "invalid_parameter", "status must be given only once."),
        *[(f"cursor={value}", "invalid_cursor", CURSOR) for value in ("", "abc", "1", "%00", "WzFd.abc", "a.b.c")],
        ("cursor=a&cursor=a", "invalid_parameter", "cursor must be given only once."),
        ("status=x&limit=0", "invalid_parameter", f"{LIMIT} {STATUS}"),
        ("limit=0&limit=0&status=&cursor=a&cursor=a", "invalid_parameter", f"limit {ONCE} {STATUS} cursor {ONCE}"),
        ("limit=0&cursor=abc", "invalid_parameter", f"{LIMIT} {CURSOR_TOO}"),
        *[
            ("status=x&cursor=" + cursor, "invalid_parameter", f"{STATUS} {CURSOR_TOO}")
            for cursor in ("abc", "", "MTA.abc")
        ],
        (f"status=x&cursor=MTA.{'a' * 43}", "invalid_parameter", STATUS),  # it may be of the list that was meant
        ("limit=3&status=sold&cursor=abc", "invalid_cursor", CURSOR),
    ],
)  # fmt: skip
def test_strict_parameters(api: ApiClient, query: str, code: str, message: str) -> None:
    answer = api.get(f"/v1/pets?{query}")
    assert (answer.status_code, answer.json()) == (400, error(code, message, 400))


def test_a_charset_in_content_type_does_not_change_the_query(api: ApiClient) -> None:
    charsets = [f"application/json; charset={name}" for name in ("utf-16", "bz2_codec", "utf-7", "nonsense", "idna")]
    for content_type in (*charsets, "a/b; x*=q''a", "a/b; x*=idna''%ff"):
        answer = api("GET", "/v1/pets?limit=3&status=sold&x=%FF", Content_Type=content_type)
        assert (answer.status_code, answer.content) == (200, b"[]")


class TestPaging:
    """Following `next` (RFC 8288)."""

    def test_additions_and_deletions_during_the_walk_shift_nothing(self, api: ApiClient, category: Category) -> None:
        present = [pet.pk for pet in PetFactory.create_batch(9, category=category)]
        seen: list[int] = []
        path: str | None = "/v1/pets?limit=2"
        while path:
            answer = api.get(path)
            seen += [pet["id"] for pet in answer.json()]
            path = next_path(answer)
            PetFactory(category=category)
            Pet.objects.filter(pk=seen[-1]).delete()  # the anchor of the next page
        assert seen == sorted(present, reverse=True)

    def test_a_cursor_outlives_the_secret_key(self, api: ApiClient, category: Category, settings: Any) -> None:
        PetFactory.create_batch(2, category=category)
        path = next_path(api.get("/v1/pets?limit=1")) or ""
        before, settings.SECRET_KEY = settings.SECRET_KEY, "another key " * 5
        assert api.get(path).json() == error("invalid_cursor", CURSOR, 400)
        settings.SECRET_KEY_FALLBACKS = [before]
        assert len(api.get(path).json()) == 1

    def test_a_changed_cursor_is_rejected(self, api: ApiClient, category: Category) -> None:
        PetFactory.create_batch(2, category=category)
        cursor = parse_qs(urlsplit(next_path(api.get("/v1/pets?limit=1")) or "").query)["cursor"][0]
        for place in range(len(cursor)):
            damaged = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
            assert api.get(f"/v1/pets?cursor={damaged}").json() == error("invalid_cursor", CURSOR, 400)


RUNNING = " | ".join(
    f"->  Index Scan using import_that_runs on {each}" for each in ("pets_importrun", "pets_importrun pets_importrun_1")
)
"""A look at the range of ids that a running import writes: its first and its last."""

LISTS = {
    "limit=5": ("pets_pet_pkey", "INTEGER PRIMARY KEY (rowid<?)"),
    "limit=5&status=sold": ("pet_status_id", "INDEX pet_status_id (status=? AND id<?)"),
    "limit=5&status=sold&categoryId=CATEGORY": (
        "pet_category_status_id",
        "INDEX pet_category_status_id (category_id=? AND status=? AND id<?)",
    ),
}
"""Queries with the index that each list is read along on PostgreSQL, and what SQLite says of it."""


class TestQueries:
    def test_two_queries_with_a_cold_key_and_one_with_a_warm_one(
        self, api: ApiClient, category: Category, django_assert_num_queries: Any
    ) -> None:
        PetFactory.create_batch(5, category=category)
        with django_assert_num_queries(2):
            api.get("/v1/pets")
        with django_assert_num_queries(1):
            first = api.get("/v1/pets?limit=2")
        with django_assert_num_queries(1):
            api.get(next_path(first) or "")

    @pytest.mark.parametrize("query", LISTS)
    def test_every_list_is_an_index_scan(self, api: ApiClient, category: Category, query: str) -> None:
        index, search = LISTS[query]
        plan = f"SEARCH pets_pet USING {search}"
        if connection.vendor == "postgresql":
            plan = f"{RUNNING} | ->  Index Scan Backward using {index} on pets_pet"
        for status in PetStatus.values:
            add_many(category, 2000, status)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL lock_timeout = 0")  # an autovacuum gives way after a second
            cursor.execute("ANALYZE pets_pet")
        path: str | None = f"/v1/pets?{query}".replace("CATEGORY", str(category.pk))
        seen = []
        for _page in range(2):
            with CaptureQueriesContext(connection) as captured:
                path = next_path(api.get(path or ""))
            seen.append(plan_of(captured.captured_queries[-1]["sql"]))
        assert seen == [plan] * 2

    def test_a_list_by_category_is_three_index_scans(self, api: ApiClient, category: Category) -> None:
        """One for each status, none of which reads more than a page."""
        add_many(category, 6000)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL lock_timeout = 0")
            cursor.execute("ANALYZE pets_pet")
        with CaptureQueriesContext(connection) as captured:
            assert len(api.get(f"/v1/pets?categoryId={category.pk}&limit=5").json()) == 5
        plan = plan_of(captured.captured_queries[-1]["sql"])
        assert plan.count("pet_category_status_id") == len(PetStatus.values)
        assert ("Seq Scan" in plan, "SCAN pets_pet" in plan, "pets_pet_pkey" in plan) == (False, False, False)

    @pytest.mark.postgresql("SQLite does not say what it read")
    def test_a_list_by_category_reads_what_it_returns(self, category: Category) -> None:
        """Beside one more animal of each status that it does not return."""
        for status in PetStatus.values * 3:
            add_many(category, 100, status)
        chosen = {"categoryId": category.pk}
        sql = list_of("postgresql", frozenset(chosen), 51)
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = 0; ANALYZE pets_pet{OPTIONS}")
        [[[plan]]] = rows(Statement(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", {"newest": INT64_MAX, **chosen}))
        read = [int(each) for each in re.findall(r"'Relation Name': 'pets_pet'.*?'Actual Rows': (\d+)", str(plan))]
        assert (len(read), sum(read)) == (3, 51 + 2)

    @pytest.mark.postgresql("SQLite's plan says where a search ends")
    @pytest.mark.parametrize("status", [{"status": "pending"}, {}])
    def test_a_status_without_animals_does_not_read_the_others(
        self, category: Category, status: dict[str, str]
    ) -> None:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE pets_pet CASCADE")  # other tests leave dead rows there
        add_many(category, 20_000)
        chosen = {"categoryId": category.pk, **status}
        sql = list_of("postgresql", frozenset(chosen), 6)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = 0; ANALYZE pets_pet")
        plan = rows(Statement(f"EXPLAIN (ANALYZE, BUFFERS) {sql}", {"newest": INT64_MAX, **chosen}))
        found = re.search("Buffers: shared hit=([0-9]+)(?: read=([0-9]+))?", str(plan))
        assert found
        assert sum(int(each or 0) for each in found.groups()) < 100


OPTIONS = PLANS.replace("-c", "; SET LOCAL")
"""As a statement, what the connections of the event loop have."""


def plan_of(sql: str) -> str:
    """Return the steps of the plan that reach rows; anything but a limit over one index shows up here.

    On PostgreSQL it is the plan of the prepared statement, which is the same whatever the parameters are.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            parameters = ", ".join(["NULL"] * len(set(re.findall(r"\$[0-9]", sql))))
            cursor.execute(f"{OPTIONS}; PREPARE page AS {sql}")
            cursor.execute(f"EXPLAIN (COSTS OFF) EXECUTE page ({parameters})")
            steps = cursor.fetchall()
            cursor.execute("DEALLOCATE page")
        else:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            steps = cursor.fetchall()
    written = (str(row[-1]).strip() for row in steps)
    reaching = [step for step in written if not step.startswith(("Limit", "->  Limit", "InitPlan", "Index Cond"))]
    return " | ".join(reaching)


@pytest.mark.postgresql("SQLite's readers never meet what is not committed")
class TestWhileAnImportWrites:
    """Lists skip its reserved IDs, and nothing else."""

    @pytest.fixture(autouse=True)
    def _animals(self, category: Category) -> None:
        """Animals 1 to 3 are old, 101 to 103 are being written, 201 to 203 were added by others meanwhile."""
        for number in (1, 2, 3, 101, 102, 103, 201, 202, 203):
            PetFactory(pk=number, category=category, status="sold" if number % 2 else "pending")
        ImportRun.objects.create(who="anna", file_name="a.csv", sha256="0" * 64, options={}, first_id=101, last_id=150)

    @pytest.mark.parametrize(
        ("query", "ids"),
        [
            ("", [203, 202, 201, 3, 2, 1]),
            ("limit=2", [203, 202, 201, 3, 2, 1]),
            ("limit=1&status=sold", [203, 201, 3, 1]),
            ("status=pending", [202, 2]),
            ("status=available", []),
            ("categoryId=CATEGORY&limit=2", [203, 202, 201, 3, 2, 1]),
            ("categoryId=CATEGORY&status=sold&limit=1", [203, 201, 3, 1]),
            ("categoryId=999999", []),
        ],
    )
    def test_a_walk_meets_all_others_once(self, api: ApiClient, category: Category, query: str, ids: list[int]) -> None:
        assert walk(api, f"/v1/pets?{query}".replace("CATEGORY", str(category.pk))) == ids

    def test_all_of_it_shows_when_it_is_done(self, api: ApiClient) -> None:
        ImportRun.objects.update(state="done")
        assert walk(api, "/v1/pets?limit=2") == [203, 202, 201, 103, 102, 101, 3, 2, 1]

    def test_a_walk_goes_on_into_what_was_committed_meanwhile(self, api: ApiClient) -> None:
        first = api.get("/v1/pets?limit=2")
        ImportRun.objects.update(state="done")
        assert walk(api, next_path(first) or "") == [201, 103, 102, 101, 3, 2, 1]

    def test_a_walk_in_the_old_part_stays_there(self, api: ApiClient) -> None:
        fourth = api.get("/v1/pets?limit=4")
        assert [pet["id"] for pet in fourth.json()] == [203, 202, 201, 3]
        ImportRun.objects.update(state="done")
        assert walk(api, next_path(fourth) or "") == [2, 1]

    def test_the_first_animals_of_a_catalogue(self, api: ApiClient) -> None:
        Pet.objects.filter(pk__lt=200).delete()
        assert walk(api, "/v1/pets?limit=2") == [203, 202, 201]

    def test_before_it_begins_to_write(self, api: ApiClient) -> None:
        ImportRun.objects.update(first_id=None, last_id=None)
        assert len(walk(api, "/v1/pets")) == 9
