"""Long work of the back office: one loop over the changes that run and the files that wait (`manage.py work`).

Their rows are the queue. A block locks its record, and a file needs the import lock, so two processes share the work.
What a killed one left is there for the next one (docs/decisions/0076).
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import takewhile

from django.db import DatabaseError, connection
from django.db.models import Min
from django.utils import timezone

from changes.acting import begin_request, end_request, identify
from changes.models import Change, State
from changes.naming import who
from changes.progress import LATE
from database.errors import STATEMENT_TIMED_OUT, failure_of, sqlstate
from pets import stock, undoing
from pets.activity import late
from pets.importing import queue
from pets.importing.lock import is_free
from pets.importing.transactions import disconnect
from pets.models import ImportUpload

IDLE, PAUSE, TRY_AGAIN = 0.4, 0.02, 1
"""Seconds between two looks at the queue; between two blocks, so that others get their turn; and after a failure."""

TRIES = 5
"""How often in a row a block can fail. While the database is away or busy, it waits instead."""

TIDY = 20
"""After so many blocks the stock is made compact: they leave thousands of rows, which every list adds up."""

GIVEN_UP = "It failed five times and was stopped. Ask an operator to look for it in the log."

logger = logging.getLogger(__name__)


class Worker:
    """What one process does."""

    def __init__(self) -> None:
        self._failures: Counter[int] = Counter()
        self._waits: dict[int, float] = {}
        self._blocks = 0
        self._reader: queue.Reader | None = None

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Work until `goes_on`, which is called at least every few seconds, returns False."""
        while goes_on():
            try:
                time.sleep(PAUSE if self.step(goes_on) else IDLE)
            except Exception:
                logger.exception("The queue of work cannot be read. It is tried again.")
                disconnect()
                time.sleep(TRY_AGAIN)
        if self._reader is not None:
            self._reader.end()

    def step(self, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Look after the files, and do a block of each change that runs; return whether there was one."""
        self._reader = queue.look_after(self._reader)
        now = time.monotonic()
        changes = [change for change in _running() if self._waits.get(change.pk, 0) <= now]
        for change in takewhile(lambda _: goes_on(), changes):
            begin_request(change.request_id)
            identify(change.who)
            try:
                self._do_block(change)
            except Exception as error:  # noqa: BLE001 - it is logged, and ends at most its change
                self._note_failure(change, error)
            finally:
                end_request()
        return bool(changes)

    def _do_block(self, change: Change) -> None:
        if change.user is not None and not undoing.may_do(change.user, change):
            undoing.stop(change.pk, f"{who(change.who)} can no longer do this, so it was stopped.")
        elif not undoing.advance(change) or self._blocks % TIDY == 0:
            with suppress(DatabaseError):  # the nightly recount does it too
                stock.compact()
        self._blocks += 1
        self._failures.pop(change.pk, None)

    def _note_failure(self, change: Change, error: Exception) -> None:
        disconnect()
        self._waits[change.pk] = time.monotonic() + TRY_AGAIN
        if failure_of(error) is not None and sqlstate(error) != STATEMENT_TIMED_OUT:
            logger.warning("A block of %s waits for the database.", change, exc_info=error)
            return
        logger.error("A block of %s failed.", change, exc_info=error)
        self._failures[change.pk] += 1
        if self._failures[change.pk] >= TRIES:
            undoing.stop(change.pk, GIVEN_UP)


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
