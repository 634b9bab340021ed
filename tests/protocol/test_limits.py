"""What one caller without a key can hold: connections, memory, and the time of others. Each with a real server."""

import http.client
import select
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from threading import Event

import pytest

from server.guard import HEAD_SECONDS
from tests.flood import flood
from tests.meanwhile import meanwhile
from tests.protocol.nginx import Nginx, running_nginx
from tests.protocol.wire import answer_on, connected, request
from tests.server import SECONDS, Gunicorn, running_server, send_on, until

FLOOD = request("/v1/pets") * 1000


@pytest.fixture(scope="module")
def server(database: str) -> Iterator[Gunicorn]:
    with running_server(database=database, workers=1, ALLOWED_HOSTS="127.0.0.1") as server:
        yield server


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


def test_a_head_that_does_not_come_is_ended(server: Gunicorn) -> None:
    begun = time.monotonic()
    with connected(server.port) as (silent, nothing), connected(server.port) as (slow, half):
        slow.sendall(b"GET /livez HTTP/1.1\r\n")
        for connection, reader in ((silent, nothing), (slow, half)):
            connection.settimeout(SECONDS)
            assert reader.read() == b""
    assert HEAD_SECONDS - 1 < time.monotonic() - begun < 3 * HEAD_SECONDS


@pytest.fixture(scope="module")
def behind(database: str) -> Iterator[tuple[Gunicorn, Nginx]]:
    with (
        running_server(database=database, workers=1, ALLOWED_HOSTS="127.0.0.1", BEHIND_TLS_PROXY="true") as server,
        running_nginx(server.port, rate="500r/s") as nginx,
    ):
        yield server, nginx


class TestThroughNginx:
    """nginx as shipped keeps floods and slow clients from the service."""

    def test_an_address_has_500_requests_a_second(self, behind: tuple[Gunicorn, Nginx]) -> None:
        """At once 1,000 more. The next ones are 503, and other addresses are served."""
        _, nginx = behind
        with flood(nginx.plain, cycle([request("/livez")]), connections=8) as calls:
            until(lambda: any(call.status == 503 for call in calls))
            assert status(nginx.plain, "127.0.0.2") == 200
        assert {call.status for call in calls} == {200, 503}
        assert all(call.says_when for call in calls if call.status == 503)

    def test_an_address_has_200_requests_at_once(self, behind: tuple[Gunicorn, Nginx]) -> None:
        """On a busy machine a few more: nginx ends a body that does not come after 10 s. Or fewer: it notices an end late."""
        _, nginx = behind
        begun, statuses = request("/v1/pets", "Content-Length: 2", method="POST"), list[int]()
        with ExitStack() as stack:
            while 503 not in statuses and len(statuses) < 2000:
                stack.enter_context(opened(nginx.plain, "127.0.0.3")).sendall(begun)
                statuses.append(status(nginx.plain, "127.0.0.3"))
            assert statuses == [200] * (len(statuses) - 1) + [503]
            assert 190 < len(statuses) < 2000
            assert status(nginx.plain, "127.0.0.2") == 200
        until(lambda: status(nginx.plain, "127.0.0.3") == 200)

    def test_the_service_sees_none_that_is_slow(self, behind: tuple[Gunicorn, Nginx]) -> None:
        """Neither a head nor a body that comes slowly, nor a client that reads nothing, holds a connection of it."""
        server, nginx = behind
        slow = [request("/livez")[:-2], request("/v1/pets", "Content-Length: 2", method="POST"), request("/docs/") * 20]
        with ExitStack() as stack:
            for sent in slow * 20:
                stack.enter_context(opened(nginx.hasty, "127.0.0.4")).sendall(sent)
            until(lambda: connections_of(server) == 0)
            assert status(nginx.plain, "127.0.0.2") == 200


@contextmanager
def opened(port: int, address: str) -> Iterator[socket.socket]:
    """Connect from an address of this machine, and read nothing."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((address, 0))
        connection.connect(("127.0.0.1", port))
        yield connection


def status(port: int, address: str) -> int:
    with opened(port, address) as connection, connection.makefile("rb") as reader:
        connection.sendall(request("/livez"))
        answer = answer_on(reader)
    return answer.status


def connections_of(server: Gunicorn) -> int:
    """Return how many connections to the server are established."""
    local = f"0100007F:{server.port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[1] == local and line.split()[3] == "01" for line in lines)
