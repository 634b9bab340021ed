"""Callers at a steady pace, and what they got."""

import csv
import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from threading import Event, Lock

from tests.server import Answer
from tests.timed import Timed

from lab.chaos.callers import Connection, send_until_added
from lab.chaos.ledger import Ledger
from lab.soak.instances import Shop

READERS, READ_SECONDS = 5, 0.25
WRITERS, WRITE_SECONDS = 4, 0.5
"""So many callers, each of which sends a request that often: 20 reads and 12 additions a second."""

GOOD = {200, 201, 302, 304}


class Keys:
    """The key of all callers, which a rotation changes."""

    def __init__(self, issued: str) -> None:
        self.use(issued)

    def use(self, issued: str) -> None:
        """Use the key that a command printed with `--json`."""
        new = json.loads(issued)
        self.key, self.key_id = str(new["key"]), str(new["key_id"])


class Outcomes:
    """How often each kind of request got each status, how long it took, and when one failed."""

    def __init__(self, file: Path) -> None:
        """Write each failure to `file`: seconds by the monotonic clock, seconds it took, kind and status."""
        self._lock = Lock()
        self._file = file.open("w", newline="")
        self._rows = csv.writer(self._file)
        self.counts: Counter[tuple[str, int]] = Counter()
        self.seconds: list[float] = []
        self.failures: list[tuple[float, float, str, int]] = []

    def record(self, kind: str, call: Timed) -> None:
        """Count a response; 0 is none."""
        with self._lock:
            self.counts[kind, call.answer.status] += 1
            self.seconds.append(call.seconds)
            if call.answer.status not in GOOD:
                self.failures.append((call.begun, call.seconds, kind, call.answer.status))
                self._rows.writerow(self.failures[-1])
                self._file.flush()


class Load:
    """What callers do; each method of the two tasks is a thread until its event is set."""

    def __init__(self, shop: Shop, keys: Keys, ledger: Ledger, outcomes: Outcomes) -> None:
        self.shop, self.keys, self.ledger, self.outcomes = shop, keys, ledger, outcomes
        self._newest = 1
        """The last animal that was acknowledged."""

    @property
    def tasks(self) -> list[Callable[[Event], None]]:
        """What to run at once."""
        return [*[self._read] * READERS, *[self._write] * WRITERS]

    def _read(self, over: Event) -> None:
        connections = cycle([Connection(each.port, "") for each in self.shop.instances])
        while not over.wait(random.uniform(0, 2 * READ_SECONDS)):
            kind, path = random.choice(self._reads())
            connection = next(connections)
            connection.key = self.keys.key
            self.outcomes.record(kind, connection.send("GET", path))

    def _reads(self) -> list[tuple[str, str]]:
        """Return what is read. An animal that was acknowledged must be there at once, on both instances."""
        return [
            ("list", "/v1/pets"),
            ("list", "/v1/pets?status=available&limit=100"),
            ("list", f"/v1/pets?categoryId={random.randint(1, 17)}"),
            ("get", f"/v1/pets/{self._newest}"),
            ("get", f"/v1/pets/{random.randint(1, 300)}"),
            ("categories", "/v1/categories"),
        ]

    def _write(self, over: Event) -> None:
        connections = cycle([Connection(each.port, "") for each in self.shop.instances])
        while not over.wait(random.uniform(0, 2 * WRITE_SECONDS)):
            connection = next(connections)
            connection.key = self.keys.key  # for all tries: an `Idempotency-Key` belongs to the API key
            self._add(connection, self.ledger.next_name())

    def _add(self, connection: Connection, name: str) -> None:
        """Add an animal. Every second one is sent until it succeeds, and once more, with an `Idempotency-Key`."""
        is_repeated = random.random() < 1 / 2
        send_until_added(lambda: self._send(connection, name, once=is_repeated), is_repeated=is_repeated)

    def _send(self, connection: Connection, name: str, *, once: bool) -> Answer:
        call = connection.add(name, once=once)
        self.outcomes.record("add with key" if once else "add", call)
        self.ledger.record(name, call.answer)
        if call.answer.status == 201:
            self._newest = call.answer.json()["id"]
        return call.answer
