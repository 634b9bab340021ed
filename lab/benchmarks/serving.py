"""Measure what clients notice of an import: how fast lists are, and that they show all of it at once."""

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.benchmarks.animals import write_animals
from lab.benchmarks.processes import ROOT, manage
from lab.benchmarks.speed import Animals, fill
from lab.benchmarks.stores import PostgreSQL

PATH = "/v1/pets?limit=20"
RATE = 50
"""Requests per second."""
IDLE_SECONDS = 20
WARM_UP_SECONDS = 2


class Sample(NamedTuple):
    """One response."""

    late: float
    """Seconds that the request was sent late, because the connection waited for earlier responses."""
    seconds: float
    """Seconds from request to response."""
    status: int
    ids: tuple[int, ...]


Ask = Callable[[], tuple[int, bytes]]


def measure(store: PostgreSQL, folder: Path, *, rows: int) -> Iterator[str]:
    """Serve a catalogue of `rows` animals, import as many more, and yield the lines of the table."""
    from tests.server import running_server

    there = Animals.written(folder / "there.csv", rows)
    write_animals(folder / "more.csv", rows, series="B")
    fill(store, there)
    with running_server(database=store.url) as server:
        ask = client(server.port, server.manage("issue_api_key", "Benchmark", "--secret-only").strip())
        samples(ask, after(WARM_UP_SECONDS))
        idle = samples(ask, after(IDLE_SECONDS))
        began = time.perf_counter()
        meanwhile = _while_importing(store, folder / "more.csv", ask)
        seconds = time.perf_counter() - began
        newest = samples(ask, after(1))[-1]
    _check(idle, meanwhile, newest, rows)
    yield f"GET {PATH} on one connection, {RATE} a second, of a catalogue of {rows:,} animals, two workers;"
    yield f"the import added {rows:,} more in {seconds:.1f} s. Each list was that of before it or that of after it."
    yield "late: how far the connection was behind at most, because it waited for slow responses.\n"
    yield from _table(idle, meanwhile)


def client(port: int, key: str) -> Ask:
    """Return a function that requests the newest animals, always on the same connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask() -> tuple[int, bytes]:
        connection.request("GET", PATH, headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, response.read()

    return ask


def after(seconds: float) -> Callable[[], bool]:
    """Return a function that says whether so many seconds have passed."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= end


def samples(ask: Ask, is_over: Callable[[], bool]) -> list[Sample]:
    """Send `RATE` requests per second until `is_over`."""
    found, due = [], time.perf_counter()
    while not is_over():
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        status, body = ask()
        seconds = time.perf_counter() - began
        ids = tuple(pet["id"] for pet in json.loads(body)) if status == 200 else ()
        found.append(Sample(began - due, seconds, status, ids))
        due += 1 / RATE
    return found


def _while_importing(store: PostgreSQL, file: Path, ask: Ask) -> list[Sample]:
    environment = os.environ | store.environment
    command = manage("import_pets", str(file), "-v0")
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    found = samples(ask, lambda: process.poll() is not None)
    if process.returncode:
        sys.exit("The import failed.")
    return found


def _check(idle: Sequence[Sample], meanwhile: Sequence[Sample], newest: Sample, rows: int) -> None:
    """Exit if a list showed part of the import, or went back to the state before it."""
    before = idle[0].ids
    shown = [sample.ids for sample in (*idle, *meanwhile) if sample.status == 200]
    if len(set(newest.ids) - set(before)) != len(before) or newest.ids[-1] <= before[0]:
        sys.exit("The lists after the import do not show what it added.")
    changes = [after for earlier, after in zip(shown, [*shown[1:], newest.ids], strict=True) if after != earlier]
    if changes != [newest.ids]:
        sys.exit(f"The lists changed more than once: {changes}")


def _table(idle: Sequence[Sample], meanwhile: Sequence[Sample]) -> Iterator[str]:
    yield f"{'':<16} {'requests':>8} {'p50 ms':>8} {'p99 ms':>8} {'most ms':>8} {'late ms':>8}  statuses"
    for name, samples in (("idle", idle), ("while importing", meanwhile)):
        p50, p99, most = (figure * 1000 for figure in _figures(samples))
        statuses = ", ".join(f"{status}: {count}" for status, count in Counter(each.status for each in samples).items())
        late = max(sample.late for sample in samples) * 1000
        yield f"{name:<16} {len(samples):>8} {p50:>8.2f} {p99:>8.2f} {most:>8.2f} {late:>8.0f}  {statuses}"
    ratios = [after / before for before, after in zip(_figures(idle), _figures(meanwhile), strict=True)]
    yield f"{'ratio':<16} {'':>8} {ratios[0]:>8.2f} {ratios[1]:>8.2f} {ratios[2]:>8.2f}"


def _figures(samples: Sequence[Sample]) -> tuple[float, float, float]:
    """Return the median, the 99th percentile and the maximum."""
    seconds = [sample.seconds for sample in samples]
    percentiles = statistics.quantiles(seconds, n=100, method="inclusive")
    return percentiles[49], percentiles[98], max(seconds)
