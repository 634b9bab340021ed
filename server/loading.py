"""End the service when its workers cannot load. gunicorn would start new ones forever, or end with the first.

gunicorn's master imports this file, so that it must not import ours.
"""

import os
import sys

from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer
from gunicorn.workers.base import Worker

MOST = 3
"""So many workers in a row that cannot load end the service."""

LONGEST_REASON = 1000


class Loading:
    """Counts the workers that could not load since the last one that did.

    Each leaves its reason in the file that it shares with the master (`say_ready` writes there too).
    """

    def __init__(self) -> None:
        """Start with none."""
        self._failed: list[int] = []
        """Their ages: gunicorn numbers its workers in the order of their starts."""

    @staticmethod
    def prepare(server: Arbiter, worker: Worker) -> None:
        """Keep the file of a worker that is about to be forked: both sides close theirs before they call us."""
        server.WORKER_BOOT_ERROR = -1  # with its own, gunicorn ends at the first
        worker.report = os.dup(worker.tmp.fileno())

    @staticmethod
    def report(worker: Worker) -> None:
        """Leave the reason, in the worker that ends."""
        if not worker.booted:
            os.pwrite(worker.report, _reason(sys.exc_info()[1]).encode()[:LONGEST_REASON], 0)

    def ended(self, server: Arbiter, worker: Worker) -> None:
        """Count, in the master. Raise `HaltServer` with the reason of the last of `MOST`."""
        left = os.pread(worker.report, LONGEST_REASON, 0)
        os.close(worker.report)
        reason = left.strip(b"\0").decode(errors="replace")
        loaded = [other.age for other in server.WORKERS.values() if _is_loaded(os.pread(other.report, 2, 0))]
        if _is_loaded(left):
            loaded.append(worker.age)
        self._failed = [age for age in self._failed if age > max(loaded, default=0)]
        if not reason:
            return
        self._failed.append(worker.age)
        if len(self._failed) >= MOST and server.LISTENERS:  # it has none while it stops
            halt = f"{MOST} workers in a row could not load. {reason}"
            raise HaltServer(halt, 1)


def _is_loaded(left: bytes) -> bool:
    return left == b"\0"  # as `say_ready` leaves it; others that could not load are perhaps not reaped yet


def _reason(error: BaseException | None) -> str:
    """Return why a worker could not load: gunicorn has made another exception, or the end, of what went wrong."""
    if isinstance(error, SystemExit) and not isinstance(error.code, str):
        error = error.__context__
    text = str(error.code) if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
