"""Callers that never stop asking while something breaks."""

import http.client
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event, Thread
from typing import Self

from tests.server import Answer, bearer, send_on
from tests.timed import Timed, timed

from lab.chaos.ledger import Ledger

TIMEOUT = 30
"""Seconds that a caller waits for a response."""

PAUSE = 0.05
"""Seconds before a request is sent again, and before a connection is opened again."""

TRIES = 4
"""How often every second addition is sent until it succeeds. The others are sent once."""

CATEGORY = 1


class Connection:
    """A caller's connection, which is opened again when it broke."""

    def __init__(self, port: int, key: str) -> None:
        self.key = key
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Timed:
        """Send one request and return its response."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        call = timed(lambda: send_on(self._connection, method, path, body=body, headers=bearer(self.key) | named))
        if call.answer.status == 0:
            self.close()
            time.sleep(PAUSE)
        return call

    def add(self, name: str, *, once: bool) -> Timed:
        """Add the animal of this name; `once`, however often this is called."""
        body = json.dumps({"name": name, "categoryId": CATEGORY}).encode()
        headers = {"Content_Type": "application/json"} | ({"Idempotency_Key": name} if once else {})
        return self.send("POST", "/v1/pets", body, **headers)

    def close(self) -> None:
        self._connection.close()


class Callers:
    """Writers and readers in threads, and all the responses that they got, while the block lasts."""

    def __init__(self, port: int, key: str, ledger: Ledger, *, writers: int = 8, readers: int = 4) -> None:
        self.ledger = ledger
        self.reads: list[Timed] = []
        self.writes: list[Timed] = []
        self._stop = Event()
        self._threads = [
            Thread(target=self._call, args=(task, Connection(port, key)))
            for task in [self._write] * writers + [self._read] * readers
        ]

    @property
    def calls(self) -> list[Timed]:
        """All so far."""
        return self.reads + self.writes

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self.stop()

    def __len__(self) -> int:
        return len(self._threads)

    def stop(self) -> None:
        """Wait for the last responses."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self, task: Callable[[Connection], None], connection: Connection) -> None:
        with ExitStack() as stack:
            stack.callback(connection.close)
            while not self._stop.is_set():
                task(connection)

    def _read(self, connection: Connection) -> None:
        self.reads.append(connection.send("GET", "/v1/pets"))

    def _write(self, connection: Connection) -> None:
        """Add an animal. Every second one is sent until it succeeds, and once more, with an `Idempotency-Key`."""
        name = self.ledger.next_name()
        is_repeated = hash(name) % 2 == 1
        send_until_added(lambda: self._add(connection, name, once=is_repeated), is_repeated=is_repeated)

    def _add(self, connection: Connection, name: str, *, once: bool) -> Answer:
        call = connection.add(name, once=once)
        self.writes.append(call)
        self.ledger.record(name, call.answer)
        return call.answer


def send_until_added(send: Callable[[], Answer], *, is_repeated: bool) -> None:
    """Send an addition; if it should be repeated, until it succeeds, and once more."""
    for _ in range(TRIES if is_repeated else 1):
        if send().status == 201:
            break
        time.sleep(PAUSE)
    if is_repeated:
        send()
