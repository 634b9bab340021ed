"""Ctrl-C and SIGTERM (a service manager sends it, and a button by it) stop an import until it is saved, never after."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A signal handler that raises KeyboardInterrupt once at most."""

    def __init__(self, parent: int | None) -> None:
        self.too_late = False
        self.raised = False
        self.parent = parent

    def __call__(self, *_signal: object) -> None:
        if not self.too_late:
            self.too_late = self.raised = True
            raise KeyboardInterrupt

    def is_asked(self) -> bool:
        """Return whether a signal came, or the parent has ended."""
        if self.parent not in {None, os.getppid()} and not self.too_late:
            self.too_late = self.raised = True
        return self.raised


_stop: ContextVar[Stop | None] = ContextVar("_stop", default=None)


@contextmanager
def stoppable(*, with_parent: bool = False) -> Iterator[None]:
    """In this block the first SIGINT or SIGTERM raises KeyboardInterrupt, unless `too_late` was called.

    So does the end of the parent process, if that is wanted. Must be entered by the main thread.
    """
    stop = Stop(os.getppid() if with_parent else None)
    token = _stop.set(stop)
    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stop.reset(token)


def is_stopped() -> bool:
    """Return whether the work should end: someone asked for it."""
    return (stop := _stop.get()) is not None and stop.is_asked()


def stop_if_asked() -> None:
    """Raise KeyboardInterrupt if the work should end, or again if it was lost.

    psycopg drops what is raised while it passes on a notice.
    """
    if is_stopped():
        raise KeyboardInterrupt


def too_late() -> None:
    """Ignore signals from here to the end of the block: the work is saved, or its end is being recorded."""
    if (stop := _stop.get()) is not None:
        stop.too_late = True
