"""What only a real server with real processes, sockets and clocks can show."""

import http.client
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from functools import partial
from typing import Any

import pytest

from tests.conftest import error
from tests.meanwhile import meanwhile
from tests.server import (
    SECONDS,
    Answer,
    Gunicorn,
    bearer,
    running_server,
    send_on,
    until,
)
from tests.whole import shown

REVOKED = error("api_key_revoked", "The API key was revoked. Ask the store for a new one.", 401)

SEED = """
import json
from categories.models import Category
from petstore_site.apikeys.models import APIKey
print(json.dumps({"key": APIKey.objects.issue(name="x")[1], "category": Category.objects.create(name="Dogs").pk}))
"""


@pytest.fixture(scope="module")
def server(database: str) -> Iterator[Gunicorn]:
    with running_server(database=database) as server:
        yield server


@pytest.fixture(scope="module")
def seed(server: Gunicorn) -> dict[str, Any]:
    """A key, and the id of a category."""
    made: dict[str, Any] = json.loads(server.shell(SEED))
    return made


@pytest.fixture
def key(seed: dict[str, Any]) -> str:
    return str(seed["key"])


@pytest.fixture
def new_pet(seed: dict[str, Any]) -> dict[str, Any]:
    return {"name": "Rex", "categoryId": seed["category"]}


def all_at_once(work: Callable[[int], Any], threads: int = 16) -> list[Any]:
    """Return what each of the threads returned for its number; none begins before all have."""
    barrier = threading.Barrier(threads)

    def begin(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))


class TestManyAtOnce:
    def test_one_idempotency_key_makes_one_animal(self, server: Gunicorn, key: str, new_pet: dict[str, Any]) -> None:
        pet = new_pet | {"name": "Once", "status": "sold"}
        answers = all_at_once(lambda _: server.post("/v1/pets", key, pet, Idempotency_Key="one"))
        listed = server.get("/v1/pets?status=sold&limit=100", key).json()
        assert {answer.status for answer in answers} <= {201, 409}
        assert listed == [shown(id=listed[0]["id"], **pet)]
        assert [answer.json() for answer in answers if answer.status == 201] == listed * count(answers)[201]
        assert count(answers)[201] >= 1

    @pytest.mark.sqlite("it needs no database")
    def test_the_first_readers_of_the_description_all_get_it(self, database: str) -> None:
        with running_server(database=database, workers=1) as server:
            answers = all_at_once(lambda _: server.send("GET", "/openapi.json"), threads=8)
        assert count(answers) == {200: 8}
        assert len({answer.body for answer in answers}) == 1


def count(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


class TestKeys:
    def test_a_revocation_is_effective_on_every_worker_within_a_second(self, server: Gunicorn) -> None:
        issued = server.manage_json("issue_api_key", "Soon revoked")
        with connected_to_each_worker(server) as connections, polling(connections, issued["key"]) as polled:
            until(lambda: all(polled))
            server.manage("revoke_api_key", issued["key_id"])
            revoked = time.monotonic()
            until(lambda: min(len(after(revoked + 1, answers)) for answers in polled) > 5)
        assert len(polled) == len(connections) == 4
        for answers in polled:
            assert answers[0][1].status == 200
            late = after(revoked + 1, answers)
            assert [(each.status, each.json()) for each in late] == [(401, REVOKED)] * len(late)

    def test_use_is_written_down_at_the_latest_when_the_server_stops(self, database: str, today: date) -> None:
        with running_server(database=database) as server:
            issued = server.manage_json("issue_api_key", "Well used")
            answers = all_at_once(lambda number: server.get(["/v1/pets", "/v1/pets/0"][number % 2], issued["key"]))
            assert count(answers) == {200: 8, 404: 8}
        listed = {each["key_id"]: each["last_used_at"] for each in server.manage_json("list_api_keys")}
        assert str(listed[issued["key_id"]]).startswith(str(today))
        assert written_use(server, issued["key_id"]) == [
            (str(today), "pet-detail", 4, 8),
            (str(today), "pet-list", 2, 8),
        ]


def written_use(server: Gunicorn, key_id: str) -> list[tuple[str, str, int, int]]:
    """Return day, route, status class and count of each row about the key."""
    rows = json.loads(server.manage("dumpdata", "apikeys"))
    ids = {row["fields"]["key_id"]: row["pk"] for row in rows if row["model"] == "apikeys.apikey"}
    uses = [row["fields"] for row in rows if row["model"] == "apikeys.keyusage"]
    return sorted(
        (use["day"], use["route"], use["status_class"], use["count"]) for use in uses if use["key"] == ids[key_id]
    )


@contextmanager
def connected_to_each_worker(server: Gunicorn) -> Iterator[list[http.client.HTTPConnection]]:
    """Give two open connections to each worker."""
    connections = []
    workers = server.workers()
    for worker in workers:
        with stopped([other for other in workers if other != worker]):
            for _ in range(2):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
                send_on(connection, "GET", "/livez")
                connections.append(connection)
    yield connections
    for connection in connections:
        connection.close()


@contextmanager
def stopped(workers: list[int]) -> Iterator[None]:
    """Let these processes do nothing in the block."""
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)


Polled = list[tuple[float, Answer]]


def after(begun: float, polled: Polled) -> list[Answer]:
    """Return the responses to what was sent since then."""
    return [answer for at, answer in polled if at >= begun]


@contextmanager
def polling(connections: list[http.client.HTTPConnection], key: str) -> Iterator[list[Polled]]:
    """Ask again and again on each connection; the lists of when and what are complete after the block."""
    polled: list[Polled] = [[] for _ in connections]

    def poll(connection: http.client.HTTPConnection, answers: Polled, over: threading.Event) -> None:
        while not over.wait(0.02):
            at = time.monotonic()
            answers.append((at, send_on(connection, "GET", "/v1/pets?limit=1", headers=bearer(key))))

    with meanwhile(*[partial(poll, *each) for each in zip(connections, polled, strict=True)]):
        yield polled
