"""Long work of the back office: one loop over the changes that run and the files that wait (`manage.py work`).

Their rows are the queue. A block locks its record, and a file needs the import lock, so two processes share the work.
What a killed one left is there for the next one (docs/decisions/0076).
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import takewhile

from django.db import DatabaseError, connection
from django.db.models import F, Min
from django.utils import timezone

from changes import undo as undoing
from changes.additions import EVERY, gather
from changes.models import Change, State, late
from changes.progress import LATE
from database.errors import STATEMENT_TIMED_OUT, described, failure_of, sqlstate
from files import queue
from files.lock import is_free
from files.transactions import disconnect
from history.acting import begin_request, end_request, identify
from history.naming import who
from pets import stock
from pets.models import ImportUpload

IDLE, PAUSE, TRY_AGAIN = 0.4, 0.02, 1
"""Seconds between two looks at the queue; between two blocks, so that others get their turn; and after a failure."""

TIDY = 20
"""After so many blocks the stock is made compact: they leave thousands of rows, which every list adds up."""

LEAVING = 3
"""Seconds after which a signal ends the process even if its block waits for the database. The next one does it."""

KILLS, FAILURE = 20, 4
"""How often in a row a process can be killed during a block: so often is no chance. A failure counts as four."""

GIVEN_UP = "It failed five times, or ended its process 20 times, so it was stopped. Ask an operator to look in the log."

logger = logging.getLogger(__name__)


class WorkLoop:
    """What one process does until `goes_on`, which is called at least every few seconds, returns False."""

    def __init__(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        self._goes_on = goes_on
        self._blocks = 0
        self._reader: queue.Reader | None = None
        self._gathers_at = 0.0

    def run(self) -> None:
        while self._goes_on():
            try:
                time.sleep(PAUSE if self.step() else IDLE)
            except Exception as error:  # noqa: BLE001 - it is logged
                _wait("The queue of work cannot be read", error)
        if self._reader is not None:
            self._reader.end()

    def step(self) -> bool:
        """Look after the files and additions, and do a block of each change that runs; return whether there was one."""
        self._reader = queue.look_after(self._reader)
        if time.monotonic() >= self._gathers_at:
            self._gathers_at = time.monotonic() + EVERY  # not at once again if it fails
            try:
                if gather():
                    self._gathers_at = 0.0
            except Exception as error:  # noqa: BLE001 - it is logged, and other work goes on
                _wait("Additions cannot be gathered", error)
        changes = _running()
        for change in takewhile(lambda _: self._goes_on(), changes):
            begin_request(change.request_id)
            identify(change.who)
            try:
                self._do_block(change)
            except Exception as error:  # noqa: BLE001 - it is logged, and ends at most its change
                kills = change.kills + (0 if _wait(f"A block of {change} failed", error) else FAILURE)
                with suppress(DatabaseError):
                    Change.objects.filter(pk=change.pk).update(kills=kills)
            finally:
                end_request()
        return bool(changes)

    def _do_block(self, change: Change) -> None:
        self._blocks += 1
        if change.kills >= KILLS:
            undoing.stop(change.pk, GIVEN_UP)
        elif change.user is not None and not undoing.may_undo(
            change.user, undoing.undone_by(change) if change.is_undo else change
        ):
            undoing.stop(change.pk, f"{who(change.who)} can no longer do this, so it was stopped.")
        else:
            Change.objects.filter(pk=change.pk).update(kills=F("kills") + 1)  # until the block is done, or fails
            goes_on = undoing.advance(change.pk)
            if not goes_on or self._blocks % TIDY == 0:
                with suppress(DatabaseError):  # the nightly recount does it too
                    stock.compact()


def _running() -> list[Change]:
    """Return the changes that run. A command does its own, which no one can stop by a page, until it ends."""
    changes = Change.objects.filter(state=State.RUNNING).select_related("user").defer("left").order_by("pk")
    return [change for change in changes if change.user is not None or is_free()]


def waits_since() -> datetime | None:
    """Return since when the oldest work waits that no process does; None if none waits for longer than `LATE`."""
    uploads = ImportUpload.objects.filter(waits_since__lt=timezone.now() - LATE)
    since = [late().aggregate(at=Min("last"))["at"], uploads.aggregate(at=Min("waits_since"))["at"]]
    if any(since) and not is_free():  # others wait for the import that runs, on SQLite the changes too
        since = since[:1] if connection.vendor == "postgresql" else []
    return min((at for at in since if at is not None), default=None)


def _wait(what: str, error: Exception) -> bool:
    """Wait a moment before it is tried again, and return whether the database was away or busy."""
    is_away = failure_of(error) is not None and sqlstate(error) != STATEMENT_TIMED_OUT
    if is_away:
        logger.warning("%s, because of the database: %s. It is tried again.", what, described(error))
    else:
        logger.error("%s.", what, exc_info=error)
    disconnect()
    time.sleep(TRY_AGAIN)
    return is_away
