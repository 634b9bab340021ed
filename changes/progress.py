"""How far long work is, as its page shows it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

LATE = timedelta(seconds=10)
"""No block takes so long: work on which nothing was done for that time waits for a process."""


class Phase(NamedTuple):
    """A step of the work: what it is and of what, `done`, `now`, `wait` or `later`, its share in percent if known."""

    name: str
    of: str
    state: str
    share: float | None
    text: str = ""


@dataclass
class WorkProgress:
    """Work that runs or waits: a figure, a sentence, and how much of it is done in percent."""

    figure: str
    line: str
    share: float = 0
    since: datetime | None = None
    """Since when no process works on it, if that is too long."""
    phases: Sequence[Phase] = ()


def waiting(since: datetime, nothing: str, phases: Sequence[Phase] = ()) -> WorkProgress:
    """Return work that no process has begun or gone on with `since` then; `nothing` says what was done so far."""
    late = timezone.now() - since
    if late < LATE:
        return WorkProgress("Starting", nothing, phases=phases)
    return WorkProgress("Waiting for the worker", f"For {span(late)}. {nothing}", since=since, phases=phases)


def span(time: timedelta) -> str:
    """Return "1 second", "59 seconds", "4 minutes", "3 hours"."""
    for unit, seconds in (("hour", 3600), ("minute", 60)):
        if time.total_seconds() >= 1.5 * seconds:
            return f"{time.total_seconds() / seconds:.0f} {unit}s"
    count = round(time.total_seconds())
    return f"{count} second{'s' * (count != 1)}"


def left(time: timedelta) -> str:
    """Return the figure for work that takes so much longer; below a minute in steps of ten seconds."""
    seconds = math.ceil(time.total_seconds() / 10) * 10
    return f"About {span(timedelta(seconds=seconds))} left" if seconds > 0 else "Almost done"
