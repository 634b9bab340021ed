"""`/readyz` within a second, whatever happens to PostgreSQL."""

import os
import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.conftest import error
from tests.outages import frozen
from tests.server import Answer, Gunicorn, manage, running_server, until
from tests.with_postgresql import Server

BROKEN = error("unavailable", "Not ready: database, migrations.", 503)


@pytest.fixture(scope="module")
def service(postgresql: Server) -> Iterator[Gunicorn]:
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    with running_server(database=postgresql.url, workers=1) as service:
        yield service


def ready(service: Gunicorn) -> Answer:
    started = time.perf_counter()
    answer = service.send("GET", "/readyz")
    assert time.perf_counter() - started <= 1
    return answer


def is_ready(service: Gunicorn) -> bool:
    return ready(service).status == 200


def test_frozen(service: Gunicorn, postgresql: Server) -> None:
    assert is_ready(service)
    with frozen(postgresql):
        for _ in range(8):  # more than there are threads: a check that hangs must not keep one
            answer = ready(service)
            assert (answer.status, answer.json()) == (503, BROKEN)
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
