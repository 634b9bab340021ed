"""Turn rounds of figures into the rows of a table: medians, and ratios of our CPU per request to the others'."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

from lab.benchmarks.load import Figures
from lab.benchmarks.servers import FASTIFY, LEAN, SERVICE

READS = {"plain DRF": 0.13, "FastAPI + asyncpg": 0.6, FASTIFY: 1.3}
REJECTED = {"plain DRF": 0.1, "FastAPI + asyncpg": 0.5, FASTIFY: 1.2}
GOALS = {
    "list": READS | {LEAN: 1.05},
    "list by status": READS,
    "deep page": READS,
    "get one": READS | {"plain DRF": 0.15, LEAN: 1.1},
    "401": REJECTED,
    "304": REJECTED,
    "POST": {"plain DRF": 0.6, "FastAPI + asyncpg": 1.5, LEAN: 1.7},
}
"""What our CPU per request should be at most, of theirs."""
OPERATION_GOALS = {
    ("list by category", "list by status"): 1.2,
    ("list by category and status", "list by status"): 1.3,
    ("POST with a key", "POST"): 1.2,
    ("replay", "POST"): 1.4,
    ("list categories", "get one"): 1.3,
    ("get one category", "get one"): 1.3,
}
"""What our CPU per request should be at most, of that of another operation."""

HEAD = ("req/s", "CPU µs", "server", "database", "p50 ms", "p99 ms", "errors", "CPU, first ÷ this", "goal")
WIDTHS = (7, 7, 7, 8, 7, 7, 6, 18, 5)
Rounds = Mapping[str, Mapping[str, Sequence[Figures]]]
"""By operation and server."""


def median(rounds: Sequence[Figures]) -> Figures:
    """Return the median of each figure, and the sum of the errors."""
    columns = [[value for value in column if value is not None] for column in zip(*rounds, strict=True)]
    medians = [statistics.median(column) if column else None for column in columns]
    return Figures._make(medians)._replace(errors=sum(each.errors for each in rounds))


def ratios(ours: Sequence[Figures], theirs: Sequence[Figures]) -> str:
    """Return CPU per request, ours ÷ theirs of the same round: the median, the least and the most."""
    each = [one.cpu / other.cpu for one, other in zip(ours, theirs, strict=True) if other.cpu]
    if not each:
        return ""
    return f"{statistics.median(each):.2f} ({min(each):.2f}–{max(each):.2f})"


def tables(rounds: Rounds) -> Iterator[str]:
    """Yield the lines of a table for each operation. What is first in it is compared with the others."""
    for name, by_server in rounds.items():
        first = next(iter(by_server))
        yield from _table(name, by_server, GOALS.get(name, {}) if first == SERVICE else {})
    yield from _operations({name: by[SERVICE] for name, by in rounds.items() if SERVICE in by})


def _operations(ours: Mapping[str, Sequence[Figures]]) -> Iterator[str]:
    """Yield the lines of a table that compares our operations with each other."""
    compared = {pair: goal for pair, goal in OPERATION_GOALS.items() if ours.keys() >= set(pair)}
    if compared:
        yield from ("", f"| {'CPU, first ÷ second':<29} | {'ratio':>18} | {'goal':>5} |", "| --- | ---: | ---: |")
    for (first, second), goal in compared.items():
        yield f"| {f'{first} ÷ {second}':<29} | {ratios(ours[first], ours[second]):>18} | {goal:>5} |"


def _table(name: str, by_server: Mapping[str, Sequence[Figures]], goals: Mapping[str, float]) -> Iterator[str]:
    ours = next(iter(by_server.values()))
    yield ""
    yield _row(name, HEAD)
    yield f"| --- |{' ---: |' * len(HEAD)}"
    for who, rounds in by_server.items():
        each = median(rounds)
        figures = [f"{each.requests_per_second:,.0f}"]
        figures += [f"{cpu:,.0f}" for cpu in (each.cpu, each.server_cpu, each.database_cpu)]
        figures += ["" if value is None else f"{value:,.1f}" for value in (each.p50, each.p99)]
        yield _row(who, (*figures, f"{each.errors}", ratios(ours, rounds), f"{goals.get(who, '')}"))


def _row(name: str, cells: Sequence[str]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return f"| {name:<29} | {' | '.join(padded)} |"
