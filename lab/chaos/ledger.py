"""The history checker: what callers learned of each addition, compared with the database in the end."""

from collections import Counter
from itertools import count
from threading import Lock

import psycopg
from tests.server import Answer

from lab.chaos.table import Row

PROMISE = "no acknowledged addition is lost, none is stored twice, none that was `not-done` is stored"


class Ledger:
    """Additions by their name."""

    def __init__(self, series: str) -> None:
        """Begin each name with `series`."""
        self._series = series
        self._numbers = count(1)
        self._lock = Lock()
        self._ids: dict[str, set[int]] = {}
        self._maybe: set[str] = set()
        self._not_done: set[str] = set()
        self._rejected: Counter[int] = Counter()

    def next_name(self) -> str:
        """Return the name of a new animal."""
        return f"{self._series}-{next(self._numbers)}"

    def record(self, name: str, answer: Answer) -> None:
        """Remember what the caller got. No response and `unknown` mean that it may be stored."""
        with self._lock:
            if answer.status == 201:
                self._ids.setdefault(name, set()).add(answer.json()["id"])
            elif answer.status == 503 and answer.headers["Request-Outcome"] == "not-done":
                self._not_done.add(name)
            elif answer.status in {0, 409} or answer.headers["Request-Outcome"] == "unknown":
                self._maybe.add(name)
            else:
                self._rejected[answer.status] += 1

    def row(self, url: str, tried: str) -> Row:
        """Compare with the database."""
        with psycopg.connect(url) as connection:
            query = "SELECT name, array_agg(id) FROM pets_pet WHERE name LIKE %s GROUP BY name"
            stored = {name: set(ids) for name, ids in connection.execute(query, [f"{self._series}-%"])}
        not_done = self._not_done - self._maybe - self._ids.keys()
        unknown = self._maybe - self._ids.keys()
        wrong = {
            "lost": sum(not ids <= stored.get(name, set()) for name, ids in self._ids.items()),
            "stored twice": sum(len(ids) > 1 for ids in stored.values()),
            "stored although not done": len(not_done & stored.keys()),
            "not known to a caller": len(stored.keys() - self._ids.keys() - unknown - not_done),
            "other responses": self._rejected.total(),
        }
        seen = ", ".join(f"{number} {what}" for what, number in wrong.items())
        told = f"{len(self._ids):,} acknowledged, {len(not_done):,} not done, {len(unknown):,} unknown"
        if self._rejected:
            seen += f" {dict(self._rejected)}"
        return Row(PROMISE, f"{tried}; {told}", seen, not any(wrong.values()))
