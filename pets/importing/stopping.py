"""Ctrl-C, SIGTERM (a service manager sends it) and a button stop an import until it is saved, and never after that."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A signal handler that raises KeyboardInterrupt once at most; or what another thread asks to stop by."""

    def __init__(self) -> None:
        self.too_late = False
        self.raised = False

    def __call__(self, *_signal: object) -> None:
        if not self.too_late:
            self.too_late = self.raised = True
            raise KeyboardInterrupt


_stop: ContextVar[Stop | None] = ContextVar("_stop", default=None)


@contextmanager
def stoppable() -> Iterator[None]:
    """In this block the first SIGINT or SIGTERM raises KeyboardInterrupt, unless `too_late` was called.

    Must be entered by the main thread.
    """
    with stoppable_by() as stop:
        before = {number: signal.signal(number, stop) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def stoppable_by() -> Iterator[Stop]:
    """In this block `stop_if_asked` raises KeyboardInterrupt once another thread has set `raised` of the yielded."""
    stop = Stop()
    token = _stop.set(stop)
    try:
        yield stop
    finally:
        _stop.reset(token)


def stop_if_asked() -> None:
    """Raise KeyboardInterrupt if another thread asks for it, or again if it was lost.

    psycopg drops what is raised while it passes on a notice.
    """
    if (stop := _stop.get()) is not None and stop.raised:
        raise KeyboardInterrupt


def too_late() -> None:
    """Ignore signals from here to the end of the block: the work is saved, or its end is being recorded."""
    if (stop := _stop.get()) is not None:
        stop.too_late = True
