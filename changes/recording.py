"""Which change the rows of history are a part of that the ORM writes now."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from changes.models import Change

_recording: ContextVar[int | None] = ContextVar("recording", default=None)


@contextmanager
def recording(change: Change) -> Iterator[None]:
    """Let every row of history that is saved in this block refer to the change, if its table has a column for that."""
    token = _recording.set(change.pk)
    try:
        yield
    finally:
        _recording.reset(token)


def note_change(*, history_instance: Any, **_signal: Any) -> None:
    """Receive `pre_create_historical_record`: write the change into the row of history."""
    number = _recording.get()
    if number is not None and hasattr(history_instance, "change_id"):
        history_instance.change_id = number
