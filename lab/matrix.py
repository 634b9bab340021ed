"""Run the fast tests with each Python and Django that we claim, and write the table of lab/versions.md: `make -C lab matrix`.

A pair whose Python is not on this machine keeps its row: the date says when it was run last. A pair that was never run
has no row, and is not claimed (tests/test_versions.py).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "lab" / "versions.md"
VENVS = ROOT / ".venv-matrix"
PAIRS = {
    ("3.11", "5.2"): "dev",
    ("3.12", "5.2"): "dev",
    ("3.13", "5.2"): "dev",
    ("3.13", "6.1"): "django61",
}
"""Python and Django → the lock in `requirements/` that has them."""

HEAD = "| Python | Django | database | passed | failed | skipped | run on |"
RULE = "| --- | --- | --- | ---: | ---: | ---: | --- |"
ROW = re.compile(
    r"^\| (\S+) \| (\S+) \| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| (\d{4}-\d\d-\d\d) \|$", re.MULTILINE
)
DATABASES = {"SQLite": [], "PostgreSQL": ["tests/with_postgresql.py"]}
"""Database → the script that gives the tests a throwaway server of it."""


class Row(NamedTuple):
    """One run. `python` and `django` are the exact versions."""

    python: str
    django: str
    database: str
    passed: int
    failed: int
    skipped: int
    day: str

    @property
    def pair(self) -> tuple[str, str, str]:
        """Return the versions without the last number, and the database: what a new run replaces."""
        return self.python.rpartition(".")[0], self.django.rpartition(".")[0], self.database


def page_with(found: list[Row], text: str) -> str:
    """Return the page with these rows: they replace those of the same pair and database."""
    kept = {row.pair: row for row in [*rows_in(text), *found]}
    lines = [
        f"| {row.python} | {row.django} | {row.database} | {row.passed:,} | {row.failed:,} | {row.skipped:,} | {row.day} |"
        for row in sorted(kept.values(), key=lambda row: (row.pair[1], _number(row.pair[0]), row.database != "SQLite"))
    ]
    before, _, rest = text.partition(HEAD)
    after = rest.lstrip("\n").partition("\n\n")[2]
    return before + "\n".join([HEAD, RULE, *lines]) + "\n\n" + after


def rows_in(text: str) -> list[Row]:
    """Return the rows of a text."""
    found = []
    for python, django, database, *numbers, day in ROW.findall(text):
        passed, failed, skipped = (int(number.replace(",", "")) for number in numbers)
        found.append(Row(python, django, database, passed, failed, skipped, day))
    return found


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def interpreter(version: str) -> str | None:
    """Return a working Python of this version: on PATH, or the newest one of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = [sys.executable] if sys.version.startswith(f"{version}.") else []
    installed = sorted(map(str, pyenv.glob(f"{version}.*/bin/python")), reverse=True)
    for program in [*own, f"python{version}", *installed]:
        if shutil.which(program) and _output(program, "-c", "import ensurepip, venv, sqlite3; print(1)") == "1":
            return program
    return None


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def install(program: str, folder: Path, lock: str) -> str:
    """Create a virtual environment with the lock, unless it is there; return its Python."""
    python = str(folder / "bin" / "python")
    stamp, content = folder / "installed", (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != content:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([program, "-m", "venv", folder], check=True)
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
        subprocess.run(
            [python, "-m", "pip", "install", *options, "-r", f"requirements/{lock}.txt"], cwd=ROOT, check=True
        )
        stamp.write_text(content, encoding="utf-8")
    return python


def run(python: str, database: str, arguments: list[str]) -> Row:
    """Run the fast tests and return the row."""
    report = Path(python).parent.parent / f"{database}.xml"
    report.unlink(missing_ok=True)
    command = [python, *DATABASES[database], *([python] if DATABASES[database] else [])]
    subprocess.run(
        [*command, "-m", "pytest", "-q", "-m", "not slow", f"--junit-xml={report}", *arguments], cwd=ROOT, check=False
    )
    [suite] = ET.parse(report).getroot().iter("testsuite")
    total, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    versions = _output(python, "-c", "import django, platform; print(platform.python_version(), django.__version__)")
    exact, django = versions.split()
    return Row(exact, django, database, total - failed - skipped, failed, skipped, datetime.now(UTC).date().isoformat())


def run_all(databases: list[str], only: list[str], arguments: list[str]) -> Iterator[Row]:
    """Run each pair whose Python is here, and say which ones are left out."""
    for (version, django), lock in PAIRS.items():
        if only and f"{version}/{django}" not in only:
            continue
        if (program := interpreter(version)) is None:
            sys.stdout.write(f"Left out: Python {version} with Django {django} (no working python{version}).\n")
            continue
        python = install(program, VENVS / f"{version}-{django}", lock)
        for database in databases:
            started = time.monotonic()
            row = run(python, database, arguments)
            sys.stdout.write(f"{' '.join(map(str, row))}: {time.monotonic() - started:.0f} s\n")
            yield row


def main() -> int:
    """Run the pairs, write the page after each, and return 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m lab.matrix", description=__doc__)
    parser.add_argument("--database", action="append", choices=DATABASES, help="Run on this one. Can be repeated.")
    parser.add_argument(
        "--only", action="append", default=[], metavar="3.12/5.2", help="Run this pair. Can be repeated."
    )
    parser.add_argument("--processes", default="auto", help="Set how many processes run tests.")
    given = parser.parse_args()
    failed = 0
    for row in run_all(given.database or [*DATABASES], given.only, ["-n", given.processes]):
        PAGE.write_text(page_with([row], PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        failed += row.failed
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
