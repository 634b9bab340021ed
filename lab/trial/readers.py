"""Callers that read animals during the trial, and what they saw, for `orders.py`."""

import contextlib
import http.client
import json
import random
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from lab.trial.callers import Callers
from lab.trial.orders import NEVER, Addition, Read, Verdict, judge

LIMIT = 100
"""Animals on a page."""


class Seen(NamedTuple):
    """A response, or none."""

    sent: float
    received: float
    path: str
    status: int
    """0 for a broken connection, or no response in 10 s."""
    animals: Mapping[int, str]
    """ID → name."""


class Readers(Callers):
    """They read the newest animals or a single one, at random."""

    def __init__(self, port: int, key: str, pause: float, host: str = "127.0.0.1") -> None:
        super().__init__(port, key, pause, host)
        self.seen: list[list[Seen]] = []
        """What each of them saw."""
        self._newest = 1

    @contextlib.contextmanager
    def reading(self, count: int) -> Iterator[None]:
        """Let so many of them read in the block."""
        self.seen = [[] for _ in range(count)]
        with self._calling(self._read, self.seen):
            yield

    def failing(self, begun: float, ended: float = NEVER) -> float:
        """Return the longest time for which a reader got nothing: from a read that failed to the next good response."""
        return max((_failing([each for each in seen if begun <= each.sent <= ended]) for seen in self.seen), default=0)

    def counted(self, begun: float, ended: float) -> str:
        """Return in words how many reads that were sent in this time were good."""
        seen = [each for one in self.seen for each in one if begun <= each.sent < ended]
        return f"{sum(each.status in {200, 404} for each in seen)} of {len(seen)}"

    def _read(self, seen: list[Seen]) -> None:
        while not self._stop.wait(self.pause):
            path = random.choice([f"/v1/pets?limit={LIMIT}", f"/v1/pets/{max(1, self._newest - random.randrange(9))}"])
            seen.append(self._get(path))
            self._newest = max([self._newest, *seen[-1].animals])

    def _get(self, path: str) -> Seen:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
        sent = time.monotonic()
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.key}"})
            response = connection.getresponse()
            body = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return Seen(sent, time.monotonic(), path, 0, animals={})
        finally:
            connection.close()
        received = time.monotonic()
        rows = [] if response.status != 200 else body if isinstance(body, list) else [body]
        return Seen(sent, received, path, response.status, {each["id"]: each["name"] for each in rows})


def judge_all(seen: list[Seen], additions: list[Addition], stored: Mapping[int, str], at: float) -> Verdict:
    """Judge all that was read, and what is stored at this time after all of it."""
    good = [each for each in seen if each.status in {200, 404}]
    names = dict(stored) | {number: name for each in good for number, name in each.animals.items()}
    known = Known(names, {each.name: each.sent for each in additions})
    reads = [_as_read(each, known) for each in good]
    there = frozenset(stored.values())
    lost = frozenset(names.values()) | {each.name for each in additions if each.acknowledged != NEVER}
    return judge(additions, [*reads, Read(at, at, there, lost - there)])


def _failing(seen: list[Seen]) -> float:
    longest, since = 0.0, NEVER
    for each in seen:
        if each.status in {200, 404}:
            longest, since = max(longest, each.received - since), NEVER
        else:
            since = min(since, each.sent)
    return longest


class Known:
    """All animals that anyone knows by their ID, and when each was sent."""

    def __init__(self, names: Mapping[int, str], sent: Mapping[str, float]) -> None:
        self.names = names
        self.numbers = sorted(names)
        self.sent = [sent.get(names[number], 0.0) for number in self.numbers]
        self.next = list(accumulate(reversed(self.sent), min))[::-1]
        """The earliest time at which this animal or one with a higher ID was sent."""

    def sent_until(self, moment: float, oldest: int, newest: float) -> Iterator[str]:
        """Yield the animals with these IDs that had been sent by then. Later ones are not visited."""
        for at in range(bisect_left(self.numbers, oldest), len(self.numbers)):
            if self.numbers[at] > newest or self.next[at] > moment:
                return
            if self.sent[at] <= moment:
                yield self.names[self.numbers[at]]


def _as_read(each: Seen, known: Known) -> Read:
    """Return a response with what it lacks: an animal that it would show, and that had been sent by then."""
    oldest, newest = min(each.animals) if len(each.animals) == LIMIT else 0, NEVER
    if "?" not in each.path:
        oldest = newest = int(each.path.rpartition("/")[2])
    shown = frozenset(each.animals.values())
    return Read(each.sent, each.received, shown, frozenset(known.sent_until(each.received, oldest, newest)) - shown)
