"""`Idempotency-Key` on `POST /v1/pets`."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from categories.models import Category
from database.statements import Statement, Steps, run
from idempotency.models import IdempotentRequest
from idempotency.operations import once
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from rest.errors import APIError
from rest.requests import Request
from rest.results import Result
from tests.conftest import ApiClient, error
from tests.factories import APIKeyFactory, CategoryFactory

IN_USE = error("idempotency_key_reused", "This Idempotency-Key was already used with a different body.", 422)
MALFORMED = error("bad_request", "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters.", 400)


@pytest.fixture
def rex(category: Category) -> dict[str, Any]:
    return {"name": "Rex", "categoryId": category.pk}


def test_replay(api: ApiClient, rex: dict[str, Any]) -> None:
    first, again = (api.post("/v1/pets", rex, Idempotency_Key="order-1") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert first["Location"] == again["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert again["Idempotency-Replayed"] == "true"
    assert Pet.objects.count() == 1


def test_the_same_key_for_another_path_is_another_request(key: str) -> None:
    """No other path creates anything yet."""

    def creating() -> Steps[Result]:
        yield Statement("SELECT 1", {})
        return Result({"id": 1}, 201, {"Location": "/1"})

    def create(path: str) -> Result:
        request = Request({"REQUEST_METHOD": "POST", "PATH_INFO": path, "HTTP_IDEMPOTENCY_KEY": "order-1"})
        request.key = APIKey.objects.get()
        return run(once(request, dict, creating()))

    assert create("/v1/pets").status == 201
    assert create("/v1/pets").headers["Idempotency-Replayed"] == "true"
    with pytest.raises(APIError) as raised:
        create("/v1/toys")
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


def test_a_lost_race_replays_what_the_winner_stored(key: str) -> None:
    """The winner commits after the loser has read that there is nothing."""

    def creating() -> Steps[Result]:
        yield Statement("SELECT 1", {})
        return Result({"id": 1}, 201, {"Location": "/1"})

    def request() -> Steps[Result]:
        asked = Request({"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/pets", "HTTP_IDEMPOTENCY_KEY": "order-1"})
        asked.key = APIKey.objects.get()
        return once(asked, dict, creating())

    def losing() -> Steps[Result]:
        steps = request()
        nothing = yield next(steps)
        assert run(request()).headers == {"Location": "/1"}
        transaction = steps.send(nothing)
        try:
            yield transaction
        except IntegrityError as error:
            stored = yield steps.throw(error)
        with pytest.raises(StopIteration) as done:
            steps.send(stored)
        result: Result = done.value.value
        return result

    result = run(losing())
    assert (result.status, result.headers) == (201, {"Location": "/1", "Idempotency-Replayed": "true"})


def test_an_expired_response_is_not_replayed_if_creating_breaks_a_constraint(
    api: ApiClient, rex: dict[str, Any]
) -> None:
    """As an animal does whose category is deleted at the same moment."""
    api.post("/v1/pets", rex, Idempotency_Key="order-1")
    IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(hours=24))

    def creating() -> Steps[Result]:
        table = IdempotentRequest._meta.db_table
        yield Statement(f"INSERT INTO {table} SELECT * FROM {table}", {})
        return Result({})

    asked = Request({"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/pets", "HTTP_IDEMPOTENCY_KEY": "order-1"})
    asked.key = APIKey.objects.get()
    with pytest.raises(IntegrityError):
        run(once(asked, dict, creating()))


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


def test_an_error_is_not_stored(api: ApiClient, rex: dict[str, Any]) -> None:
    assert api.post("/v1/pets", {"name": "Rex"}, Idempotency_Key="order-1").status_code == 400
    assert not IdempotentRequest.objects.exists()
    assert api.post("/v1/pets", rex, Idempotency_Key="order-1").status_code == 201


def test_a_replay_does_not_need_its_category_any_more(api: ApiClient, rex: dict[str, Any], category: Category) -> None:
    first = api.post("/v1/pets", rex, Idempotency_Key="order-1")
    Pet.objects.all().delete()
    category.delete()
    again = api.post("/v1/pets", rex, Idempotency_Key="order-1")
    assert (again.status_code, again.content) == (201, first.content)


def test_each_api_key_for_itself(api: ApiClient, rex: dict[str, Any], db: None) -> None:
    other = ApiClient(APIKey.objects.issue(name="Other")[1])
    answers = [client.post("/v1/pets", rex, Idempotency_Key="order-1") for client in (api, other)]
    assert len({answer.json()["id"] for answer in answers}) == 2


def test_who_sends_the_same_key_as_another_caller_does_not_wait_for_it(db: None) -> None:
    def creating() -> Steps[Result]:
        return Result({})
        yield

    def turn(key: APIKey) -> object:
        asked = Request({"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/pets", "HTTP_IDEMPOTENCY_KEY": "order-1"})
        asked.key = key
        steps: Any = once(asked, dict, creating())
        next(steps)
        return steps.send([]).alone

    one, other = APIKeyFactory.create_batch(2)
    assert turn(one) == turn(one) != turn(other)


@pytest.mark.parametrize("sent", ["x", "x" * 255, f'"{"x" * 255}"', '"x_y"', "!#~", "a,b", '"', 'a"b'])
def test_forms_of_the_key(api: ApiClient, rex: dict[str, Any], sent: str) -> None:
    answers = [api.post("/v1/pets", rex, Idempotency_Key=sent) for _ in range(2)]
    assert [answer.get("Idempotency-Replayed") for answer in answers] == [None, "true"]


def test_quoted_and_bare_are_the_same_key(api: ApiClient, rex: dict[str, Any]) -> None:
    api.post("/v1/pets", rex, Idempotency_Key='"order-1"')
    assert api.post("/v1/pets", rex, Idempotency_Key="order-1")["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("sent", ["", " ", "x" * 256, f'"{"x" * 256}"', "a b", "é", "a\tb", '""'])
def test_malformed_keys(api: ApiClient, rex: dict[str, Any], sent: str) -> None:
    answer = api.post("/v1/pets", rex, Idempotency_Key=sent)
    assert (answer.status_code, answer.json()) == (400, MALFORMED)
    assert not Pet.objects.exists()


def test_a_list_ignores_the_header(api: ApiClient) -> None:
    assert api.get("/v1/pets", Idempotency_Key="x" * 300).status_code == 200


def test_after_24_hours_the_key_is_free(api: ApiClient, rex: dict[str, Any]) -> None:
    first = api.post("/v1/pets", rex, Idempotency_Key="order-1")
    IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(hours=24))
    second = api.post("/v1/pets", rex | {"name": "Max"}, Idempotency_Key="order-1")
    assert second.status_code == 201
    assert second.json()["id"] != first.json()["id"]


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


def test_a_new_key_costs_three_statements(api: ApiClient, rex: dict[str, Any]) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert api.post("/v1/pets", rex, Idempotency_Key="order-1").status_code == 201
    statements = [query["sql"].split()[0] for query in captured if "idempotency_idempotentrequest" in query["sql"]]
    assert statements == ["SELECT", "INSERT", "UPDATE"]
