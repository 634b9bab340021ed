"""`GET /v1/changes`, an addition to the interface document: the feed that keeps a copy in step."""

import time
from contextlib import closing
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from django.core.signing import Signer, b64_decode
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from categories.models import Category
from database.statements import Statement, rows
from pets import feed
from pets.models import Pet
from pets.operations import CHANGES
from petstore_site.back_office.request_desk import records
from petstore_site.back_office.request_desk.models import RequestRecord
from petstore_site.serving.postgresql import PLANS
from rest.request import Request
from tests.api.test_list_pets import CURSOR, LIMIT, ONCE, next_path
from tests.conftest import ApiClient, error
from tests.factories import PetFactory
from tests.server import until
from tests.serving.calling import scope
from tests.whole import shown

pytestmark = pytest.mark.django_db(transaction=True)

Page = list[dict[str, Any]]
EXPIRED = error(
    "cursor_expired", "The cursor is no longer valid: the catalogue was restored or moved, or our key changed.", 410
)
on_postgresql = pytest.mark.postgresql("SQLite lets one transaction write")


def cursors() -> Any:
    """Return what writes and reads the cursors of the feed."""
    return CHANGES.read(Request(scope("/v1/changes"))).cursors


SECONDS = 300.0
"""How long a transaction in another database of the server, of another test, can hold the feed up."""

SETTLED = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > '{}'::xid8"


def settle() -> None:
    """Wait until everything that was done is old enough for the feed."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id()")
            last = cursor.fetchone()[0]
            until(lambda: cursor.execute(SETTLED.format(last)).fetchone() == (True,), seconds=SECONDS)


def begin(api: ApiClient, query: str = "") -> str:
    """Return the path of the first page with changes, of those that are still to come."""
    settle()
    answer = api.get(f"/v1/changes{query}")
    assert (answer.status_code, answer.json()) == (200, [])
    return next_path(answer) or ""


def follow(api: ApiClient, path: str, count: int) -> tuple[list[Page], str]:
    """Return the pages until `count` changes were listed, and the path of the next one."""
    settle()
    pages: list[Page] = []
    while sum(map(len, pages)) < count:
        answer = api.get(path)
        assert answer.status_code == 200, answer.content
        path = next_path(answer) or ""
        pages.append(answer.json())
        assert pages[-1], "the feed is empty"
    return pages, path


class Copy:
    """A copy of the catalogue that follows the feed, page by page."""

    def __init__(self, api: ApiClient) -> None:
        """Copy all animals: a page of them is enough."""
        self.api, self.path = api, begin(api)
        self.animals = {pet["id"]: pet for pet in api.get("/v1/pets?limit=100").json()}

    def follow(self) -> dict[int, Any]:
        """Apply the next page, and return the animals by their IDs."""
        answer = self.api.get(f"{self.path}&limit=100")
        assert answer.status_code == 200, answer.content
        for change in answer.json():
            self.animals.pop(change["petId"], None)
            self.animals |= {change["petId"]: change["pet"]} if change["change"] == "saved" else {}
        self.path = next_path(answer) or ""
        return self.animals


def catalogue() -> dict[int, Any]:
    """Return all animals by their IDs, as a copy has them."""
    return {pet.pk: saved(pet)["pet"] for pet in Pet.objects.all()}


def saved(pet: Pet) -> dict[str, Any]:
    """Return what is listed of an animal that is there."""
    pet.refresh_from_db()
    animal = shown(id=pet.pk, name=pet.name, categoryId=pet.category_id, status=pet.status)
    return {"petId": pet.pk, "change": "saved", "pet": animal}


def test_each_change_has_the_animal_as_it_is(api: ApiClient, reader: ApiClient, category: Category) -> None:
    old = PetFactory(name="Old", category=category)
    path = begin(reader)
    rex = api.post("/v1/pets", {"name": "Rex", "categoryId": category.pk}).json()
    old.status = "sold"
    old.save()
    luna = PetFactory(name="Luna", category=category)
    luna_id = luna.pk
    luna.delete()
    pages, path = follow(reader, path, 3)
    assert pages == [
        [
            {"petId": rex["id"], "change": "saved", "pet": rex},
            {
                "petId": old.pk,
                "change": "saved",
                "pet": shown(id=old.pk, name="Old", categoryId=category.pk, status="sold"),
            },
            {"petId": luna_id, "change": "removed"},
        ]
    ]
    answer = reader.get(path)
    assert (answer.status_code, answer.json(), next_path(answer)) == (200, [], path)
    assert reader.get(path, If_None_Match=answer["ETag"]).status_code == 304


def test_an_animal_is_listed_once_per_page_and_every_page_is_followed(api: ApiClient, category: Category) -> None:
    path = begin(api, "?limit=2")
    assert path.startswith("/v1/changes?cursor=")
    one, other = PetFactory.create_batch(2, category=category)
    with transaction.atomic():  # of one transaction: a page ends at the ID of a row
        for name in ("Rex", "Max"):
            for pet in (one, one, other):
                pet.name = name
                pet.save()
    settle()
    assert [len(api.get(f"{path}&limit={limit}").json()) for limit in (1, 3, 6)] == [1, 2, 2]
    pages, path = follow(api, path, 6)
    assert pages == [[saved(one), saved(other)], [saved(one)], [saved(other), saved(one)], [saved(one), saved(other)]]
    assert api.get(path).json() == []


def test_a_feed_of_nothing_begins_at_the_first_change(api: ApiClient, category: Category) -> None:
    path = begin(api)
    pet = PetFactory(category=category)
    assert follow(api, path, 1)[0] == [[saved(pet)]]


@on_postgresql
def test_what_began_before_is_waited_for(api: ApiClient, category: Category) -> None:
    """The transaction that began first ends last, and both change one animal: what is listed is how it is."""
    pet = PetFactory(name="Rex", category=category)
    path = begin(api)
    with closing(connection.copy()) as first:
        first.set_autocommit(False)
        first.cursor().execute("SELECT pg_current_xact_id()")
        pet.name = "Max"
        pet.save()
        assert api.get(path).json() == []
        during = next_path(api.get("/v1/changes")) or ""
        with first.cursor() as cursor:
            cursor.execute("UPDATE pets_pet SET name = 'Luna'")
            cursor.execute(
                "INSERT INTO pets_petchange (id, name, category_id, status, history_type, history_date, actor, request_id)"
                " SELECT id, name, category_id, status, '~', now(), '', '' FROM pets_pet"
            )
        first.commit()
    assert follow(api, path, 1)[0] == follow(api, during, 1)[0] == [[saved(pet)]]
    assert pet.name == "Luna"


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("limit=0", "invalid_parameter", LIMIT),
        ("limit=101", "invalid_parameter", LIMIT),
        ("limit=1&limit=2", "invalid_parameter", f"limit {ONCE}"),
        *[(f"cursor={value}", "invalid_cursor", CURSOR) for value in ("", "abc", "%00", "WzFd.abc")],
        ("cursor=a&cursor=b", "invalid_parameter", f"cursor {ONCE}"),
        ("limit=0&cursor=a", "invalid_parameter", f"{LIMIT} cursor is damaged or belongs to another list."),
    ],
)
def test_parameters_are_strict(api: ApiClient, query: str, code: str, message: str) -> None:
    answer = api.get(f"/v1/changes?{query}")
    assert (answer.status_code, answer.json()) == (400, error(code, message, 400))


def test_limits_and_the_request_desk_apply_as_to_lists(
    reader: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RATE_LIMIT = "2/h"
    monkeypatch.setattr("time.time", lambda: 0.0)  # or a pause would show in RateLimit
    answers = [reader.get("/v1/changes"), reader.get("/v1/changes?cursor=x"), reader.get("/v1/changes")]
    assert [answer.status_code for answer in answers] == [200, 400, 429]
    assert [answer["RateLimit"] for answer in answers] == [f'"default";r={left};t=3600' for left in (1, 0, 0)]
    assert answers[2].json() == error("rate_limited", "Too many requests.", 429)
    records.flush()
    written = RequestRecord.objects.order_by("pk").values_list("method", "route", "status", "code")
    assert [*written] == [
        ("GET", "change-list", 400, "invalid_cursor"),
        ("GET", "change-list", 429, "rate_limited"),
    ]


def test_a_cursor_of_another_list_is_rejected(api: ApiClient, category: Category) -> None:
    PetFactory.create_batch(2, category=category)
    for foreign, path in (("/v1/pets?limit=1", "/v1/changes"), ("/v1/changes", "/v1/pets")):
        cursor = (next_path(api.get(foreign)) or "").partition("cursor=")[2]
        answer = api.get(f"{path}?cursor={cursor}")
        assert (answer.status_code, answer.json()) == (400, error("invalid_cursor", CURSOR, 400))


def elsewhere(api: ApiClient, path: str, **changed: Any) -> Any:
    """Ask with a cursor in which something is different."""
    limit, *place = cursors().read(path.partition("cursor=")[2])
    return api.get(f"/v1/changes?cursor={cursors().write([limit, *feed.Place(*place)._replace(**changed)])}")


def test_a_cursor_of_a_former_secret_key_ends_the_feed(api: ApiClient, category: Category, settings: Any) -> None:
    path = begin(api)
    pet = PetFactory(category=category)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another key " * 5
    answer = api.get(path)
    assert (answer.status_code, answer.json()) == (410, EXPIRED)
    settings.SECRET_KEY_FALLBACKS = [former]
    pages, path = follow(api, path, 1)
    assert pages == [[saved(pet)]]
    settings.SECRET_KEY_FALLBACKS = []
    assert api.get(path).json() == []


@pytest.mark.parametrize("secret", ["", "another key " * 5])
def test_a_damaged_cursor_is_an_invalid_one(api: ApiClient, settings: Any, secret: str) -> None:
    """Whatever key encrypted it."""
    cursor = begin(api).partition("cursor=")[2]
    settings.SECRET_KEY = secret or settings.SECRET_KEY
    damaged = [cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :] for at in range(len(cursor))]
    for each in [
        *damaged,
        cursor[:-1],
        cursor[1:],
        f"{cursor}A",
        f"{cursor}=",
        f"%20{cursor}",
        f"{cursor[:9]}%FF{cursor[9:]}",
    ]:
        answer = api.get(f"/v1/changes?cursor={each}")
        assert (answer.status_code, answer.json()) == (400, error("invalid_cursor", CURSOR, 400)), each


def test_a_cursor_reveals_nothing_of_the_server(api: ApiClient, category: Category) -> None:
    path = begin(api)
    PetFactory(category=category)
    cursor = follow(api, path, 1)[1].partition("cursor=")[2]
    _limit, *place = cursors().read(cursor)
    said = b64_decode(cursor.encode())
    assert [text for text in map(str, place) if len(text) > 2 and text.encode() in said] == []


def test_a_cursor_of_the_release_before_goes_on(api: ApiClient, category: Category, settings: Any) -> None:
    path = begin(api)
    pet = PetFactory(category=category)
    place = cursors().read(path.partition("cursor=")[2])
    signer = Signer(key=settings.SECRET_KEY, sep=".", salt="/v1/changes?")
    assert follow(api, f"/v1/changes?cursor={signer.sign_object(place)}", 1)[0] == [[saved(pet)]]


@on_postgresql
@pytest.mark.slow
@pytest.mark.each_database
def test_a_header_says_since_when_the_feed_is_held_up(api: ApiClient, category: Category) -> None:
    path = begin(api)
    with closing(connection.copy()) as other:
        other.set_autocommit(False)
        other.cursor().execute("SELECT pg_current_xact_id()")
        began = time.time()
        PetFactory(category=category)
        answer = api.get(path)
        assert (answer.json(), "Changes-Delayed-Since" in answer) == ([], False)
        until(lambda: "Changes-Delayed-Since" in api.get(path), seconds=SECONDS)
        assert time.time() - began > feed.PATIENCE
        delayed = [api.get(path), api.get(path, If_None_Match=answer["ETag"]), api.get("/v1/changes")]
        assert [each.status_code for each in delayed] == [200, 304, 200]
        for each in delayed:
            assert abs(parsedate_to_datetime(each["Changes-Delayed-Since"]).timestamp() - began) < 2
        other.rollback()
    follow(api, path, 1)
    assert "Changes-Delayed-Since" not in api.get(path)


@pytest.mark.parametrize("restore", ["the row is gone", "its number is that of another row"])
def test_a_restored_database_ends_the_feed(api: ApiClient, category: Category, restore: str) -> None:
    pet = PetFactory(category=category)
    path = follow(api, begin(api), 0)[1]
    assert elsewhere(api, path).status_code == 200
    pet.save()
    path = follow(api, path, 1)[1]
    last = Pet.history.order_by("-history_id")[:1]
    if restore == "the row is gone":
        Pet.history.filter(pk__in=[each.pk for each in last]).delete()
    else:
        Pet.history.filter(pk__in=[each.pk for each in last]).update(history_date="2026-01-01T00:00:00Z")
    answer = api.get(path)
    assert (answer.status_code, answer.json()) == (410, EXPIRED)
    assert answer["Link"] == '</docs/errors/cursor_expired>; rel="help"'


@on_postgresql
@pytest.mark.parametrize("changed", [{"server": "1/1"}, {"timeline": 0}, {"timeline": 2}, {"wal": "FFFFFFFF/0"}])
def test_another_database_ends_the_feed(api: ApiClient, changed: dict[str, Any]) -> None:
    answer = elsewhere(api, begin(api), **changed)
    assert (answer.status_code, answer.json()) == (410, EXPIRED)


def test_a_page_is_one_query(api: ApiClient, category: Category) -> None:
    path = begin(api)
    PetFactory.create_batch(30, category=category)
    follow(api, path, 20)
    for each in ("/v1/changes", path):
        with CaptureQueriesContext(connection) as queries:
            assert api.get(each).status_code == 200
        asked = [query for query in queries if "apikey" not in query["sql"]]  # a key is looked up once a second
        assert len(asked) == 1


@on_postgresql
@pytest.mark.parametrize("count", [None, 20])
def test_the_plan_reads_no_more_than_a_page(api: ApiClient, category: Category, count: int | None) -> None:
    """In the event loop's connections as in those of threads, however small the tables were when it was planned."""
    PetFactory.create_batch(3, category=category)
    plan = explain(feed.feed("postgresql", count), feed.Place()._asdict())
    assert "Seq Scan" not in plan
    assert "Sort" not in plan
    assert "pet_change_feed" in plan
    assert "JIT" not in plan


def explain(sql: str, values: dict[str, Any]) -> str:
    with transaction.atomic(), connection.cursor() as cursor:
        for setting in PLANS.split("-c ")[1:]:
            cursor.execute(f"SET LOCAL {setting}")
        return "\n".join(row[0] for row in rows(Statement(f"EXPLAIN (ANALYZE) {sql}", values)))
