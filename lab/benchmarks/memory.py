"""Measure the memory of the import by the size of the file. It should stay the same."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.benchmarks.animals import write_animals
from lab.benchmarks.processes import manage, run
from lab.benchmarks.stores import Store, content


def measure(stores: Sequence[Store], folder: Path, *, sizes: Sequence[int]) -> Iterator[str]:
    """Import a file of each size into each database, and yield the lines of the table."""
    yield "Peak resident memory of the client process, and its time.\n"
    yield f"{'':<28} {'rows':>9} {'peak MB':>8} {'seconds':>8}"
    for store in stores:
        idle = run(*manage("check"), environment=store.environment)
        yield f"{f'check, {store.name}':<28} {'':>9} {idle.peak / 1e6:>8.0f} {idle.seconds:>8.2f}"
        for rows in sizes:
            yield _import(store, folder / "animals.csv", rows)


def _import(store: Store, file: Path, rows: int) -> str:
    wanted = write_animals(file, rows)
    store.empty()
    ran = run(*manage("import_pets", str(file), "-v0"), environment=store.environment)
    if content(store) != wanted:
        sys.exit(f"The import of {rows} rows left {content(store)}; the file is {wanted}.")
    sys.stderr.write(f"{store.name}, {rows} rows: {ran.peak / 1e6:.0f} MB\n")
    return f"{f'import_pets, {store.name}':<28} {rows:>9} {ran.peak / 1e6:>8.0f} {ran.seconds:>8.2f}"
