"""Every request gets its response in time, even if something hangs: the limits of docs/deadlines.md, with a real PostgreSQL."""

import os
import signal
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from statistics import median
from uuid import uuid4

import psycopg
import pytest

from tests.outages import frozen, locked, standby_lost
from tests.protocol.wire import answer_on, connected
from tests.server import SECONDS, Answer, Gunicorn, head_of_post, manage, running_server, until
from tests.timed import Timed, at_once, soon, timed
from tests.with_postgresql import Server

LONGEST = 7.0
"""Seconds that any request may take."""

SLACK = 3.0
"""Seconds for a machine that is busy with other tests."""

UNAVAILABLE = {"code": "unavailable", "message": "The service is temporarily unavailable.", "status": 503}


@pytest.fixture(scope="module")
def service(postgresql: Server) -> Iterator[Gunicorn]:
    """One worker with four threads."""
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    with running_server(database=postgresql.url, workers=1) as service:
        yield service


@pytest.fixture(scope="module")
def key(service: Gunicorn) -> str:
    service.command("load_demo_data")
    return service.issue_key("Caller")


def get(service: Gunicorn, key: str, path: str = "/v1/pets") -> Timed:
    return timed(lambda: service.get(path, key))


def post(service: Gunicorn, key: str, once: str = "") -> Timed:
    more = {"Idempotency_Key": once} if once else {}
    return timed(lambda: service.post("/v1/pets", key, {"name": f"Rex {once}", "categoryId": 1}, **more))


def stored(service: Gunicorn, key: str, once: str) -> int:
    return [pet["name"] for pet in service.get("/v1/pets?limit=100", key).json()].count(f"Rex {once}")


def keyed(service: Gunicorn, key: str) -> Timed:
    return post(service, key, uuid4().hex)


def livez(service: Gunicorn) -> Timed:
    return timed(lambda: service.send("GET", "/livez"))


def assert_alive(service: Gunicorn) -> None:
    """`/livez` needs neither the database nor a thread."""
    assert soon(lambda: livez(service), 0.5).answer.status == 200


def assert_not_ready(service: Gunicorn) -> None:
    """`/readyz` says so within a second, also while all threads hang."""
    answer = soon(lambda: timed(lambda: service.send("GET", "/readyz")), 1.25).answer
    assert (answer.status, answer.json()["message"]) == (503, "Not ready: database, migrations.")


def assert_well(service: Gunicorn, key: str) -> None:
    """Reads and writes work again within 2 s, in every thread."""
    begun = time.monotonic()
    until(lambda: post(service, key).answer.status == 201)
    assert time.monotonic() - begun < 2 + SLACK
    answers = at_once(
        *[lambda: post(service, key)] * 3, *[lambda: keyed(service, key)] * 3, *[lambda: get(service, key)] * 6
    )
    assert Counter(each.answer.status for each in answers) == {201: 6, 200: 6}


def test_a_stopped_database_fails_soon_and_then_at_once(service: Gunicorn, postgresql: Server, key: str) -> None:
    assert_well(service, key)
    postgresql.stop()
    try:
        first = at_once(
            *[lambda: get(service, key)] * 24, *[lambda: post(service, key), lambda: keyed(service, key)] * 4
        )
        assert {each.answer.status for each in first} == {503}
        assert max(each.seconds for each in first) < 2.5 + SLACK
        assert_alive(service)
        after = soon(lambda: post(service, key), 0.5).answer
        assert after.json() == UNAVAILABLE
        assert (after.headers["Retry-After"], after.headers["Request-Outcome"]) == ("2", "not-done")
    finally:
        postgresql.start()
    assert_well(service, key)


def test_a_frozen_database_holds_no_request_longer_than_the_limit(
    service: Gunicorn, postgresql: Server, key: str
) -> None:
    assert_well(service, key)
    with frozen(postgresql), ThreadPoolExecutor(1) as pool:
        callers = pool.submit(
            at_once, *[lambda: get(service, key)] * 20, *[lambda: post(service, key), lambda: keyed(service, key)] * 5
        )
        for _ in range(3):
            time.sleep(0.5)
            assert_alive(service)
            assert_not_ready(service)
        answers = callers.result()
        assert {each.answer.status for each in answers} == {503}
        assert max(each.seconds for each in answers) < LONGEST + SLACK
    assert_well(service, key)


@pytest.mark.parametrize("add", [post, keyed])
def test_a_commit_that_waits_for_a_lost_standby(
    service: Gunicorn, postgresql: Server, key: str, add: Callable[[Gunicorn, str], Timed]
) -> None:
    assert_well(service, key)
    with standby_lost(postgresql), ThreadPoolExecutor(1) as pool:
        writers = pool.submit(at_once, *[lambda: add(service, key)] * 8)
        for path in ("/v1/pets", "/v1/pets/1", "/v1/categories") * 2:
            time.sleep(0.3)
            read = get(service, key, path)
            assert (path, read.answer.status) == (path, 200)
            assert read.seconds < 1 + SLACK
            until(lambda: service.send("GET", "/readyz").status == 200, seconds=1 + SLACK)
            assert_alive(service)
        written = writers.result()
    assert [each.answer.json() for each in written] == [UNAVAILABLE] * 8
    assert max(each.seconds for each in written) < LONGEST + SLACK
    outcomes = Counter(each.answer.headers["Request-Outcome"] for each in written)
    assert outcomes == {"unknown": 3, "not-done": 5}, "three of four threads write, the others get none"
    assert_well(service, key)


def ended_amid(add: Callable[[], Timed], postgresql: Server, waits_for: str, end: str) -> Answer:
    """Return the response to an addition that is ended while it waits. One that gave up before is sent again."""
    ending = f"SELECT {end}(pid) FROM pg_stat_activity WHERE wait_event = '{waits_for}'"
    with (
        closing(psycopg.connect(postgresql.url, user="postgres", autocommit=True)) as operator,
        ThreadPoolExecutor(1) as pool,
    ):
        addition = pool.submit(add)

        def is_ended() -> object:
            nonlocal addition
            if addition.done():
                addition = pool.submit(add)
            return operator.execute(ending).fetchone()

        until(is_ended)
        return addition.result().answer


WHAT_BREAKS = pytest.mark.parametrize(
    ("waits_for", "end"),
    [
        pytest.param("relation", "pg_terminate_backend", id="the connection breaks during the statement"),
        pytest.param("SyncRep", "pg_terminate_backend", id="the connection breaks during the COMMIT"),
        pytest.param("SyncRep", "pg_cancel_backend", id="an operator ends the wait for the standby"),
    ],
)


@WHAT_BREAKS
def test_an_addition_that_may_be_done_is_sent_once(
    service: Gunicorn, postgresql: Server, key: str, waits_for: str, end: str
) -> None:
    assert_well(service, key)
    with locked(postgresql) if waits_for == "relation" else standby_lost(postgresql):
        answer = ended_amid(lambda: post(service, key), postgresql, waits_for, end)
    assert (answer.status, answer.json()) == (503, UNAVAILABLE)
    assert (answer.headers["Retry-After"], answer.headers["Request-Outcome"]) == ("2", "unknown")
    assert_well(service, key)


@WHAT_BREAKS
def test_a_key_adds_one_animal_whatever_broke(
    service: Gunicorn, postgresql: Server, key: str, waits_for: str, end: str
) -> None:
    assert_well(service, key)
    once = uuid4().hex
    with locked(postgresql) if waits_for == "relation" else standby_lost(postgresql):
        answer = ended_amid(lambda: post(service, key, once), postgresql, waits_for, end)
    assert (answer.status, answer.json(), answer.headers["Request-Outcome"]) == (503, UNAVAILABLE, "unknown")
    assert_well(service, key)
    first, second = (post(service, key, once).answer for _ in range(2))
    assert (first.status, second.status, second.headers["Idempotency-Replayed"]) == (201, 201, "true")
    assert (first.json(), first.headers["Location"]) == (second.json(), second.headers["Location"])
    assert stored(service, key, once) == 1


def test_a_key_that_many_requests_share_starves_no_others(service: Gunicorn, postgresql: Server, key: str) -> None:
    """The first one takes its time; the others are 409 at once."""
    assert_well(service, key)
    once = uuid4().hex
    with (
        psycopg.connect(postgresql.url) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, id)) FROM apikeys_apikey", [once])
        hot = pool.submit(at_once, *[lambda: post(service, key, once)] * 12)
        others = [post(service, key) for _ in range(10)]
        answers = hot.result()
        other.rollback()
    assert {each.answer.status for each in others} == {201}
    assert median(each.seconds for each in others) < 1
    assert {(each.answer.status, each.answer.headers["Retry-After"]) for each in answers} == {(409, "1")}
    assert_well(service, key)


def test_what_a_caller_left_alone_is_ended_and_logged(service: Gunicorn, postgresql: Server, key: str) -> None:
    assert_well(service, key)
    body = b'{"name": "Rex", "categoryId": 1}'
    head = head_of_post(key, "X-Request-ID: left-alone", f"Content-Length: {len(body)}")
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with standby_lost(postgresql), psycopg.connect(postgresql.url, user="postgres", autocommit=True) as operator:
        with socket.create_connection(("127.0.0.1", service.port)) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets it
            caller.sendall(head + body)
            until(lambda: operator.execute(waits).fetchone())
        until(lambda: any(line.get("request_id") == "left-alone" and "status" in line for line in service.lines()))
    assert_well(service, key)


def test_a_server_that_is_told_to_stop_amid_a_hang(postgresql: Server, key: str, service: Gunicorn) -> None:
    assert_well(service, key)
    with running_server(database=postgresql.url, workers=1) as stopping:
        post(stopping, key)
        with frozen(postgresql), connected(stopping.port) as (connection, reader):
            connection.settimeout(SECONDS)
            body = b'{"name": "Rex", "categoryId": 1}'
            connection.sendall(head_of_post(key, f"Content-Length: {len(body)}") + body)
            for _ in range(3):  # then it is read
                livez(stopping)
            begun = time.monotonic()
            stopping.process.send_signal(signal.SIGTERM)
            stopping.process.wait(30)
            assert time.monotonic() - begun < 12 + SLACK
            assert answer_on(reader).status == 503
