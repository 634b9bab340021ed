"""`/readyz` within a second, unless the machine is busy, whatever happens to PostgreSQL."""

import os
from collections.abc import Iterator
from contextlib import closing
from statistics import median

import psycopg
import pytest

from tests.conftest import error
from tests.outages import frozen
from tests.server import Answer, Gunicorn, manage, running_server, until
from tests.timed import timed
from tests.with_postgresql import Server

SLACK = 0.5
"""Seconds for a machine that is busy with other tests."""

BROKEN = error("unavailable", "Not ready: database, migrations.", 503)


@pytest.fixture(scope="module")
def service(postgresql: Server) -> Iterator[Gunicorn]:
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    with running_server(database=postgresql.url, workers=1) as service:
        yield service


def ready(service: Gunicorn) -> Answer:
    return service.send("GET", "/readyz")


def is_ready(service: Gunicorn) -> bool:
    return ready(service).status == 200


def test_frozen(service: Gunicorn, postgresql: Server) -> None:
    until(lambda: is_ready(service))
    with frozen(postgresql):
        answers = [timed(lambda: ready(service)) for _ in range(8)]  # a check that hangs must not keep a thread
    assert [(each.answer.status, each.answer.json()) for each in answers] == [(503, BROKEN)] * 8
    assert median(each.seconds for each in answers) < 1 + SLACK
    until(lambda: is_ready(service))


def test_read_only(service: Gunicorn, postgresql: Server) -> None:
    with closing(psycopg.connect(postgresql.url, autocommit=True)) as connection:
        connection.execute("ALTER DATABASE petstore SET default_transaction_read_only = on")
        assert (ready(service).status, ready(service).json()) == (503, BROKEN)
        connection.execute("SET default_transaction_read_only = off")
        connection.execute("ALTER DATABASE petstore RESET default_transaction_read_only")
    until(lambda: is_ready(service))


def test_stopped(service: Gunicorn, postgresql: Server) -> None:
    postgresql.stop()
    try:
        assert (ready(service).status, ready(service).json()) == (503, BROKEN)
    finally:
        postgresql.start()
    until(lambda: is_ready(service))
