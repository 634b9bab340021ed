"""How long the import and the export take, beside their floors and what else could be used."""

import filecmp
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from benchmarks.animals import COLUMNS, Content, write_animals
from benchmarks.processes import ROOT, Ran, least_peak, manage, run
from benchmarks.stores import PostgreSQL, SQLite, Store, content, history_rows, psql

SMALLER = 10
"""django-import-export gets one row of so many: all of them would take longer than the rest together."""

OURS = ("import_pets", "export_pets")
"""They say themselves how long they took."""

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
"""The least that PostgreSQL must do: it checks no row, updates no animal, knows that the catalogue is empty, and its
history does not say which line of which import each row comes from."""

FLOOR_OF_EXPORT = (
    r"\copy (SELECT p.external_reference, p.name, c.name AS category, p.status FROM pets_pet p"
    r" JOIN categories_category c ON c.id = p.category_id ORDER BY p.id) TO '{file}' WITH (FORMAT csv, HEADER)"
)


@dataclass
class Competitor:
    """One way to do it, and what it took each time."""

    name: str
    command: tuple[str, ...]
    prepare: Callable[[], None]
    check: Callable[[], str]
    """Returns what it left, in the words of the table; ends this program if that is wrong."""
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
    """A file, and what it makes of an empty catalogue."""

    file: Path
    content: Content

    @classmethod
    def written(cls, file: Path, rows: int) -> Self:
        """Write the file."""
        return cls(file, write_animals(file, rows))


def measure(postgresql: PostgreSQL, sqlite: SQLite, folder: Path, *, rows: int, rounds: int) -> Iterator[str]:
    """Run everything `rounds` times, by turns, and yield the lines of the table."""
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
            first = turn % len(group)  # whoever comes first or last has no advantage from it
            for competitor in group[first:] + group[:first]:
                competitor.measure()
    yield f"Median of {rounds} rounds (the fastest and the slowest), by turns. Each left what its file says."
    yield "The ratio is of the time for each row, to the first line of the group."
    yield f"The peak is of the client's process; one below {least_peak() / 1e6:.0f} MB is shown as that."
    yield "Its own count leaves out the start of Django and, for an import, what follows its record: the commit."
    for name, group in groups.items():
        yield from _table(name, group)


# --- Who takes part --------------------------------------------------------------------------------------------------


def _importer(store: Store, name: str, animals: Animals, *command: str, history: bool = True) -> Competitor:
    rows = animals.content.animals

    def check() -> str:
        left, changes = content(store), history_rows(store)
        if left != animals.content or changes != (rows if history else 0):
            sys.exit(f"{name} left {left} and {changes} rows of history; the file is {animals.content}.")
        return f"{left.animals:>9} {changes:>9}"

    return Competitor(name, command, store.empty, check, rows, store.environment)


def _postgresql_imports(store: PostgreSQL, animals: Animals) -> Iterator[Competitor]:
    yield _importer(store, r"psql: \copy, INSERT … SELECT", animals, *_floor(store, animals))
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
        sys.stderr.write("left out: django-import-export (make bench-import installs it)\n")


def _import_pets(animals: Animals) -> tuple[str, ...]:
    return manage("import_pets", str(animals.file), "-v0", "--json")


def _way(how: str, animals: Animals, python: str = sys.executable) -> tuple[str, ...]:
    return (python, "-m", "benchmarks.competitors", how, str(animals.file))


def _exports(store: PostgreSQL, animals: Animals, folder: Path) -> Iterator[Competitor]:
    file, rows = folder / "export.csv", animals.content.animals

    def check() -> str:
        if not filecmp.cmp(animals.file, file, shallow=False):
            sys.exit("What was exported is not, byte for byte, what was imported.")
        return f"{rows:>9}"

    def competitor(name: str, *command: str) -> Competitor:
        return Competitor(name, command, lambda: fill(store, animals), check, rows, store.environment)

    yield competitor(r"psql: \copy", *psql(store.url), "-c", FLOOR_OF_EXPORT.format(file=file))
    yield competitor("export_pets", *manage("export_pets", str(file), "--force", "-v0", "--json"))


def fill(store: PostgreSQL, animals: Animals) -> None:
    """Bring the animals in, in the order of the file, unless they are there."""
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
