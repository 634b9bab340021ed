"""Compare the import and the export with alternatives, and with the least that the database needs.

    python tests/with_postgresql.py python -m lab.benchmarks.imports [--rows 1000000] [--rounds 3]
    python tests/with_postgresql.py python -m lab.benchmarks.imports --alternatives [--rows 1000000] [--rounds 3]
    python tests/with_postgresql.py python -m lab.benchmarks.imports --memory [100000 1000000 5000000]
    python tests/with_postgresql.py python -m lab.benchmarks.imports --serving [--rows 1000000]

or `make -C lab bench-import BENCH_ARGS=…`. The first measures imports that add, change or repeat all animals, and their undo,
beside psql; its figures are the only ones of that in the repository, and fill docs/import-commands.md. The second compares
with other ways to import and export, on PostgreSQL and SQLite. The third measures the memory of the import by the size
of the file. The last measures what clients notice of a running import. DATABASE_URL must name an empty PostgreSQL
database; for the first on this machine, which must run Linux. They take from some minutes to half an hour.
"""

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lab.benchmarks import changes, memory, report, serving, speed
from lab.benchmarks.stores import PostgreSQL, SQLite

RESULTS = Path(__file__).parent / "results"
SIZES = [100_000, 1_000_000, 5_000_000]


def main() -> None:
    """Measure, print the table and write it to results/."""
    asked = _arguments()
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        sys.exit("DATABASE_URL must name an empty PostgreSQL database. tests/with_postgresql.py creates one.")
    with tempfile.TemporaryDirectory(prefix="petstore-benchmark-") as name:
        folder, postgresql = Path(name), PostgreSQL(url)
        if asked.serving:
            kept, lines = "imports-serving", serving.measure(postgresql, folder, rows=asked.rows)
        elif asked.memory is not None:
            kept, lines = "imports-memory", memory.measure((postgresql, SQLite(folder)), folder, sizes=asked.memory)
        elif asked.alternatives:
            stores = postgresql, SQLite(folder)
            kept, lines = "imports-alternatives", speed.measure(*stores, folder, rows=asked.rows, rounds=asked.rounds)
        else:
            _keep(changes.measure(postgresql, folder, rows=asked.rows, rounds=asked.rounds))
            return
        text = "\n".join((_machine(postgresql), *lines)) + "\n"  # the lines are measured while they are joined
    print(text, end="")
    (RESULTS / f"{kept}.txt").write_text(text, encoding="utf-8")


def _keep(result: Mapping[str, Any]) -> None:
    print("\n".join(changes.section(result)))
    report.IMPORTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    report.main()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.imports")
    parser.add_argument("--rows", type=int, default=1_000_000, help="Set the number of animals (default: 1000000).")
    parser.add_argument("--rounds", type=int, default=3, help="Set how often each competitor runs (default: 3).")
    parser.add_argument(
        "--memory", type=int, nargs="*", metavar="ROWS", help="Measure memory for files of such lengths."
    )
    parser.add_argument("--alternatives", action="store_true", help="Compare with other ways to import and export.")
    parser.add_argument("--serving", action="store_true", help="Measure the service while it is imported.")
    asked = parser.parse_args()
    asked.memory = SIZES if asked.memory == [] else asked.memory
    return asked


def _machine(postgresql: PostgreSQL) -> str:
    return (
        f"PostgreSQL {postgresql.version()}, SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}, "
        f"Django {version('django')}, {os.cpu_count()} cores."
    )


if __name__ == "__main__":
    main()
