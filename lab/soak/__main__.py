"""Run the soak: `python -m lab.soak --minutes 60`. Needs Linux, PostgreSQL and Redis.

It writes `samples.csv`, `failures.csv` and `report.md` to a folder, and prints the report. lab/reliability.md has one.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from threading import Event

from tests.meanwhile import meanwhile

from lab.chaos.ledger import Ledger
from lab.chaos.noise import noise
from lab.soak.breaks import Breaks
from lab.soak.chores import Commands, Imports, Office
from lab.soak.instances import running_shop
from lab.soak.load import Keys, Load, Outcomes
from lab.soak.report import Soak, report
from lab.soak.samples import watch


def main() -> int:
    """Run it and return the exit status: 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="python -m lab.soak", description="Load the service and break it.")
    parser.add_argument("--minutes", type=float, default=60, help="how long; default 60")
    parser.add_argument("--every", type=float, default=120, metavar="SECONDS", help="between two breaks; default 120")
    parser.add_argument("--folder", type=Path, help="where the results go; default a new folder below /tmp")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="petstore-soak-", dir="/tmp"))
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"The results go to {folder}.\n")
    sys.stdout.flush()
    noise.start()
    return _run(folder, given.minutes * 60, given.every)


def _run(folder: Path, seconds: float, every: float) -> int:
    with tempfile.TemporaryDirectory(prefix="petstore-soak-", dir="/tmp") as data, running_shop(Path(data)) as shop:
        keys = Keys(shop.manage("issue_api_key", "Soak", "--rate-limit", "100000/min", "--json"))
        ledger, outcomes = Ledger("soak"), Outcomes(folder / "failures.csv")
        load, office = Load(shop, keys, ledger, outcomes), Office(shop, outcomes)
        imports, commands, breaks = Imports(shop, folder), Commands(shop, keys), Breaks(shop, keys, every)

        def sample(over: Event) -> None:
            watch(shop, folder / "samples.csv", over)

        begun = time.monotonic()
        with meanwhile(sample, *load.tasks, office.work, imports.work, *commands.tasks, breaks.work):
            time.sleep(seconds)
        soak = Soak(time.monotonic() - begun, shop.postgresql.url, ledger, outcomes, office, imports, commands, breaks)
        text, is_kept = report(soak, folder / "samples.csv")
    (folder / "report.md").write_text(text)
    sys.stdout.write(text)
    return 0 if is_kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
