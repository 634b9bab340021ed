"""Callers that add animals during the trial, and what they were acknowledged."""

import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from lab.trial.callers import Callers
from lab.trial.orders import NEVER, Addition
from lab.trial.programs import send


class Writers(Callers):
    """Each repeats an addition with its Idempotency-Key until it is acknowledged."""

    def __init__(self, port: int, key: str, pause: float, host: str = "127.0.0.1") -> None:
        super().__init__(port, key, pause, host)
        self.acknowledged: dict[str, int] = {}
        """The ID of each animal that was acknowledged, by its name, which no other has."""
        self.sent: dict[str, float] = {}
        """When each animal was sent for the first time."""
        self.acknowledged_at: dict[str, float] = {}
        self.responses: Counter[int] = Counter()
        """How often there was each status; 0 is a broken connection."""
        self._last_sent = 0.0

    @contextmanager
    def writing(self, count: int) -> Iterator[None]:
        """Let so many of them write in the block."""
        with self._calling(self._write, range(count)):
            yield

    def acknowledged_since(self, moment: float) -> bool:
        """Return whether an animal was acknowledged that was sent after this moment."""
        return self._last_sent > moment

    def longest_pause(self, since: float) -> float:
        """Return the longest time without an acknowledged addition since then."""
        times = sorted(each for each in list(self.acknowledged_at.values()) if each > since)
        return max(later - earlier for earlier, later in itertools.pairwise([since, *times, time.monotonic()]))

    def additions(self) -> list[Addition]:
        """Return what was added, and when, for `orders.py`."""
        return [Addition(name, sent, self.acknowledged_at.get(name, NEVER)) for name, sent in list(self.sent.items())]

    def _write(self, writer: int) -> None:
        for count in itertools.count():
            name = f"trial {writer}-{count}"
            while not self._stop.wait(self.pause):
                if self._add(name):
                    break
            if self._stop.is_set():
                return

    def _add(self, name: str) -> bool:
        sent = time.monotonic()
        self.sent.setdefault(name, sent)
        headers = {"Authorization": f"Bearer {self.key}", "Idempotency-Key": name.replace(" ", "-")}
        body = json.dumps({"name": name, "categoryId": 1})
        headers |= {"Content-Type": "application/json"}
        status, response = send(self.port, "POST", "/v1/pets", body, headers, host=self.host)
        self.responses[status] += 1
        if status != 201:
            return False
        self.acknowledged[name] = json.loads(response)["id"]
        self.acknowledged_at[name] = time.monotonic()
        self._last_sent = max(self._last_sent, sent)
        return True
