"""Measure the time of the import and the export, beside the floor and the alternatives."""

import filecmp
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from lab.benchmarks.animals import COLUMNS, Content, write_animals
from lab.benchmarks.processes import ROOT, Ran, least_peak, manage, run
from lab.benchmarks.stores import PostgreSQL, SQLite, Store, content, history_rows, psql

SMALLER = 10
"""django-import-export gets one row of this many. All rows would take longer than everything else together."""

OURS = ("import_pets", "export_pets")
"""They report their own time."""

FLOOR = rf"""
BEGIN;
CREATE TEMPORARY TABLE staged ({", ".join(f"{column} text" for column in COLUMNS)});
\copy staged FROM '{{file}}' WITH (FORMAT csv, HEADER)
INSERT INTO pets_pet (name, category_id, status, external_reference, created_at, updated_at)
    SELECT s.name, c.id, s.status, s.external_reference, now(), now()
    FROM staged s JOIN categories_category c ON c.name = s.category;
INSERT INTO pets_petchange (id, name, category_id, status, external_reference, history_date, history_type, actor,
        request_id)
    SELECT id, name, category_id, status, external_reference, now(), '+', '', '' FROM pets_pet;
COMMIT;
"""
"""The least that PostgreSQL must do. It validates no row, updates no animal, relies on an empty catalogue, and its
history has no import and no lines."""

FLOOR_OF_EXPORT = (
    r"\copy (SELECT p.external_reference, p.name, c.name AS category, p.status FROM pets_pet p"
    r" JOIN categories_category c ON c.id = p.category_id ORDER BY p.id) TO '{file}' WITH (FORMAT csv, HEADER)"
)


@dataclass
class Competitor:
    """One way to import or export, and its measurements."""

    name: str
    command: tuple[str, ...]
    prepare: Callable[[], None]
    check: Callable[[], str]
    """Return the result as columns of the table. Exit if it is wrong."""
    rows: int
    environment: dict[str, str]
    ran: list[Ran] = field(default_factory=list)
    left: str = ""

    def measure(self) -> None:
        """Run once."""
        self.prepare()
        self.ran.append(run(*self.command, environment=self.environment))
        self.left = self.check()
        sys.stderr.write(f"{self.name}: {self.ran[-1].seconds:.2f} s\n")


@dataclass(frozen=True)
class Animals:
    """A file, and the catalogue after its import."""

    file: Path
    content: Content

    @classmethod
    def written(cls, file: Path, rows: int) -> Self:
        """Write the file."""
        return cls(file, write_animals(file, rows))


def measure(postgresql: PostgreSQL, sqlite: SQLite, folder: Path, *, rows: int, rounds: int) -> Iterator[str]:
    """Run everything `rounds` times, in turn, and yield the lines of the table."""
    animals = Animals.written(folder / "animals.csv", rows)
    groups = {
        "Import on PostgreSQL": [
            *_postgresql_imports(postgresql, animals),
            *_import_export(postgresql, Animals.written(folder / "fewer.csv", max(1, rows // SMALLER))),
        ],
        "Import on SQLite": list(_sqlite_imports(sqlite, animals)),
        "Export from PostgreSQL": list(_exports(postgresql, animals, folder)),
    }
    for turn in range(rounds):
        for group in groups.values():
            first = turn % len(group)  # each competitor is first and last in turn
            for competitor in group[first:] + group[:first]:
                competitor.measure()
    yield f"Median of {rounds} rounds (the fastest and the slowest), in turn. Each result was checked against the file."
    yield "The ratio compares the time per row with the first line of the group."
    yield f"The peak is of the client process. {least_peak() / 1e6:.0f} MB is the least that can be measured."
    yield "Its own count leaves out the start of Django and, for an import, the commit."
    for name, group in groups.items():
        yield from _table(name, group)


# --- Competitors -----------------------------------------------------------------------------------------------------


def _importer(store: Store, name: str, animals: Animals, *command: str, history: bool = True) -> Competitor:
    rows = animals.content.animals

    def check() -> str:
        left, changes = content(store), history_rows(store)
        if left != animals.content or changes != (rows if history else 0):
            sys.exit(f"{name} left {left} and {changes} rows of history; the file is {animals.content}.")
        return f"{left.animals:>9} {changes:>9}"

    return Competitor(name, command, store.empty, check, rows, store.environment)


def _postgresql_imports(store: PostgreSQL, animals: Animals) -> Iterator[Competitor]:
    yield _importer(store, "import_pets", animals, *_import_pets(animals))
    yield _importer(store, "bulk_create, no history", animals, *_way("bulk", animals), history=False)
    yield _importer(store, "bulk_create_with_history", animals, *_way("bulk-with-history", animals))


def _floor(store: PostgreSQL, animals: Animals) -> tuple[str, ...]:
    script = animals.file.with_suffix(".sql")
    script.write_text(FLOOR.format(file=animals.file), encoding="utf-8")
    return (*psql(store.url), "-f", str(script))


def _sqlite_imports(store: SQLite, animals: Animals) -> Iterator[Competitor]:
    yield _importer(store, "csv, sqlite3: executemany", animals, *_way("floor", animals))
    yield _importer(store, "import_pets", animals, *_import_pets(animals))


def _import_export(store: PostgreSQL, animals: Animals) -> Iterator[Competitor]:
    python = ROOT / ".venv-benchmarks" / "bin" / "python"
    if (python.parent.parent / "installed").exists():
        name = f"django-import-export, rows / {SMALLER}, no history"
        yield _importer(store, name, animals, *_way("import-export", animals, str(python)), history=False)
    else:
        sys.stderr.write("Left out: django-import-export. make -C lab bench-import installs it.\n")


def _import_pets(animals: Animals) -> tuple[str, ...]:
    return manage("import_pets", str(animals.file), "-v0", "--json")


def _way(how: str, animals: Animals, python: str = sys.executable) -> tuple[str, ...]:
    return (python, "-m", "lab.benchmarks.competitors", how, str(animals.file))


def _exports(store: PostgreSQL, animals: Animals, folder: Path) -> Iterator[Competitor]:
    file, rows = folder / "export.csv", animals.content.animals

    def check() -> str:
        if not filecmp.cmp(animals.file, file, shallow=False):
            sys.exit("The export differs from the imported file.")
        return f"{rows:>9}"

    def competitor(name: str, *command: str) -> Competitor:
        return Competitor(name, command, lambda: fill(store, animals), check, rows, store.environment)

    yield competitor(r"psql: \copy", *psql(store.url), "-c", FLOOR_OF_EXPORT.format(file=file))
    columns = "--columns=external_reference,name,category,status"
    yield competitor("export_pets", *manage("export_pets", str(file), "--force", columns, "-v0", "--json"))


def fill(store: PostgreSQL, animals: Animals) -> None:
    """Import the animals in the order of the file, unless they are there."""
    if content(store) != animals.content:
        store.empty()
        run(*_floor(store, animals), environment=store.environment)
    store.tidy()


# --- The table -------------------------------------------------------------------------------------------------------


def _table(name: str, group: Sequence[Competitor]) -> Iterator[str]:
    yield f"\n{name:<42} {'rows':>9} {'seconds':>23} {'ratio':>6} {'rows/s':>9} {'peak MB':>8}   animals   history"
    floor = statistics.median(ran.seconds for ran in group[0].ran) / group[0].rows
    for competitor in group:
        seconds = [ran.seconds for ran in competitor.ran]
        peak = statistics.median(ran.peak for ran in competitor.ran) / 1e6
        line = _figures(competitor.name, competitor.rows, seconds, floor)
        yield f"{line} {peak:>8.0f} {competitor.left}".rstrip()
        if competitor.name in OURS:
            inside = [json.loads(ran.output)["seconds"] for ran in competitor.ran]
            yield _figures("  by its own count", competitor.rows, inside, floor)


def _figures(name: str, rows: int, seconds: Sequence[float], floor: float) -> str:
    median = statistics.median(seconds)
    spread = f"{median:.2f} ({min(seconds):.2f}–{max(seconds):.2f})"
    return f"{name:<42} {rows:>9} {spread:>23} {median / rows / floor:>6.2f} {rows / median:>9.0f}"
