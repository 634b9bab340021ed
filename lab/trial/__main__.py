"""Start the whole set on loopback, break it under load, and count what was lost.

    .venv/bin/python -m lab.trial --kills 20 --freezes 2 --switchovers 2

Three etcd, three Patroni with PostgreSQL, HAProxy and gunicorn run with the files of this folder, in a temporary
folder, and are stopped at the end. Writers add animals through the service. Each repeats an addition with its
Idempotency-Key until it is acknowledged. Readers read meanwhile. Exit status 0 only if every acknowledged animal is
there once, every break ended within 30 s, and one order explains all that was read. README.md here
explains it.
"""

import argparse
import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

from lab.trial.breaks import KINDS, Break
from lab.trial.clocks import Clocked
from lab.trial.cluster import Cluster
from lab.trial.programs import wait_until
from lab.trial.readers import Readers
from lab.trial.service import running_service
from lab.trial.verdict import report, report_reads
from lab.trial.writers import Writers


def main() -> int:
    """Run the trial and return the exit status."""
    arguments = parsed()
    breaks = [
        kind.breaks[number % len(kind.breaks)]
        for name, kind in KINDS.items()
        for number in range(getattr(arguments, name))
    ]
    random.Random(arguments.seed).shuffle(breaks)
    machines = Clocked if arguments.clocks else Cluster
    with machines.running() as cluster, kept_logs(cluster, arguments.logs), running_service(cluster) as service:
        writers = Writers(service.port, service.key, arguments.pause)
        readers = Readers(service.port, service.key, arguments.pause / 5)
        seconds: list[float] = []
        with (
            writers.writing(arguments.writers),
            readers.reading(arguments.readers),
            contextlib.suppress(TimeoutError),
        ):
            for each in breaks:
                seconds.append(tried(each, cluster, writers, readers))
                cluster.wait_until_whole()
        status = max(report(cluster, writers, seconds), len(seconds) < len(breaks))
        return max(status, report_reads(cluster, writers, readers))


def parsed() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description="Break a highly available PostgreSQL under load on this machine.")
    for name, kind in KINDS.items():
        parser.add_argument(f"--{name}", type=int, default=kind.times, help=f"{kind.help} (default: {kind.times}).")
    parser.add_argument("--writers", type=int, default=50)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--pause", type=float, default=1.0, help="Seconds between two animals of a writer.")
    parser.add_argument("--seed", type=int, default=1, help="The order of the breaks.")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="Copy the logs of all programs there at the end.")
    return parser.parse_args()


@contextlib.contextmanager
def kept_logs(cluster: Cluster, folder: Path | None) -> Iterator[None]:
    """Keep the logs, however the block ends."""
    try:
        yield
    finally:
        if folder:
            cluster.keep_logs(folder)


def tried(break_it: Break, cluster: Cluster, writers: Writers, readers: Readers) -> float:
    """Break the primary; print and return for how long no addition was acknowledged."""
    primary = cluster.primary()
    name = break_it.__name__.replace("_", " ")
    print(f"{time.strftime('%H:%M:%S')} {name:15} db{primary}", end="", flush=True)
    with break_it(cluster, primary):
        begun = time.monotonic()
        wait_until(lambda: writers.acknowledged_since(begun))
        seconds = time.monotonic() - begun
        print(f": back after {seconds:.1f} s, primary is db{cluster.primary()}", end="", flush=True)
    time.sleep(2)  # those that failed last have read again
    pause = writers.longest_pause(begun)
    print(f"; no addition for {pause:.1f} s, reads failed for {readers.failing(begun):.1f} s", flush=True)
    return max(seconds, pause)


if __name__ == "__main__":
    raise SystemExit(main())
