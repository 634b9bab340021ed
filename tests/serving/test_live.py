"""The asynchronous door in front of real sockets: it admits no more than it can serve."""

import http.client
import os
import signal
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from petstore_site.serving.adapter import DEADLINE
from petstore_site.serving.threads import STALL_SECONDS
from tests.meanwhile import meanwhile
from tests.protocol.wire import request
from tests.server import SECONDS, Gunicorn, bearer, running_server, send_on, until
from tests.timed import at_once, timed


@pytest.fixture(scope="module")
def server(database: str) -> Iterator[Gunicorn]:
    with running_server(database=database, workers=1, ALLOWED_HOSTS="127.0.0.1") as server:
        server.command("load_demo_data")
        yield server


@pytest.fixture(scope="module")
def key(server: Gunicorn) -> str:
    return server.issue_key()


def connection_to(server: Gunicorn) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
def test_livez_is_that_of_django(server: Gunicorn, method: str) -> None:
    answer = server.send(method, "/livez")
    status, body = {
        "GET": (200, b'{"status": "alive"}'),
        "HEAD": (200, b""),
        "OPTIONS": (204, b""),
        "POST": (
            405,
            b'{"code":"method_not_allowed","message":"This path does not support this method.","status":405}',
        ),
    }[method]
    assert (answer.status, answer.body) == (status, body)
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Request-ID"]


@pytest.mark.each_database
def test_slow_clients_hold_no_thread(server: Gunicorn, key: str) -> None:
    head = (
        f"POST /v1/pets HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
    try:
        for each in slow:
            each.sendall(head.encode())
        assert server.post("/v1/pets", key, {"name": "Rex", "categoryId": 1}).status == 201
    finally:
        for each in slow:
            each.close()


def test_a_client_that_is_gone_frees_the_thread_that_sends_to_it(database: str) -> None:
    path = "/static/admin/js/vendor/jquery/jquery.js"  # it is sent in parts
    with running_server(database=database, workers=1, THREADS="1") as server:
        with socket.socket() as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets it
            gone.connect(("127.0.0.1", server.port))
            gone.sendall(request(path) * 20)
            until(lambda: server.send("GET", path).status == 503)
        until(lambda: server.send("GET", path).status == 200, seconds=STALL_SECONDS / 2)


def test_many_clients_connect_at_once_while_the_worker_is_busy(server: Gunicorn, key: str) -> None:
    """Linux drops the SYN of clients that find no room to wait in, and they try again after a second."""
    [worker] = server.workers()
    os.kill(worker, signal.SIGSTOP)
    try:
        clients = [socket.create_connection(("127.0.0.1", server.port), 0.9) for _ in range(300)]
    finally:
        os.kill(worker, signal.SIGCONT)
    for each in clients:
        each.close()
    assert server.get("/v1/pets", key).status == 200


@pytest.mark.each_database
def test_overload_is_rejected_early_and_what_is_accepted_ends_soon(server: Gunicorn, key: str) -> None:
    """150 callers that never wait: each gets 201, or 503 and when to come back."""
    taken: list[tuple[int, float, str | None]] = []

    def call(over: threading.Event) -> None:
        connection = connection_to(server)
        while not over.is_set():
            begun = time.monotonic()
            answer = send_on(
                connection, "POST", "/v1/pets", body=b'{"name":"Rex","categoryId":1}',
                headers=bearer(key) | {"Content-Type": "application/json"},
            )  # fmt: skip
            taken.append((answer.status, time.monotonic() - begun, answer.headers["Retry-After"]))
        connection.close()

    with meanwhile(*[call] * 150):
        time.sleep(4)
        alive = server.send("GET", "/livez")
    assert alive.status == 200
    accepted = sorted(seconds for status, seconds, _ in taken if status == 201)
    assert len(accepted) > 10
    assert {(status, after) for status, _, after in taken} <= {(201, None), (503, "1"), (503, "2")}
    assert statistics.median(accepted) < 4
    assert server.post("/v1/pets", key, {"name": "Rex", "categoryId": 1}).status == 201


def test_a_form_may_take_longer_than_other_requests(database: str) -> None:
    """It may be an import. An addition that takes as long may be done."""
    with running_server(database=database, workers=1, DJANGO_SETTINGS_MODULE="tests.serving.slow_settings") as slow:
        form, page, added = at_once(
            lambda: timed(lambda: slow.send("POST", "/admin/slow/")),
            lambda: timed(lambda: slow.send("GET", "/admin/slow/")),
            lambda: timed(lambda: slow.send("POST", "/v1/slow")),
        )
    assert (form.answer.status, form.answer.body) == (200, b"POST")
    assert [(each.answer.status, each.answer.headers["Retry-After"]) for each in (page, added)] == [(503, "2")] * 2
    assert added.answer.headers["Request-Outcome"] == "unknown"
    assert added.seconds >= DEADLINE
