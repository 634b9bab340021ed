"""What an outage shows: one row for each promise."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from tests.timed import Timed

from lab.chaos.noise import noise


class Row(NamedTuple):
    """A promise, and whether it was kept."""

    promise: str
    tried: str
    seen: str
    kept: bool


class Measured(Protocol):
    """Something that took time."""

    @property
    def begun(self) -> float:
        """By the monotonic clock."""

    @property
    def seconds(self) -> float:
        """How long."""


def slowest(promise: str, tried: str, calls: Sequence[Measured], limit: float) -> Row:
    """Judge the slowest response. How late we were ourselves meanwhile does not count against it, and is shown."""
    over = [(call.seconds, noise.during(call.begun, call.seconds)) for call in calls if call.seconds > limit]
    note = f" ({max(late for _, late in over):.2f} s of that this program waited itself)" if over else ""
    seen = f"{max(call.seconds for call in calls):.2f} s at most{note}"
    return Row(promise, tried, seen, all(seconds - late <= limit for seconds, late in over))


def statuses(calls: Iterable[Timed]) -> str:
    """Return how often each status came, such as `200: 40, 503: 2`."""
    return counted(call.answer.status for call in calls)


def counted(statuses: Iterable[int]) -> str:
    """Return how often each status came; 0 is no response."""
    return ", ".join(f"{status or 'no response'}: {count:,}" for status, count in sorted(Counter(statuses).items()))
