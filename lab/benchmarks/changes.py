"""Measure what an import takes that adds, changes or finds unchanged every animal, and its undo, beside psql."""

import json
import re
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.benchmarks.animals import write_animals
from lab.benchmarks.circumstances import circumstances
from lab.benchmarks.postmaster import server_cpu
from lab.benchmarks.processes import Ran, manage, run
from lab.benchmarks.speed import FLOOR
from lab.benchmarks.stores import PostgreSQL, psql

FLOOR_OF_CHANGES = r"""
BEGIN;
CREATE TEMPORARY TABLE staged (external_reference text, name text, category text, status text);
\copy staged FROM '{file}' WITH (FORMAT csv, HEADER)
UPDATE pets_pet p SET name = s.name, category_id = c.id, status = s.status, updated_at = now()
    FROM staged s JOIN categories_category c ON c.name = s.category
    WHERE s.external_reference = p.external_reference AND (p.name, p.category_id, p.status) <> (s.name, c.id, s.status);
INSERT INTO pets_petchange (id, name, category_id, status, external_reference, history_date, history_type, actor,
        request_id)
    SELECT p.id, p.name, p.category_id, p.status, p.external_reference, now(), '~', '', ''
    FROM staged s JOIN pets_pet p ON p.external_reference = s.external_reference;
COMMIT;
"""
"""The least that PostgreSQL must do when all names change. It checks no row and records no import."""

STEPS = {
    "psql: new animals": (None, None),
    "import_pets: new animals": ("psql: new animals", 1.25),
    "psql: changed names": (None, None),
    "import_pets: changed names": ("psql: changed names", 1.2),
    "undo_import: changed names": ("import_pets: changed names", 1.2),
    "import_pets: unchanged": ("psql: changed names", None),
}
"""Each step: the step that its ratio is of, and what the ratio should be at most."""


def measure(store: PostgreSQL, folder: Path, *, rows: int, rounds: int) -> dict[str, Any]:
    """Run all steps `rounds` times and return their figures for results/imports.json."""
    ran: dict[str, list[Ran]] = {name: [] for name in STEPS}
    new, changed = folder / "new.csv", folder / "changed.csv"
    before = circumstances(store)
    write_animals(new, rows)
    with new.open(encoding="utf-8") as lines, changed.open("w", encoding="utf-8") as file:
        file.writelines(re.sub(r"( [0-9]+)(\"?,)", r"\1x\2", line) for line in lines)  # a name ends in its number
    for _ in range(rounds):
        for name, took in _round(store, new, changed):
            ran[name].append(took)
            sys.stderr.write(f"{name}: {took.seconds:.1f} s, CPU {took.cpu:.1f} s, {took.peak / 1e6:.0f} MB\n")
    return before | {
        "rows": rows,
        "statements": dict(_statements(store, new, changed)),
        "seconds": {name: [round(each.seconds, 2) for each in found] for name, found in ran.items()},
        "cpu": {name: [round(each.cpu, 2) for each in found] for name, found in ran.items()},
        "peak_mb": {name: round(max(each.peak for each in found) / 1e6) for name, found in ran.items()},
    }


def section(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of docs/import-commands.md about these figures."""
    median = {name: statistics.median(seconds) for name, seconds in result["seconds"].items()}
    cpu = {name: statistics.median(seconds) for name, seconds in result["cpu"].items()}
    ours, theirs = median["import_pets: new animals"], median["psql: new animals"]
    yield (
        f"{result['rows']:,} animals into PostgreSQL took {ours:.0f} seconds, {ours / theirs:.2f} times as long as"
        f" `psql` takes for the same writes\nwithout checking anything ({theirs:.0f} seconds)."
    )
    yield f"Measured on {result['date']} at commit `{result['commit']}`, load average {result['load_average']} before."
    yield f"Machine: {result['machine']}. PostgreSQL {result['versions']['PostgreSQL']}."
    head = "     s | least–most s | times measured | ratio | goal | CPU s | ratio | peak MB"
    yield f"\n| {'whole process':<28} | {head} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, (to, goal) in STEPS.items():
        seconds = result["seconds"][name]
        ratio, of_cpu = (f"{each[name] / each[to]:.2f}" if to else "" for each in (median, cpu))
        spread = f"{min(seconds):.1f}–{max(seconds):.1f}"
        figures = f"{median[name]:>6.1f} | {spread:>12} | {len(seconds):>14} | {ratio:>5} | {goal or '':>4}"
        yield f"| {name:<28} | {figures} | {cpu[name]:>5.1f} | {of_cpu:>5} | {result['peak_mb'][name]:>7} |"
    yield "\nCPU is that of the process and of the server together."


def shares(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of lab/performance.md about what imports spend their time on."""
    yield "\n### Imports by statement\n"
    yield f"{result['rows']:,} animals into PostgreSQL, measured on {result['date']} at commit `{result['commit']}`."
    for name, parts in result["statements"].items():
        yield from _shares(name, parts)


def _round(store: PostgreSQL, new: Path, changed: Path) -> Iterator[tuple[str, Ran]]:
    """Measure the floor before and after the import, since a machine is not equally fast at all times."""
    yield from _floors(store, new, changed)
    store.empty()
    yield "import_pets: new animals", _manage(store, "import_pets", str(new))
    store.tidy()
    done = _manage(store, "import_pets", str(changed))
    yield "import_pets: changed names", done
    store.tidy()
    yield "undo_import: changed names", _manage(store, "undo_import", str(json.loads(done.output)["import"]))
    store.tidy()
    yield "import_pets: unchanged", _manage(store, "import_pets", str(new))
    yield from _floors(store, new, changed)


def _floors(store: PostgreSQL, new: Path, changed: Path) -> Iterator[tuple[str, Ran]]:
    store.empty()
    yield "psql: new animals", _psql(store, FLOOR, new)
    store.tidy()
    yield "psql: changed names", _psql(store, FLOOR_OF_CHANGES, changed)


def _psql(store: PostgreSQL, script: str, file: Path) -> Ran:
    path = file.with_suffix(".sql")
    path.write_text(script.format(file=file), encoding="utf-8")
    return _run(store, *psql(store.url), "-f", str(path))


def _manage(store: PostgreSQL, *arguments: str) -> Ran:
    return _run(store, *manage(*arguments, "-v0", "--json"))


def _run(store: PostgreSQL, *command: str) -> Ran:
    """Run a command, and count the CPU of the server with its own."""
    before = server_cpu(store.url)
    ran = run(*command, environment=store.environment)
    return ran._replace(cpu=ran.cpu + server_cpu(store.url) - before)


Parts = list[tuple[str, float]]
"""Statements and their seconds, longest first."""


def _statements(store: PostgreSQL, new: Path, changed: Path) -> Iterator[tuple[str, Parts]]:
    """Import, change and undo once more, and yield where the time of each went."""

    def parts(*arguments: str) -> Parts:
        store.tidy()
        file = new.with_suffix(".json")
        command = (sys.executable, "-m", "lab.benchmarks.statements", str(file), *arguments, "-v0")
        run(*command, environment=store.environment)
        return [(what, round(seconds, 2)) for what, seconds in json.loads(file.read_text(encoding="utf-8"))]

    store.empty()
    yield "import_pets: new animals", parts("import_pets", str(new))
    yield "import_pets: changed names", parts("import_pets", str(changed))
    yield "undo_import: changed names", parts("undo_import", "2")


def _shares(name: str, parts: Parts) -> Iterator[str]:
    total = sum(seconds for _, seconds in parts)
    yield f"\n| {name:<52} |      s | share |"
    yield "| --- | ---: | ---: |"
    for what, seconds in parts:
        yield f"| {what:<52} | {seconds:>6.1f} | {seconds / total:>5.0%} |"
