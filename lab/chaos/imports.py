"""Imports are killed and run again, and two run at once."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from tests.server import ROOT, until

from lab.chaos.store import running_postgresql, short_folder
from lab.chaos.table import Row

SHARES = (0.1, 0.5, 0.9, 0.99)
DONE, REPEATED, SECOND = 0, 5, 6
"""Exit statuses of docs/import-commands.md."""


class Imports:
    """Imports of one file of animals without references: importing one of them twice would add it twice."""

    def __init__(self, url: str, folder: Path, rows: int) -> None:
        self.rows = rows
        self._environment = {"PATH": "/usr/bin:/bin", "DATABASE_URL": url}
        self._url = url
        self._file = folder / "animals.csv"
        self._file.write_text("name,category\n" + "".join(f"Import {number},Dogs\n" for number in range(rows)))

    def start(self) -> subprocess.Popen[bytes]:
        """Start one, and return when it has begun or ended."""
        before = self._query("SELECT count(*) FROM pets_importrun")
        process = self._command("import_pets", str(self._file), "--create-categories", "-v0")
        until(lambda: process.poll() is not None or self._query("SELECT count(*) FROM pets_importrun") != before)
        return process

    def run(self) -> tuple[int, float]:
        """Run one, and return its exit status and how long it took."""
        begun = time.monotonic()
        return self._command(
            "import_pets", str(self._file), "--create-categories", "-v0"
        ).wait(), time.monotonic() - begun

    def undo(self) -> None:
        """Undo the last one."""
        last = self._query("SELECT max(id) FROM pets_importrun WHERE state = 'done'")
        assert self._command("undo_import", str(last), "-v0").wait() == DONE

    def is_there_once(self) -> bool:
        """Return whether each row is in the catalogue, and in the history, exactly once."""
        names = "SELECT array[count(*), count(DISTINCT name)] FROM {} WHERE name LIKE 'Import %%'"
        changes = "SELECT count(*) FROM pets_petchange JOIN pets_pet USING (id) WHERE pets_pet.name LIKE 'Import %%'"
        return self._query(names.format("pets_pet")) == [self.rows] * 2 and self._query(changes) == self.rows

    def _command(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _query(self, query: str) -> object:
        with psycopg.connect(self._url) as connection:
            row = connection.execute(query.replace("%%", "%")).fetchone()
            assert row
            return row[0]


def imports_killed(*, long: bool) -> Iterator[Row]:
    """Kill one at several moments and run it again; start two at once."""
    rows, rounds = (100_000, 5) if long else (20_000, 1)
    with short_folder() as data, running_postgresql(data) as postgresql, tempfile.TemporaryDirectory() as folder:
        imports = Imports(postgresql.url, Path(folder), rows)
        process, begun = imports.start(), time.monotonic()
        assert process.wait() == DONE
        seconds = time.monotonic() - begun
        imports.undo()
        yield _kill(imports, seconds, rounds)
        yield _two_at_once(imports)


def _kill(imports: Imports, seconds: float, rounds: int) -> Row:
    again, wrong = [], 0
    for share in SHARES * rounds:
        process = imports.start()
        time.sleep(seconds * share)
        process.kill()
        process.wait()
        again.append(imports.run()[0])
        wrong += not imports.is_there_once()
        imports.undo()
    tried = f"{imports.rows:,} rows, SIGKILL at 10, 50, 90 and 99 % of the time, {len(again)} times, and run again"
    seen = f"{wrong} times not; {again.count(DONE)} were run again, {again.count(REPEATED)} were done already"
    return Row("every row is there exactly once", tried, seen, not wrong and set(again) <= {DONE, REPEATED})


def _two_at_once(imports: Imports) -> Row:
    first = imports.start()
    status, seconds = imports.run()
    is_running = first.poll() is None
    first.wait()
    right = status == SECOND and is_running and imports.is_there_once()
    seen = f"exit status {status} after {seconds:.1f} s, most of it the start, while the first was {'running' if is_running else 'done'}"
    return Row("of two imports at once the second is rejected at once", f"{imports.rows:,} rows", seen, right)
