"""The next block of a change by the process for work. What fails, or ends that, again and again ends its change."""

from contextlib import suppress
from itertools import count

from django.db import DatabaseError, Error
from django.db.models import F

from changes import undo as undoing
from changes.models import Change
from database.errors import is_away
from history.naming import who
from pets import stock

KILLS, FAILURE = 20, 4
"""How often in a row a process can be killed during a block: so often is no chance. A failure counts as four."""

GIVEN_UP = "It failed five times, or ended its process 20 times, so it was stopped. Ask an operator to look in the log."

TIDY = 20  # after so many blocks the stock is made compact: they leave thousands of rows, which every list adds up

_blocks = count(1)


def attempt(change: Change) -> None:
    """Do a block of a change that runs, or stop it; raises what failed; that counts, unless the database is away."""
    try:
        if change.kills >= KILLS:
            undoing.stop(change.pk, GIVEN_UP)
        elif change.user is not None and not undoing.may_undo(
            change.user, undoing.undone_by(change) if change.is_undo else change
        ):
            undoing.stop(change.pk, f"{who(change.who)} can no longer do this, so it was stopped.")
        else:
            Change.objects.filter(pk=change.pk).update(kills=F("kills") + 1)  # until the block is done, or fails
            if not undoing.advance(change.pk) or next(_blocks) % TIDY == 0:
                with suppress(DatabaseError):  # the nightly recount does it too
                    stock.compact()
    except Exception as error:
        with suppress(Error):
            kills = change.kills if is_away(error) else change.kills + FAILURE
            Change.objects.filter(pk=change.pk).update(kills=kills)
        raise
