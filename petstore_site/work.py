"""Long work of the back office: one loop over the changes that run and the files that wait (`manage.py work`).

Their rows are the queue. A block locks its record, and a file needs the import lock, so two processes share the work.
What a killed one left is there for the next one (docs/decisions/0076).
"""

import logging
import signal
import time
from collections.abc import Callable

from changes.additions import EVERY, gather
from changes.attempts import attempt
from changes.models import Change, State
from database.errors import described, is_away
from files import queue
from files.lock import is_free
from files.transactions import disconnect
from history.acting import acting_for

IDLE, PAUSE, TRY_AGAIN, LEAVING = 0.4, 0.02, 1, 3
"""Seconds between looks at the queue; between blocks, so that others get a turn; after a failure; after a signal."""

logger = logging.getLogger(__name__)


class WorkLoop:
    """What the process does until a signal, or until `goes_on`, called at least every few seconds, returns False."""

    def __init__(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        self._goes_on = goes_on
        self._reader: queue.Reader | None = None
        self._gathers_at = 0.0

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, self._leave)
        while self._goes_on():
            try:
                time.sleep(PAUSE if self.step() else IDLE)
            except Exception as error:  # noqa: BLE001 - it is logged
                _wait("Work was interrupted", error)
        if self._reader is not None:
            self._reader.end()

    def _leave(self, *_: object) -> None:
        self._goes_on = lambda: False
        signal.alarm(LEAVING)  # which ends it even if a block waits for the database: the next process does that

    def step(self) -> bool:
        """Look after the files and additions, and do a block of each change that runs; return whether there was one."""
        self._reader = queue.look_after(self._reader)
        running = Change.objects.filter(state=State.RUNNING).select_related("user").defer("left").order_by("pk")
        changes = [change for change in running if change.user is not None or is_free()]  # a command does its own
        for change in (each for each in changes if self._goes_on()):
            with acting_for(change.who, change.request_id):
                try:
                    attempt(change)
                except Exception as error:  # noqa: BLE001 - it is logged, and ends at most its change
                    _wait(f"A block of {change} failed", error)
        if time.monotonic() >= self._gathers_at:
            self._gathers_at = time.monotonic() + EVERY  # not at once again if it fails
            if gather():
                self._gathers_at = 0.0
        return bool(changes)


def _wait(what: str, error: Exception) -> None:
    """Wait a moment before it is tried again."""
    if is_away(error):
        logger.warning("%s, because of the database: %s. It is tried again.", what, described(error))
    else:
        logger.error("%s.", what, exc_info=error)
    disconnect()
    time.sleep(TRY_AGAIN)
