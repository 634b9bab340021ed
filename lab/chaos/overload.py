"""Many more callers than the service can serve, none of which ever waits."""

import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from tests.flood import Call, additions, flood, lists
from tests.protocol.nginx import running_nginx

from lab.benchmarks.load import percentiles
from lab.chaos.store import Store, running_store, serving
from lab.chaos.table import Row, counted, slowest

FEW, MANY, TOO_MANY = 16, 400, 600
ACCEPTED = {200, 201}


class Load(NamedTuple):
    """What a flood got."""

    calls: list[Call]
    seconds: float

    @property
    def accepted(self) -> list[Call]:
        """Those that were served."""
        return [call for call in self.calls if call.status in ACCEPTED]

    @property
    def rejected(self) -> list[Call]:
        """The others."""
        return [call for call in self.calls if call.status not in ACCEPTED]

    @property
    def rate(self) -> float:
        """Served per second."""
        return len(self.accepted) / self.seconds


def overloaded(*, long: bool) -> Iterator[Row]:
    """Measure what 16 connections get, then flood it with 400, and through nginx with more than that lets in."""
    seconds = 60 if long else 20
    with running_store() as store:
        mix = cycle([*lists(store.key) * 3, *additions(store.key)])
        _flood(store.port, mix, FEW, 3)
        capacity = _flood(store.port, mix, FEW, seconds / 2)
        memory = _memory(store)
        over = _flood(store.port, mix, MANY, seconds)
        more = _memory(store) - memory
        after = _flood(store.port, mix, 1, 4)
        again = _flood(store.port, mix, FEW, seconds / 2)
        with running_nginx(store.port) as nginx:
            adding = _flood(nginx.plain, cycle(additions(store.key)), TOO_MANY, seconds / 2)
        tried = f"{MANY} connections for {seconds} s, three lists for each addition"
        best = max(capacity.rate, again.rate)
        seen = f"{over.rate:,.0f} of {capacity.rate:,.0f} before and {again.rate:,.0f} after it each second"
        yield Row(f"80 % of what {FEW} connections get", tried, seen, over.rate >= 0.8 * best)
        yield _rejections(over, tried)
        tried_adding = f"{TOO_MANY} connections to nginx for {seconds / 2:g} s, additions only"
        yield _rejections(adding, tried_adding)
        if rejected := [*over.rejected, *adding.rejected]:
            tried_both = f"{tried}; {tried_adding}; {len(rejected):,} rejected"
            yield slowest("rejected within 0.1 s", tried_both, rejected, 0.1)
        p99 = percentiles([call.seconds for call in over.accepted])[1]
        yield Row("the 99th percentile of what is accepted is 2 s at most", tried, f"{p99:.2f} s", p99 <= 2)
        usual = percentiles([call.seconds for call in capacity.accepted])[1]
        late = [call for call in after.calls if call.seconds > max(usual, 0.1) or call.status not in ACCEPTED]
        normal = max((call.begun for call in late), default=0) - after.calls[0].begun
        yield Row("normal 2 s after it", tried, f"normal after {max(normal, 0):.1f} s", normal <= 2)
        seen = f"{memory / 1e6:.0f} MB before, {more / 1e6:+.0f} MB"
        yield Row("memory is flat (10 % at most)", tried, seen, more <= 0.1 * memory)


def _rejections(load: Load, tried: str) -> Row:
    right = all(call.status in {429, 503} and call.says_when for call in load.rejected)
    return Row("only 2xx, 429 and 503 with `Retry-After`", tried, counted(call.status for call in load.calls), right)


def _flood(port: int, requests: Iterator[bytes], connections: int, seconds: float) -> Load:
    begun = time.monotonic()
    with flood(port, requests, connections=connections) as calls:
        time.sleep(seconds)
        return Load(list(calls), time.monotonic() - begun)


def _memory(store: Store) -> int:
    """Return the bytes of the workers, a shared page divided by the number that share it."""
    return sum(_proportional(pid) for pid in serving(store.service))


def _proportional(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
