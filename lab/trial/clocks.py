"""A cluster in which the clock of one machine can be set."""

from pathlib import Path

from lab.trial.cluster import Cluster

SLEEP = """\
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds)
"""
"""Read when Python starts. Its own `sleep` is `clock_nanosleep`, which fails now and then with libfaketime (EINVAL)."""


class Clocked(Cluster):
    """Patroni and PostgreSQL of each machine have a clock of their own, by libfaketime (Debian's package).

    It sets the time of day. The clock that only counts seconds stays right, as on a machine whose time is corrected.
    etcd has the real time: a program in Go asks the kernel, and measures leases with the other clock.
    """

    def variables(self, number: int) -> dict[str, str]:
        """Load the library into each program."""
        library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
        if library is None:
            raise SystemExit("libfaketime is not installed. On Debian, run: apt-get install libfaketime")
        self.set_clock(number, 0)
        (self.folder / "sitecustomize.py").write_text(SLEEP, encoding="ascii")
        return {
            "PYTHONPATH": str(self.folder),
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file(number)),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set_clock(self, number: int, seconds: int) -> None:
        """Let the clock of this machine differ by so many seconds; it takes a second."""
        self._file(number).write_text(f"{seconds:+d}\n", encoding="ascii")

    def _file(self, number: int) -> Path:
        return self.folder / f"clock{number}"
