"""The service behind PgBouncer in transaction mode, with the file that ships."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.operating.pgbouncer import running_pgbouncer
from tests.server import Answer, Gunicorn, manage, running_server, until
from tests.test_work import ADD, BEGIN, do, state_at_the_end
from tests.with_postgresql import Server

DEADLINES = {"statement_timeout": "3s", "lock_timeout": "1s", "idle_in_transaction_session_timeout": "5s"}
PATH = {"PATH": os.environ["PATH"]}
PET = {"name": "Rex", "categoryId": 1}


@pytest.fixture(scope="module")
def address(postgresql: Server) -> Iterator[str]:
    """The `DATABASE_URL` of a migrated database behind PgBouncer."""
    manage(PATH | {"DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        for name, value in DEADLINES.items():
            connection.execute(f"ALTER ROLE petstore SET {name} = '{value}'".encode())
    with running_pgbouncer(postgresql) as port:
        yield f"postgres://petstore@127.0.0.1:{port}/petstore"


@pytest.fixture(scope="module")
def service(address: str) -> Iterator[Gunicorn]:
    with running_server(database=address, DATABASE_BEHIND_PGBOUNCER="true") as service:
        yield service


@pytest.fixture(scope="module")
def key(service: Gunicorn) -> str:
    service.command("load_demo_data")
    return service.issue_key()


def test_connections_have_the_deadlines_of_the_role(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        found = {name: connection.execute(f"SHOW {name}".encode()).fetchone() for name in DEADLINES}
    assert found == {name: (value,) for name, value in DEADLINES.items()}


def test_a_command_at_the_direct_address_can_take_longer(address: str, postgresql: Server) -> None:
    show = "from django.db import connection; print(connection.cursor().execute('SHOW {}').fetchone()[0])"
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        printed = manage(PATH | {"DATABASE_URL": postgresql.url}, "shell", "--verbosity=0", "-c", show.format(name))
        assert printed == "0\n"


def test_many_callers_share_connections(service: Gunicorn, key: str) -> None:
    def call(number: int) -> Answer:
        if number % 2:
            return service.post("/v1/pets", key, PET, Idempotency_Key=f"call-{number}")
        return service.get("/v1/pets?status=available", key)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(80)))
    assert Counter(answer.status for answer in answers) == {200: 40, 201: 40}
    created = {answer.headers["Location"] for answer in answers if answer.status == 201}
    assert len(created) == 40
    until(lambda: service.send("GET", "/readyz").status == 200)


def test_the_feed_of_changes_misses_nothing(service: Gunicorn, key: str) -> None:
    """Each page comes from another connection of the server, beside eight writers."""
    told: list[Any] = []
    link = service.get("/v1/changes", key).headers["Link"]

    def follow() -> int:
        nonlocal link
        answer = service.get(link.removeprefix(f"<{service.url}").partition(">")[0], key)
        assert answer.status == 200, answer.body
        link = answer.headers["Link"]
        told.extend(answer.json())
        return len(told)

    with ThreadPoolExecutor(8) as pool:
        additions = [pool.submit(service.post, "/v1/pets", key, PET) for _ in range(80)]
        while not all(each.done() for each in additions):
            follow()
    added = [each.result().json() for each in additions]
    until(lambda: follow() >= len(added))
    follow()
    changes = sorted(told, key=lambda change: change["petId"])
    pets = sorted(added, key=lambda pet: pet["id"])
    assert changes == [{"petId": pet["id"], "change": "saved", "pet": pet} for pet in pets]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_it_recovers_within_two_seconds(service: Gunicorn, key: str, postgresql: Server, how: signal.Signals) -> None:
    until(lambda: service.post("/v1/pets", key, PET).status == 201)
    postgresql.stop(how)
    try:
        begun = time.monotonic()
        while time.monotonic() < begun + 4:
            answer = service.post("/v1/pets", key, PET)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
    finally:
        postgresql.start()
    begun = time.monotonic()
    until(lambda: service.post("/v1/pets", key, PET).status == 201)
    assert time.monotonic() - begun < 2 + 8, "eight seconds for a busy machine"


def test_long_work_waits_for_the_database_and_goes_on(service: Gunicorn, key: str, postgresql: Server) -> None:
    do(service, ADD)
    do(service, BEGIN["bulk"])
    with psycopg.connect(postgresql.url, user="postgres", autocommit=True) as operator:
        operator.execute("CHECKPOINT")  # or it would be lost: this PostgreSQL writes what was committed a moment later
    postgresql.stop(signal.SIGQUIT)
    try:
        until(lambda: service.logged("because of the database"))
        time.sleep(2)
    finally:
        postgresql.start()
    until(lambda: service.send("GET", "/readyz").status == 200)
    found = state_at_the_end(service)
    assert (found["running"], found["sold"], found["twice"]) == (0, found["animals"], 0)
