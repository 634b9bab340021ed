"""Changes at work: in the request that confirms one as long as that is short, then in a thread of its own."""

import contextvars
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from django.db import DatabaseError, connection

from pets import stock

IN_REQUEST = 2
"""Seconds. What takes longer goes on in a thread, and its page shows how far it came."""

PAUSE = 0.02
"""Seconds between two blocks, so that others who wait for the same rows, or for SQLite's one writer, get their turn."""

TRIES = 5
"""How often in a row a block is tried: someone can hold one of its animals, and the database can be away."""

TIDY = 20
"""After so many blocks the stock is made compact: they leave thousands of rows, which every list adds up."""

TRY_AGAIN = 1
"""Seconds until the next try."""

Advance = Callable[[int], bool]
"""Does the next block of a change, and returns whether it still runs."""

logger = logging.getLogger(__name__)


def work(number: int, advance: Advance) -> bool:
    """Do the blocks of a change; return whether it ended. What remains after a moment is done in a thread."""
    until = time.monotonic() + IN_REQUEST
    try:
        several = False
        while time.monotonic() < until:
            if not advance(number):
                if several:
                    tidy()
                return True
            several = True
    except DatabaseError:
        logger.warning("A block of change %s failed. It is tried again.", number, exc_info=True)
    start(number, advance)
    return False


def start(number: int, advance: Advance) -> threading.Thread:
    """Go on in a thread, in the name of the person who acts now.

    If the process ends, so does the thread, and the block that it was doing is rolled back.
    """
    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(_work_on, number, advance), name=f"change-{number}", daemon=True)
    thread.start()
    return thread


def _work_on(number: int, advance: Advance) -> None:
    failures = 0
    try:
        for block in count(1):
            time.sleep(TRY_AGAIN if failures else PAUSE)
            try:
                if not advance(number):
                    return
                failures = 0
                if block % TIDY == 0:
                    tidy()
            except DatabaseError:
                failures += 1
                logger.warning("A block of change %s failed.", number, exc_info=True)
                connection.close()
                if failures == TRIES:
                    logger.error("Change %s was interrupted. Continue or stop it on its page.", number)  # noqa: TRY400
                    return
    finally:
        tidy()
        connection.close()


def tidy() -> None:
    """Make the stock compact, of which each block leaves some rows."""
    with suppress(DatabaseError):  # the nightly recount does it too
        stock.compact()
