"""The event loop's adapter behind the door, and what it does before it asks the database; without one."""

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from database.errors import SYNCHRONOUS_WAIT_CANCELED, _notice
from petstore_site.apikeys.keys import generate
from petstore_site.back_office.request_desk import records
from petstore_site.back_office.request_desk.models import RequestRecord
from petstore_site.errors import OverloadError
from petstore_site.serving.adapter import DEADLINE, UNCONFIRMED, Adapter
from petstore_site.serving.door import Door
from rest.request import Result
from tests.conftest import error
from tests.factories import APIKeyFactory
from tests.serving.calling import BreaksInCommit, Got, ask, scope
from tests.serving.proxy import silent

UNAVAILABLE = error("unavailable", "The service is temporarily unavailable.", 503)


@pytest.fixture(autouse=True)
def _local_host(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]


def no_thread(*_: object) -> Any:
    """Be an application that no request needs."""
    raise AssertionError


def door_with(driver: Any) -> Door:
    return Door(no_thread, 1, Adapter(driver))


def authorized(method: str = "POST", length: int = 2, **headers: str) -> dict[str, Any]:
    key = {"authorization": f"Bearer {generate('pets_test_')}", "content_type": "application/json"}
    return scope("/v1/pets", method, content_length=str(length), **key | headers)


BODY = b'{"name": "Rex", "categoryId": 1}'


def added(driver: Any, parts: Sequence[bytes | None] = (BODY,), length: int = len(BODY)) -> Got:
    """Return the response to an addition."""
    return asyncio.run(ask(door_with(driver), authorized(length=length), parts))


def json_of(got: Got) -> Any:
    return json.loads(got.body)


@pytest.mark.django_db
def test_a_request_that_may_be_done_is_for_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    key = APIKeyFactory()
    caplog.set_level(logging.INFO, "petstore.requests")
    got = added(BreaksInCommit(key.pk))
    assert (got.status, json_of(got)) == (503, UNAVAILABLE)
    assert (got.headers["Retry-After"], got.headers["Request-Outcome"]) == ("2", "unknown")
    errors = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert errors == ["Database error in a request that may be done: the connection broke: OperationalError"]
    [[line]] = [vars(record)["lines"] for record in caplog.records if record.name == "petstore.requests"]
    assert (line["route"], line["status"], line["key_id"]) == ("pet-list", 503, "Ab3dE6gH")
    records.flush()
    record = RequestRecord.objects.get()
    assert (record.route, record.status, record.key) == ("pet-list", 503, key)


class Unconfirmed(BreaksInCommit):
    """A driver that adds an animal, whose COMMIT no standby confirms: PostgreSQL only warns."""

    async def run(self, _steps: Any, _latest: float, /, **_options: bool) -> Any:
        _notice(SimpleNamespace(message_primary=f"{SYNCHRONOUS_WAIT_CANCELED} due to user request"))  # type: ignore[arg-type]
        return Result({"id": 1}, 201)


def test_an_addition_that_no_standby_confirmed_may_be_done(caplog: pytest.LogCaptureFixture) -> None:
    got = added(Unconfirmed())
    assert (got.status, json_of(got)) == (503, UNAVAILABLE)
    assert (got.headers["Retry-After"], got.headers["Request-Outcome"]) == ("2", "unknown")
    assert f"Database error in a request that may be done: {UNCONFIRMED}" in caplog.messages


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([BODY, None], ("bad_request", "The request body ended early.", 400)),
        (
            [BODY + b" " * 65_536],
            ("body_too_large", "The request body must have at most 65,536 bytes.", 413),
        ),
    ],
    ids=["cut short", "too long"],
)
def test_a_body_that_is_not_whole_adds_no_animal(parts: list[bytes | None], wanted: tuple[str, str, int]) -> None:
    """The part that came may be valid JSON."""
    got = added(BreaksInCommit(), parts, 65_600 if len(parts) == 1 else 60_000)
    assert (got.status, json_of(got)) == (wanted[2], error(*wanted))
    assert got.headers["Connection"] == "close"


@pytest.mark.parametrize(
    ("code", "asked", "scope"),
    [
        ("api_key_missing", {"authorization": ""}, "write"),
        ("method_not_allowed", {"method": "PUT"}, "write"),
        ("insufficient_scope", {}, "read"),
        ("rate_limited", {}, "write"),
    ],
)
@pytest.mark.parametrize(
    ("length", "more", "connection"),
    [(70_000, {}, "close"), (40, {}, None), (40, {"expect": "100-continue"}, "close")],
    ids=["long", "short", "not sent before 100"],
)
def test_what_is_rejected_does_not_wait_for_its_body(
    settings: Any,
    code: str,
    asked: dict[str, Any],
    scope: str,
    *,
    length: int,
    more: dict[str, str],
    connection: str | None,
) -> None:
    """A short one the server drops when it comes, and keeps the connection."""
    settings.RATE_LIMIT = "1/day"

    async def two() -> list[Got]:
        door = door_with(BreaksInCommit(scope=scope))
        sent = authorized(**asked, length=length, **more)
        if not asked.get("authorization", "x"):
            sent["headers"] = [pair for pair in sent["headers"] if pair[0] != b"authorization"]
        first = await ask(door, authorized("GET", 0))
        return [first, await asyncio.wait_for(ask(door, sent), 8)]

    _, got = asyncio.run(two())
    assert (json_of(got)["code"], got.headers.get("Connection")) == (code, connection)


@pytest.mark.parametrize(
    ("asked", "scope", "limit"),
    [
        ({"method": "PUT"}, "write", '"default";r=5;t=86400'),
        ({}, "read", '"default";r=5;t=86400'),
        ({"content_type": "text/plain"}, "write", '"default";r=4;t=86400'),
        ({"authorization": "Bearer x"}, "write", None),
    ],
    ids=["405", "403", "415", "401"],
)
def test_what_is_rejected_says_what_is_left_of_the_limit(
    settings: Any, asked: dict[str, Any], scope: str, limit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RATE_LIMIT = "5/day"
    monkeypatch.setattr("time.time", lambda: 0.0)  # or a pause would show in RateLimit
    got = asyncio.run(ask(door_with(BreaksInCommit(scope=scope)), authorized(**asked), [b"{}"]))
    assert got.headers.get("RateLimit") == limit


def test_a_bug_in_what_counts_is_an_error_too(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response to a rejected request says what is left of its limit, but not if that is what failed."""
    settings.RATE_LIMIT = "5/day"
    monkeypatch.setattr("rest.limits.limiter", mock.Mock(side_effect=RuntimeError))
    got = asyncio.run(ask(door_with(BreaksInCommit()), authorized("GET", 0)))
    failed = error("internal_error", "Something went wrong on our side.", 500)
    assert (got.status, json_of(got), got.headers.get("RateLimit")) == (500, failed, None)


def test_the_loop_does_not_wait_for_the_cache(settings: Any) -> None:
    settings.RATE_LIMIT = "5/day"

    async def turns_of_others() -> int:
        asked = asyncio.ensure_future(ask(door_with(BreaksInCommit()), authorized("GET", 0)))
        turns = 0
        while not asked.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    with silent() as (host, port):
        settings.CACHE_URL = f"redis://{host}:{port}/0"
        assert asyncio.run(turns_of_others()) > 10


class KnowsItsDeadline(BreaksInCommit):
    """A driver that takes long to find a key, and keeps how much of its time a request then has."""

    left = 0.0

    async def run(self, steps: Any, latest: float, /, **options: bool) -> Any:
        assert options == {"reads": False}
        self.left = latest - time.perf_counter()
        return await super().run(steps, latest, **options)

    async def run_for_key(self, steps: Any) -> Any:
        await asyncio.sleep(0.3)
        return await super().run_for_key(steps)


def test_the_time_before_the_operation_counts_towards_the_deadline() -> None:
    driver = KnowsItsDeadline()
    begun = time.perf_counter()
    added(driver)
    assert DEADLINE - (time.perf_counter() - begun) <= driver.left <= DEADLINE - 0.3


class FullForWrites(BreaksInCommit):
    """A driver whose connections for writes are all in use."""

    def admit(self, *, reads: bool) -> None:
        """Admit reads only."""
        if not reads:
            raise OverloadError


def test_an_addition_that_would_wait_too_long_is_rejected_and_a_read_is_not() -> None:
    rejected = added(FullForWrites())
    assert (rejected.status, rejected.headers["Retry-After"], rejected.headers["Request-Outcome"]) == (
        503,
        "1",
        "not-done",
    )
    tried = asyncio.run(ask(door_with(FullForWrites()), authorized("GET", 0)))
    assert (tried.status, tried.headers["Retry-After"]) == (503, "2"), "its connection broke"
