"""Redis is frozen or gone."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import redis
from tests.server import RELEASE, running_redis, until
from tests.timed import Timed, timed

from lab.chaos.callers import Connection
from lab.chaos.store import Store, running_store
from lab.chaos.table import Row, slowest, statuses

WAIT = 0.1
"""Seconds that a request may wait for the cache."""

SKIPPED = 5
"""Seconds for which nobody waits after that."""

DEGRADED = {
    "status": "ready",
    "release": RELEASE,
    "checks": {"database": "ok", "migrations": "ok", "cache": "degraded"},
}


def redis_frozen(*, long: bool) -> Iterator[Row]:
    """Freeze it."""
    with _store() as (store, caller, pid):
        seconds = (20 if long else 3) * SKIPPED
        usual = median(_ask(caller).seconds for _ in range(50))
        os.kill(pid, signal.SIGSTOP)
        asked = _ask_for(caller, seconds)
        ready = timed(lambda: store.service.send("GET", "/readyz"))
        os.kill(pid, signal.SIGCONT)
        calls = [call._replace(seconds=max(0, call.seconds - usual)) for call in asked]
        tried = f"Redis frozen for {seconds} s, a limited key, {len(calls):,} requests in a row"
        failures = _failures(store)
        waited = sorted(calls, key=lambda call: call.seconds)[-len(failures) :]
        middle = median(call.seconds for call in waited)
        seen = f"{middle:.2f} s in the middle of {len(failures)}, {waited[-1].seconds:.2f} s at most"
        yield Row(f"a request waits {WAIT} s at most", tried, seen, middle <= WAIT)
        gap = min(later - earlier for earlier, later in pairwise(failures))
        seen = f"{len(failures)} waited, {gap:.2f} s after each other at least"
        yield Row(f"after one waited, none does for {SKIPPED} s", tried, seen, gap >= SKIPPED)
        yield from _degraded(tried, [*calls], ready)


def redis_lost(*, long: bool) -> Iterator[Row]:
    """Kill it."""
    with _store() as (store, caller, pid):
        os.kill(pid, signal.SIGKILL)
        calls = [_ask(caller) for _ in range(5000 if long else 500)]
        ready = timed(lambda: store.service.send("GET", "/readyz"))
        yield from _degraded(f"Redis killed, a limited key, {len(calls):,} requests", calls, ready)


def _degraded(tried: str, calls: list[Timed], ready: Timed) -> Iterator[Row]:
    yield Row("requests pass", tried, statuses(calls), {call.answer.status for call in calls} == {200})
    row = slowest('`/readyz` is 200 with `"cache": "degraded"` within 1 s', tried, [ready], 1)
    right = (ready.answer.status, ready.answer.json()) == (200, DEGRADED)
    yield row._replace(seen=f"{ready.answer.status}, {row.seen}", kept=row.kept and right)


@contextmanager
def _store() -> Iterator[tuple[Store, Connection, int]]:
    """Run a store with a Redis. Give a connection that uses a limited key, and the process number of the Redis."""
    with tempfile.TemporaryDirectory(prefix="petstore-chaos-") as folder, running_redis(Path(folder)) as url:
        client: Any = redis.from_url(url)
        pid = int(client.info()["process_id"])
        with running_store(CACHE_URL=url) as store:
            caller = Connection(store.port, store.service.issue_key("Limited", "--rate-limit", "1000000/min"))
            until(lambda: _ask(caller).answer.status == 200)
            try:
                yield store, caller, pid
            finally:
                caller.close()


def _failures(store: Store) -> list[float]:
    """Return when requests waited for a cache that did not respond, by the log."""
    lines = [line for line in store.service.lines() if line["message"].startswith("Rate limits are not applied")]
    return [datetime.fromisoformat(line["time"]).timestamp() for line in lines]


def _ask(caller: Connection) -> Timed:
    return caller.send("GET", "/v1/pets?limit=1")


def _ask_for(caller: Connection, seconds: float) -> list[Timed]:
    calls = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        calls.append(_ask(caller))
        time.sleep(0.005)
    return calls
