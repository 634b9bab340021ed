"""What the soak showed."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import LiteralString, NamedTuple

import psycopg

from lab.chaos.ledger import Ledger
from lab.chaos.table import Row, counted
from lab.soak.breaks import Breaks
from lab.soak.chores import Commands, Imports, Office
from lab.soak.load import Outcomes
from lab.soak.slopes import slope

WARM_UP = 600
"""Seconds that are left out of the slopes: caches fill, and pools open their connections."""

GROWING = {
    "steady memory": ("MB", 1e6),
    "steady descriptors": ("", 1),
    "steady threads": ("", 1),
    "broken memory": ("MB", 1e6),
    "broken descriptors": ("", 1),
    "connections": ("", 1),
    "wal files": ("MB", 1e6),
    "wal written": ("MB", 1e6),
    "database bytes": ("MB", 1e6),
    "dead rows": ("", 1),
    "animals": ("", 1),
    "redis memory": ("MB", 1e6),
    "steady log": ("MB", 1e6),
}
"""Columns of the samples, with their unit."""

AFTER = 2
"""Seconds after a break for which what it disturbed counts as its own."""


class Soak(NamedTuple):
    """A soak that has ended. Its database still runs."""

    seconds: float
    url: str
    ledger: Ledger
    outcomes: Outcomes
    office: Office
    imports: Imports
    commands: Commands
    breaks: Breaks


def report(soak: Soak, samples: Path) -> tuple[str, bool]:
    """Return the report in Markdown, and whether all promises were kept."""
    rows = list(_rows(soak))
    parts = [_promises(rows), _broken(soak), "\n".join(_requests(soak)), growth(samples)]
    return "\n".join(parts), all(row.kept for row in rows)


def _rows(soak: Soak) -> Iterator[Row]:
    yield soak.ledger.row(soak.url, f"{soak.seconds / 60:.0f} minutes, {len(soak.breaks.done)} breaks")
    wrong = soak.imports.wrong(soak.url)
    tried = f"{len(soak.imports.done)} imports, exit statuses {dict(soak.imports.statuses)}"
    yield Row(
        "each row of an import is there exactly once", tried, f"{len(wrong)} imports not {wrong or ''}", not wrong
    )
    yield _from_forms(soak)
    yield _history(soak)
    yield _outside(soak)


def _from_forms(soak: Soak) -> Row:
    added = soak.office.browser.added
    stored = _number(soak, "SELECT count(*) FROM pets_pet WHERE name = ANY(%s)", added)
    seen = f"{len(added)} saved, {stored} stored"
    return Row("an animal that a form saved is stored once", "the back office", seen, stored == len(added) > 0)


def _history(soak: Soak) -> Row:
    query = """SELECT count(*) FROM pets_pet p WHERE NOT EXISTS
        (SELECT FROM pets_petchange c WHERE c.id = p.id AND c.name = p.name AND c.status = p.status)"""
    missing = _number(soak, query)
    return Row("each animal has its history", "all animals", f"{missing} have not", missing == 0)


def _number(soak: Soak, query: LiteralString, *parameters: object) -> int:
    """Return the one number that a query of the store returns."""
    with psycopg.connect(soak.url) as connection:
        [(number,)] = connection.execute(query, parameters).fetchall()
    return int(number)


def _outside(soak: Soak) -> Row:
    times = [(each.begun, each.back + AFTER) for each in soak.breaks.done]
    outside = Counter(
        (kind, status)
        for begun, seconds, kind, status in soak.outcomes.failures
        if not any(begin <= begun + seconds and begun <= end for begin, end in times)
    )
    tried = f"{sum(soak.outcomes.counts.values()):,} requests"
    return Row("no request fails outside of a break", tried, f"{outside.total()} {dict(outside) or ''}", not outside)


def _promises(rows: list[Row]) -> str:
    lines = ["| promise | tried | seen |", "| --- | --- | --- |"]
    lines += [f"| {row.promise} | {row.tried} | {'' if row.kept else '**BROKEN** '}{row.seen} |" for row in rows]
    return "\n".join([*lines, ""])


def _broken(soak: Soak) -> str:
    times = defaultdict(list)
    for each in soak.breaks.done:
        times[each.name].append(each.back - each.begun)
    lines = ["| break | times | all well again after, at most |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {len(each)} | {max(each):.1f} s |" for name, each in times.items()]
    return "\n".join([*lines, ""])


def _requests(soak: Soak) -> Iterator[str]:
    yield "| request | responses |"
    yield "| --- | --- |"
    for kind in sorted({kind for kind, _ in soak.outcomes.counts}):
        responses = [status for (of, status), times in soak.outcomes.counts.items() if of == kind for _ in range(times)]
        yield f"| {kind} | {counted(responses)} |"
    yield ""
    cuts = quantiles(soak.outcomes.seconds, n=1000)
    total, every = len(soak.outcomes.seconds), soak.outcomes.seconds
    yield f"{total:,} requests, {total / soak.seconds:.0f} a second; median {cuts[499] * 1000:.0f} ms,"
    yield f"99 % {cuts[989] * 1000:.0f} ms, most {max(every):.1f} s. Commands: {dict(soak.commands.counts)}."
    yield ""


def growth(samples: Path) -> str:
    """Return the table of slopes of a CSV file."""
    with samples.open() as file:
        rows = list(csv.DictReader(file))
    lines = ["| | at first | at last | per hour | 95 % |", "| --- | ---: | ---: | ---: | ---: |"]
    for column, (unit, scale) in GROWING.items():
        points = [(float(row["seconds"]), float(row[column]) / scale) for row in rows if row[column]]
        late = [(at, value) for at, value in points if at >= WARM_UP] or points
        fitted = slope(late)
        cells = (late[0][1], late[-1][1], fitted.growth)
        numbers = " | ".join(f"{cell:+,.1f}" if cell is fitted.growth else f"{cell:,.1f}" for cell in cells)
        lines.append(
            f"| {column}{f', {unit}' if unit else ''} | {numbers} | {fitted.least:+,.1f} to {fitted.most:+,.1f} |"
        )
    return "\n".join([*lines, ""])
