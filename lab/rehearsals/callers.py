"""Callers of a single service for chapters in which no request may fail."""

import http.client
import itertools
import json
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event

from tests.meanwhile import meanwhile

from lab.rehearsals.stage import expect, say

Connect = Callable[[], http.client.HTTPConnection]


class Callers:
    """Each reads and adds in turn, on a new connection every time, and counts the statuses."""

    def __init__(self, connect: Connect, key: str, host: str = "127.0.0.1") -> None:
        """Use these connections and this key."""
        self.connect, self.key, self.host = connect, key, host
        self.responses: Counter[str] = Counter()
        self.seconds: list[float] = []

    @contextmanager
    def calling(self, count: int = 6) -> Iterator[None]:
        """Call in the block; then no request may have failed."""
        with self.trying(count):
            time.sleep(2)
            yield
            time.sleep(2)
        say(f"responses: {dict(self.responses)}, the slowest after {max(self.seconds):.1f} s")
        expect(set(self.responses) <= {"GET 200", "POST 201"}, "Requests failed.")

    @contextmanager
    def trying(self, count: int = 6) -> Iterator[None]:
        """Call in the block, whatever happens."""
        with meanwhile(*[self._call] * count):
            yield

    def _call(self, over: Event) -> None:
        for number in itertools.count():
            if over.wait(0.02):
                return
            self._send("POST" if number % 4 == 0 else "GET")

    def _send(self, method: str) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", "Host": self.host}
        body = json.dumps({"name": "Rehearsal", "categoryId": 1}) if method == "POST" else None
        begun = time.monotonic()
        try:
            with closing(self.connect()) as connection:
                connection.request(method, "/v1/pets", body, headers)
                response = connection.getresponse()
                response.read()
            self.responses[f"{method} {response.status}"] += 1
        except (OSError, http.client.HTTPException) as error:
            self.responses[f"{method} {type(error).__name__}"] += 1
        self.seconds.append(time.monotonic() - begun)


def plain(port: int, seconds: float = 10) -> Connect:
    """Connect to gunicorn."""
    return lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)


def encrypted(port: int) -> Connect:
    """Connect to nginx, whatever its certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return lambda: http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
