"""Two instances behind nginx with one database and one Redis: restarted one after the other, and limits are exact."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

import psycopg
import pytest

from tests.meanwhile import meanwhile
from tests.protocol.nginx import Nginx, running_nginx
from tests.server import (
    SECONDS,
    Gunicorn,
    bearer,
    listening,
    manage,
    running_redis,
    running_server,
    send,
    send_on,
    until,
)
from tests.with_postgresql import Server

CALLERS = 4


class Two(NamedTuple):
    """Two instances, and nginx before them."""

    instances: list[Gunicorn]
    nginx: Nginx


@pytest.fixture(scope="module")
def two(postgresql: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    with ExitStack() as stack:
        cache = stack.enter_context(running_redis(tmp_path_factory.mktemp("redis")))
        environment = {"DATABASE_URL": postgresql.url, "CACHE_URL": cache}
        manage(environment, "migrate", "--verbosity=0")
        manage(environment, "load_demo_data")
        sockets = [stack.enter_context(listening()) for _ in range(2)]  # without, nginx skips what restarted for 10 s
        start = partial(running_server, database=postgresql.url, CACHE_URL=cache, ALLOWED_HOSTS="127.0.0.1")
        servers = [start(listener=each, BEHIND_TLS_PROXY="true") for each in sockets]
        instances = [stack.enter_context(server) for server in servers]
        yield Two(instances, stack.enter_context(running_nginx(*[each.port for each in instances])))


def test_a_limit_is_exact_over_both(two: Two) -> None:
    key = two.instances[0].issue_key("Partner", "--rate-limit", "50/day")
    with ThreadPoolExecutor(8) as pool:
        statuses = list(
            pool.map(lambda _: send(two.nginx.plain, "GET", "/v1/pets", headers=bearer(key)).status, range(120))
        )
    assert Counter(statuses) == {200: 50, 429: 70}
    until(lambda: all(instance.logged("/v1/pets") for instance in two.instances))


def test_a_key_that_one_revokes_ends_on_both_within_a_second(two: Two) -> None:
    key = two.instances[0].issue_key("Partner")
    assert [instance.get("/v1/pets", key).status for instance in two.instances] == [200, 200]
    two.instances[0].manage("revoke_api_key", key.split("_")[2][:8], "--yes")
    time.sleep(1)
    assert [instance.get("/v1/pets", key).status for instance in two.instances] == [401, 401]


def test_restarted_one_after_the_other_no_request_fails(two: Two, postgresql: Server) -> None:
    key = two.instances[0].issue_key("Load")
    with load(two.nginx.plain, key) as statuses:
        for instance in two.instances:
            wait_for_more(statuses)
            instance.restart()
    assert set(statuses) <= {200, 201, 503}
    assert statuses[503] <= CALLERS, "an addition on a connection that a worker closes at that moment, sent again"
    with psycopg.connect(postgresql.url) as connection:
        found = connection.execute(
            "SELECT count(*), count(DISTINCT name) FROM pets_pet WHERE name LIKE 'load %'"
        ).fetchone()
    assert found == (statuses[201], statuses[201])


def wait_for_more(statuses: Counter[int]) -> None:
    before = statuses.total()
    until(lambda: statuses.total() > before + 100)


@contextmanager
def load(port: int, key: str) -> Iterator[Counter[int]]:
    """Send reads and additions without a pause on some connections; yield how often there was each status.

    An addition that failed is sent again with its Idempotency-Key, as `docs/api.md` says.
    """
    statuses = Counter({200: 0, 201: 0, 503: 0})  # or two threads could each begin to count one

    def call(caller: int, over: threading.Event) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        count = 0
        while not over.is_set():
            statuses[send_on(connection, "GET", "/v1/pets", headers=bearer(key)).status] += 1
            name = f"load {caller}-{count}"
            headers = bearer(key) | {"Content-Type": "application/json", "Idempotency-Key": name.replace(" ", "-")}
            body = json.dumps({"name": name, "categoryId": 1}).encode()
            status = send_on(connection, "POST", "/v1/pets", body=body, headers=headers).status
            statuses[status] += 1
            count += status == 201
        connection.close()

    with meanwhile(*[partial(call, number) for number in range(CALLERS)]):
        yield statuses
