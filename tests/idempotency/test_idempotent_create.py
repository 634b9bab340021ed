"""`Idempotency-Key` on `POST /v1/pets`."""

import json
import re
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg.errors import UniqueViolation

from categories.models import Category
from database.statements import Steps, parameter, run
from idempotency.models import IdempotentRequest
from idempotency.operations import Creation, once
from pets import statements
from pets.models import Pet
from pets.operations import NewPet
from petstore_site.apikeys import lookup
from petstore_site.apikeys.models import APIKey
from rest.errors import APIError
from rest.media_type import render_json
from rest.request import Request, Result
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory
from tests.serving.calling import scope

IN_USE = error("idempotency_key_reused", "This Idempotency-Key was already used with a different body.", 422)


@pytest.fixture
def rex(category: Category) -> dict[str, Any]:
    return {"name": "Rex", "categoryId": category.pk}


def create(key: str, path: str = "/v1/pets") -> Steps[Result | None]:
    """Add an animal with the key `order-1` at this path; only one path adds anything yet."""
    request = Request(scope(path, "POST", idempotency_key="order-1"))
    request.key = lookup.find(key)
    sent = NewPet({"name": "Rex", "categoryId": Category.objects.get().pk}).values
    by = {"now": parameter(timezone.now()), "actor": "", "request_id": ""}
    return once(request, {}, Creation(statements.ADDITION, sent | by, {"name": "0"}))


def test_the_same_key_for_another_path_is_another_request(key: str, category: Category) -> None:
    first, again = run(create(key)), run(create(key))
    pk = Pet.objects.get().pk
    assert first == Result({"id": pk, "name": "0"}, 201, {"Location": f"http://localhost/v1/pets/{pk}"})
    assert again
    assert (again.status, render_json(again.data)) == (201, b'{"id":%d,"name":"0"}' % pk)
    assert again.headers == {**first.headers, "Idempotency-Replayed": "true"}
    with pytest.raises(APIError) as raised:
        run(create(key, "/v1/toys"))
    assert raised.value.get_codes() == "idempotency_key_reused"


def test_a_key_that_an_earlier_release_stored_still_replays(api: ApiClient) -> None:
    """It is `sha256sum` of `/v1/pets`, a line feed and the fields: sorted, in ASCII, with their defaults.

    A field that NewPet gets later must be left out of them while it is not sent.
    """
    CategoryFactory(pk=7)
    api.post("/v1/pets", {"name": "Zo\u00eb", "categoryId": 7}, Idempotency_Key="order-1")
    stored = "e733e9db0644abaad0c4f887b354a211ba14ded0c53addedfeafead12904859b"
    assert IdempotentRequest.objects.get().fingerprint == stored


def test_a_replay_only_reads(api: ApiClient, rex: dict[str, Any], django_assert_num_queries: Any) -> None:
    """It takes no lock and no ID."""
    api.post("/v1/pets", rex, Idempotency_Key="order-1")
    with django_assert_num_queries(1):
        assert api.post("/v1/pets", rex, Idempotency_Key="order-1").status_code == 201


def test_a_lost_race_replays_what_the_winner_stored(key: str, category: Category) -> None:
    """The winner commits after the loser has read that there is nothing. PostgreSQL then rejects the second row."""

    def losing() -> Steps[Result | None]:
        steps = create(key)
        step = next(steps)
        if connection.vendor == "sqlite":
            step = steps.send((yield step))
            run(create(key))
        else:
            run(create(key))
            rejected = IntegrityError()
            rejected.__cause__ = UniqueViolation()
            step = steps.throw(rejected)
        with pytest.raises(StopIteration) as done:
            steps.send((yield step))
        result: Result = done.value.value
        return result

    result = run(losing())
    pk = Pet.objects.get().pk
    assert result
    assert (result.status, result.headers) == (
        201,
        {"Location": f"http://localhost/v1/pets/{pk}", "Idempotency-Replayed": "true"},
    )


def test_what_else_breaks_a_constraint_is_not_tried_again(key: str, category: Category) -> None:
    """As an animal does whose category is deleted at the same moment: the caller can repeat the request."""
    steps = create(key)
    next(steps)
    with pytest.raises(IntegrityError):
        steps.throw(IntegrityError())


@pytest.mark.parametrize(
    "same",
    [
        b'{"categoryId":%d,"name":"Rex"}',
        b'{"name":"Rex","categoryId":%d.0}',
        b'{"name":"Rex","categoryId":%de0}',
        b'{"name":"\\u0052ex","categoryId":%d}',
        b'{"name":"Rex","categoryId":%d,"status":"available"}',
        b'{"name":"Rex","categoryId":%d,"colour":"red","id":7}',
        b'{"name":"Max","name":"Rex","categoryId":%d}',
    ],
)
@pytest.mark.parametrize("first_is_plain", [True, False])
def test_what_means_the_same_is_the_same_request(
    api: ApiClient, rex: dict[str, Any], same: bytes, first_is_plain: bool
) -> None:
    sent = [rex, same % rex["categoryId"]]
    first, again = (
        api.post("/v1/pets", body, Idempotency_Key="order-1") for body in (sent if first_is_plain else reversed(sent))
    )
    assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (201, 201, "true")
    assert first.content == again.content


@pytest.mark.parametrize(
    "change", [{"name": "Max"}, {"name": "rex"}, {"name": "Rex "}, {"status": "sold"}, {"status": None}]
)
def test_another_payload(api: ApiClient, rex: dict[str, Any], change: dict[str, Any]) -> None:
    api.post("/v1/pets", rex, Idempotency_Key="order-1")
    answer = api.post("/v1/pets", rex | change, Idempotency_Key="order-1")
    assert (answer.status_code, answer.json()) == (422, IN_USE)
    assert Pet.objects.count() == 1


def test_a_number_and_a_string_are_not_the_same_payload(api: ApiClient, rex: dict[str, Any]) -> None:
    written = b'{"name":"Rex","categoryId":%s}'
    sent = [written % number for number in (b"%d.0" % rex["categoryId"], b'"%d.0"' % rex["categoryId"])]
    assert [api.post("/v1/pets", body, Idempotency_Key="order-1").status_code for body in sent] == [201, 422]


def test_a_replay_does_not_need_its_category_any_more(api: ApiClient, rex: dict[str, Any], category: Category) -> None:
    first = api.post("/v1/pets", rex, Idempotency_Key="order-1")
    Pet.objects.all().delete()
    category.delete()
    again = api.post("/v1/pets", rex, Idempotency_Key="order-1")
    assert (again.status_code, again.content) == (201, first.content)


class TestRotation:
    """A caller is an API key with all that it replaces, and all that replace it."""

    @pytest.fixture
    def keys(self, api: ApiClient) -> list[ApiClient]:
        """Return the clients of a key, of the one that replaced it, and of the one that replaced that."""
        second, secret = APIKey.objects.get().rotate(grace=timedelta(hours=1))
        _, last_secret = second.rotate(grace=timedelta(hours=1))
        return [api, ApiClient(secret), ApiClient(last_secret)]

    @pytest.mark.parametrize(("first", "second"), [*permutations(range(3), 2)])
    def test_a_retry_with_another_key_of_the_caller(
        self, keys: list[ApiClient], rex: dict[str, Any], first: int, second: int
    ) -> None:
        added = keys[first].post("/v1/pets", rex, Idempotency_Key="order-1")
        again = keys[second].post("/v1/pets", rex, Idempotency_Key="order-1")
        reused = keys[second].post("/v1/pets", rex | {"name": "Max"}, Idempotency_Key="order-1")
        assert (added.status_code, again.status_code, again["Idempotency-Replayed"]) == (201, 201, "true")
        assert (again.content, again["Location"]) == (added.content, added["Location"])
        assert (reused.status_code, reused.json()) == (422, IN_USE)
        assert Pet.objects.count() == 1

    def test_the_response_is_stored_once(self, keys: list[ApiClient], rex: dict[str, Any]) -> None:
        """For the first key of the caller, where 1.6 finds it too."""
        keys[2].post("/v1/pets", rex, Idempotency_Key="order-1")
        assert [row.api_key for row in IdempotentRequest.objects.all()] == [APIKey.objects.earliest("pk")]


@pytest.mark.postgresql("SQLite takes no ID that it does not use")
def test_what_adds_nothing_uses_no_id(api: ApiClient, rex: dict[str, Any]) -> None:
    first = api.post("/v1/pets", rex, Idempotency_Key="order-1")
    bodies = [rex, rex, rex | {"name": "Max"}, rex | {"name": ""}, rex | {"categoryId": 999}]
    answers = [api.post("/v1/pets", body, Idempotency_Key="order-1") for body in bodies]
    answers.append(api.post("/v1/pets", rex | {"categoryId": 999}, Idempotency_Key="order-2"))
    assert [answer.status_code for answer in answers] == [201, 201, 422, 422, 422, 400]
    assert api.post("/v1/pets", rex).json()["id"] == first.json()["id"] + 1


def test_purge_expired(api: ApiClient, rex: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("old", "new"):
        api.post("/v1/pets", rex, Idempotency_Key=key)
    IdempotentRequest.objects.filter(key="old").update(created_at=timezone.now() - timedelta(hours=25))
    call_command("purge_expired")
    call_command("purge_expired", "--json")
    assert capsys.readouterr().out == (
        "Deleted 1 idempotency keys and 0 request records.\n"
        '{"idempotency_keys": 0, "request_records": 0, "dry_run": false}\n'
    )
    assert [row.key for row in IdempotentRequest.objects.all()] == ["new"]


def test_a_purge_of_many_is_done_in_small_steps(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One statement would keep every other writer of SQLite waiting, for half a minute for a million."""
    api_key = APIKey.objects.get().pk
    for pk in (7, 2_006, 2_007, 6_100):
        IdempotentRequest.objects.create(pk=pk, api_key_id=api_key, key=f"old-{pk}")
    IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(hours=25))
    IdempotentRequest.objects.create(pk=2_008, api_key_id=api_key, key="new")
    with CaptureQueriesContext(connection) as captured:
        call_command("purge_expired", "--yes", "--json")
    assert json.loads(capsys.readouterr().out) == {"idempotency_keys": 4, "request_records": 0, "dry_run": False}
    statements = [query["sql"] for query in captured if "idempotency_idempotentrequest" in query["sql"]]
    assert [re.findall(r"BETWEEN (\d+) AND (\d+)", each) for each in statements] == [
        [],
        [("7", "2006")],
        [("2007", "4006")],
        [("4007", "6006")],
        [("6007", "8006")],
    ]
    assert [row.key for row in IdempotentRequest.objects.all()] == ["new"]


def test_what_a_new_key_costs(api: ApiClient, rex: dict[str, Any]) -> None:
    """One statement; on SQLite, where a statement is a call, a read before the transaction and two in it."""
    with CaptureQueriesContext(connection) as captured:
        assert api.post("/v1/pets", rex, Idempotency_Key="order-1").status_code == 201
    statements = [query["sql"].split()[0] for query in captured if "idempotency_idempotentrequest" in query["sql"]]
    assert statements == (["WITH"] if connection.vendor == "postgresql" else ["SELECT", "SELECT", "INSERT"])
