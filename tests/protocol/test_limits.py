"""What one caller without a key can hold: connections, memory, and the time of others. Each with a real server."""

import http.client
import os
import select
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest

from server.guard import HEAD_SECONDS, READ_SECONDS
from tests.meanwhile import meanwhile
from tests.protocol.wire import answer_on, connected, request
from tests.server import SECONDS, Gunicorn, head_of_post, running_server, send_on, until

FLOOD = request("/v1/pets") * 1000
MOST = 64
"""The connections of a worker: 16 for a client, and 8 for what finds no room."""

SMALL = {"GUNICORN_CMD_ARGS": f"--worker-connections={MOST}", "ALLOWED_HOSTS": "127.0.0.1"}


@pytest.fixture(scope="module")
def server(database: str) -> Iterator[Gunicorn]:
    with running_server(database=database, workers=1, ALLOWED_HOSTS="127.0.0.1") as server:
        yield server


@pytest.fixture(
    scope="module",
    params=[{}, {"HOST": "::"}, {"BEHIND_TLS_PROXY": "true"}],
    ids=["direct", "for both versions of IP", "behind a proxy"],
)
def small(request: pytest.FixtureRequest, database: str) -> Iterator[tuple[Gunicorn, bool]]:
    """A small server, and whether it is behind a proxy. With HOST=::, an IPv4 client has an address of version 6."""
    with running_server(database=database, workers=1, **SMALL, **request.param) as server:
        yield server, "BEHIND_TLS_PROXY" in request.param


class TestFlood:
    def test_all_are_served_in_their_order(self, server: Gunicorn) -> None:
        number = 5000
        sent = b"".join(request("/livez", f"X-Request-ID: {each}") for each in range(number))
        with connected(server.port) as (connection, reader):

            def send(_over: Event) -> None:
                connection.sendall(sent)

            with meanwhile(send):
                answers = [answer_on(reader) for _ in range(number)]
        assert [answer.headers["X-Request-ID"] for answer in answers] == [str(n) for n in range(number)]

    @pytest.mark.parametrize("reads", [True, False])
    def test_memory_and_time_of_others(self, server: Gunicorn, reads: bool) -> None:
        quiet, before = time_of_others(server), memory_of(server)
        with flooding(server, reads=reads):
            time.sleep(0.5)
            busy = time_of_others(server)
            assert memory_of(server) - before < 4_000, "in KiB: at most one read of the socket waits"
        assert busy < 5 * quiet + 0.05, "no more than a few of the requests that came with one read are served before"


@contextmanager
def flooding(server: Gunicorn, *, reads: bool) -> Iterator[None]:
    """Send all that one connection takes."""

    def flood(over: Event) -> None:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.settimeout(0)
            while not over.is_set():
                readable, writable, _ = select.select([connection], [connection], [], 0.1)
                if writable:
                    connection.send(FLOOD)
                if readable and reads:
                    connection.recv(2**20)
                over.wait(0.001)

    with meanwhile(flood):
        yield


def time_of_others(server: Gunicorn) -> float:
    """Return the median seconds of a small request on another connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    taken = []
    for _ in range(100):
        begun = time.perf_counter()
        assert send_on(connection, "GET", "/v1/pets").status == 401
        taken.append(time.perf_counter() - begun)
    connection.close()
    return statistics.median(taken)


def memory_of(server: Gunicorn) -> int:
    """Return the KiB that the worker has in memory."""
    (worker,) = server.workers()
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def test_a_client_that_reads_nothing_is_ended(server: Gunicorn) -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.settimeout(0)
        begun, page = time.monotonic(), request("/docs/") * 20
        ended = select.poll()
        ended.register(connection, select.POLLHUP)
        while not ended.poll(0) and time.monotonic() - begun < 2 * READ_SECONDS:
            try:
                connection.send(page)
            except BlockingIOError:
                time.sleep(0.1)
            except ConnectionError:
                break
        assert READ_SECONDS - 5 < time.monotonic() - begun < 2 * READ_SECONDS


def test_a_head_that_does_not_come_is_ended(server: Gunicorn) -> None:
    begun = time.monotonic()
    with connected(server.port) as (silent, nothing), connected(server.port) as (slow, half):
        slow.sendall(b"GET /livez HTTP/1.1\r\n")
        for connection, reader in ((silent, nothing), (slow, half)):
            connection.settimeout(SECONDS)
            assert reader.read() == b""
    assert HEAD_SECONDS - 1 < time.monotonic() - begun < READ_SECONDS


class TestConnections:
    """A client has a quarter of them, and `/livez` always responds."""

    def test_one_client(self, small: tuple[Gunicorn, bool]) -> None:
        with held(*small, clients=1, each=MOST // 4):
            assert status(*small, "/v1/pets", client=1) == 503
            assert status(*small, "/livez", client=1) == 200
            assert status(*small, "/v1/pets", client=2) == 401
        until(lambda: status(*small, "/v1/pets", client=1) == 401)

    def test_between_requests_the_connection_of_a_proxy_counts_for_nobody(self, small: tuple[Gunicorn, bool]) -> None:
        with ExitStack() as stack:
            for _ in range(MOST // 4):
                connection = stack.enter_context(opened(*small, client=1))
                connection.sendall(headed(request("/livez"), client=1))
                answer_on(connection.makefile("rb"))
            assert status(*small, "/v1/pets", client=1) == (401 if small[1] else 503)

    def test_a_rejected_request_gets_an_error(self, small: tuple[Gunicorn, bool]) -> None:
        with held(*small, clients=1, each=MOST // 4), opened(*small, client=1) as connection:
            connection.sendall(headed(request("/v1/pets"), client=1))
            answer = answer_on(connection.makefile("rb"))
            assert (answer.error()["code"], answer.headers["Retry-After"]) == ("unavailable", "1")
            assert answer.headers["Connection"] == "close"

    def test_many_clients(self, small: tuple[Gunicorn, bool]) -> None:
        """Those that connect when there is no room, and send nothing, do not keep `/livez` from anyone either."""
        with held(*small, clients=7, each=MOST // 8), ExitStack() as more:  # the last eighth is not for them
            silent = [more.enter_context(opened(*small, client=client)) for client in range(20, 60)]
            assert status(*small, "/v1/pets", client=9) == 503
            assert status(*small, "/livez", client=9) == 200
            until(
                lambda: len(silent) - len(select.select(silent, [], [], 0)[0]) <= MOST // 8,
                seconds=HEAD_SECONDS - 1,
            )

    def test_an_address_of_version_6_is_a_network(self, database: str) -> None:
        with (
            running_server(database=database, BEHIND_TLS_PROXY="true", workers=1, **SMALL) as server,
            ExitStack() as stack,
        ):
            head = head_of_post(server.issue_key(), "Content-Length: 9").removesuffix(b"\r\n")
            for last in range(MOST // 4):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                connection.sendall(head + b"X-Forwarded-For: 2001:db8::%x\r\n\r\n" % last)
            wait_until_read(server)
            statuses = {
                address: server.send("GET", "/v1/pets", headers={"X-Forwarded-For": f"2001:db8::1, {address}"}).status
                for address in ("2001:db8::ffff", "2001:db8:0:1::1", "::ffff:192.0.2.1", "nonsense")
            }
        assert list(statuses.values()) == [503, 401, 401, 401]


@contextmanager
def held(server: Gunicorn, proxied: bool, *, clients: int, each: int) -> Iterator[None]:
    """Hold connections: directly they say nothing, and behind a proxy they send a body too slowly."""
    head = head_of_post(server.issue_key(), "Content-Length: 9")
    with ExitStack() as stack:
        for client in range(1, clients + 1):
            for _ in range(each):
                connection = stack.enter_context(opened(server, proxied, client=client))
                if proxied:
                    connection.sendall(headed(head, client=client))
        wait_until_read(server)
        yield


def wait_until_read(server: Gunicorn) -> None:
    """Return when the server has accepted and read all that was sent until now."""
    for _ in range(3):  # connections that come together are accepted first, and read in any order
        assert server.send("GET", "/livez").status == 200


@contextmanager
def opened(server: Gunicorn, proxied: bool, *, client: int) -> Iterator[socket.socket]:
    """Connect as a client, or as the proxy of all."""
    source = "127.0.0.1" if proxied else f"127.0.1.{client}"
    with socket.create_connection(("127.0.0.1", server.port), 10, source_address=(source, 0)) as connection:
        yield connection


def status(server: Gunicorn, proxied: bool, path: str, *, client: int) -> int:
    """Return the status of a request of the client."""
    with opened(server, proxied, client=client) as connection:
        connection.sendall(headed(request(path), client=client))
        answer = answer_on(connection.makefile("rb"))
    return answer.status


def headed(head: bytes, *, client: int) -> bytes:
    """Add what the proxy says about the client, after what the client says."""
    return head.removesuffix(b"\r\n") + b"X-Forwarded-For: 192.0.2.%d, 198.51.100.%d\r\n\r\n" % (
        os.getpid() % 250,
        client,
    )
