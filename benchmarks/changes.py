"""Measure what an import takes that adds, changes or finds unchanged every animal, and its undo, beside psql."""

import json
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.animals import write_animals
from benchmarks.processes import Ran, manage, run
from benchmarks.speed import FLOOR
from benchmarks.stores import PostgreSQL, psql

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

STEPS = (
    ("psql: new animals", None),
    ("import_pets: new animals", "psql: new animals"),
    ("psql: changed names", None),
    ("import_pets: changed names", "psql: changed names"),
    ("undo_import: changed names", "import_pets: changed names"),
    ("import_pets: unchanged", "psql: changed names"),
)
"""Each step, and the step that its ratio is of."""


def measure(store: PostgreSQL, folder: Path, *, rows: int, rounds: int) -> Iterator[str]:
    """Run all steps `rounds` times and yield the lines of the table."""
    ran: dict[str, list[Ran]] = {name: [] for name, _ in STEPS}
    new, changed = folder / "new.csv", folder / "changed.csv"
    write_animals(new, rows)
    with new.open(encoding="utf-8") as lines, changed.open("w", encoding="utf-8") as file:
        file.writelines(re.sub(r"( [0-9]+)(\"?,)", r"\1x\2", line) for line in lines)  # a name ends in its number
    for _ in range(rounds):
        for name, took in _round(store, new, changed):
            ran[name].append(took)
            sys.stderr.write(f"{name}: {took.seconds:.1f} s, {took.peak / 1e6:.0f} MB\n")
    yield f"{rows:,} animals. Median of {rounds} rounds: seconds, ratio, the client's peak in MB."
    for name, to in STEPS:
        seconds = statistics.median(each.seconds for each in ran[name])
        ratio = seconds / statistics.median(each.seconds for each in ran[to]) if to else 1.0
        peak = statistics.median(each.peak for each in ran[name]) / 1e6
        yield f"{name:<30} {seconds:>8.1f} {ratio:>6.2f} {peak:>6.0f}"


def _round(store: PostgreSQL, new: Path, changed: Path) -> Iterator[tuple[str, Ran]]:
    store.empty()
    yield "psql: new animals", _psql(store, FLOOR, new)
    store.tidy()
    yield "psql: changed names", _psql(store, FLOOR_OF_CHANGES, changed)
    store.empty()
    yield "import_pets: new animals", _manage(store, "import_pets", str(new))
    store.tidy()
    done = _manage(store, "import_pets", str(changed))
    yield "import_pets: changed names", done
    store.tidy()
    yield "undo_import: changed names", _manage(store, "undo_import", str(json.loads(done.output)["import"]))
    store.tidy()
    yield "import_pets: unchanged", _manage(store, "import_pets", str(new))


def _psql(store: PostgreSQL, script: str, file: Path) -> Ran:
    path = file.with_suffix(".sql")
    path.write_text(script.format(file=file), encoding="utf-8")
    return run(*psql(store.url), "-f", str(path), environment=store.environment)


def _manage(store: PostgreSQL, *arguments: str) -> Ran:
    return run(*manage(*arguments, "-v0", "--json"), environment=store.environment)
