"""Break what the service depends on, and look whether it keeps its promises; `make -C lab chaos` starts it.

`python -m lab.chaos [--long] [OUTAGE …]` needs Linux and PostgreSQL. What this machine cannot do is left out, and said.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Protocol

import pytest

from lab.chaos import cache, database, imports, keys, network, overload, workers
from lab.chaos.noise import noise
from lab.chaos.table import Row


class Outage(Protocol):
    """Breaks something; `long` asks for as often as docs/reliability.md promises it."""

    __name__: str

    def __call__(self, *, long: bool) -> Iterator[Row]:
        """Yield what was seen."""


OUTAGES: tuple[Outage, ...] = (
    workers.worker_killed,
    workers.restarted,
    database.restarted,
    database.stopped,
    database.frozen_database,
    database.lost_standby,
    database.disk_full,
    network.network_cut,
    cache.redis_frozen,
    cache.redis_lost,
    overload.overloaded,
    keys.keys_rotated,
    imports.imports_killed,
)


def main() -> int:
    """Run the outages, print the table and return the exit status."""
    names = {outage.__name__: outage for outage in OUTAGES}
    parser = argparse.ArgumentParser(prog="python -m lab.chaos", description="Break what the service depends on.")
    parser.add_argument("outages", nargs="*", choices=[*names, []], metavar="OUTAGE", help=", ".join(names))
    parser.add_argument("--long", action="store_true", help="as often as docs/reliability.md promises, in an hour")
    given = parser.parse_args()
    noise.start()
    begun = time.monotonic()
    sys.stdout.write("| promise | tried | seen |\n| --- | --- | --- |\n")
    broken = sum(_run(names[name], long=given.long) for name in given.outages or names)
    sys.stdout.write(f"\n{broken} broken promises, in {time.monotonic() - begun:.0f} s\n")
    return 1 if broken else 0


def _run(outage: Outage, *, long: bool) -> int:
    """Print a row for each promise, and return how many were broken."""
    broken = 0
    try:
        for row in outage(long=long):
            broken += not row.kept
            seen = row.seen if row.kept else f"**BROKEN** {row.seen}"
            sys.stdout.write(f"| {row.promise} | {row.tried} | {seen} |\n")
            sys.stdout.flush()
    except pytest.skip.Exception as missing:
        sys.stdout.write(f"| {outage.__name__} | left out: {missing} | not seen |\n")
    except Exception:  # noqa: BLE001 - the other outages go on
        traceback.print_exc()
        sys.stdout.write(f"| {outage.__name__} | **BROKEN** it could not be tried to its end | |\n")
        broken += 1
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
