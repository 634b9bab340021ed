"""Say whether one order explains what readers saw of animals that are only added: linearizability of a growing set.

An order explains it if each read shows exactly the animals that come before it, and what ended before something else
began comes before that.

It cannot see what a list leaves out beyond its oldest animal, changes, deletions, and an error of the one clock
that all times are from.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

NEVER = float("inf")


class Addition(NamedTuple):
    """An animal that was sent, and acknowledged at a time or never."""

    name: str
    sent: float
    acknowledged: float = NEVER
    """The earliest, if it was sent more than once."""


class Read(NamedTuple):
    """A response that shows all animals of `known` that are in `shown`, and lacks the others."""

    sent: float
    received: float
    shown: frozenset[str]
    lacks: frozenset[str]
    """Animals that it would have to show if they were there."""


class Verdict(NamedTuple):
    """What is wrong, by kind. `order` is a circle of events, none of which can be the first."""

    lacking: list[tuple[Read, str]]
    """The read lacks an animal that was acknowledged before the read was sent."""
    vanished: list[tuple[Read, str]]
    """The read shows an animal that a later one lacks."""
    order: list[str]

    @property
    def is_good(self) -> bool:
        """Return whether one order explains everything."""
        return not (self.lacking or self.vanished or self.order)


def judge(additions: Iterable[Addition], reads: Iterable[Read]) -> Verdict:
    """Judge a history."""
    added = {each.name: each for each in additions}
    seen = sorted(reads, key=lambda read: read.sent)
    lacking = [
        (read, name) for read in seen for name in read.lacks if name in added and added[name].acknowledged < read.sent
    ]
    return Verdict(lacking, list(_vanished(seen)), _circle(added, seen))


def _vanished(reads: list[Read]) -> Iterator[tuple[Read, str]]:
    first: dict[str, Read] = {}
    for read in sorted(reads, key=lambda read: read.received):
        for name in read.shown:
            first.setdefault(name, read)
    for read in reads:
        for name in read.lacks:
            if name in first and first[name].received < read.sent:
                yield first[name], name


def _circle(added: Mapping[str, Addition], reads: list[Read]) -> list[str]:
    """Return events of which each must come before the next, the last before the first; nothing if there are none.

    Edges from each end to all that begins later would be one for each pair. So the ends form a line: an event
    comes before its end, and after the last end before its begin.
    """
    shown = {name for read in reads for name in read.shown}
    spans = {f"adding {name}": (each.sent, each.acknowledged) for name, each in added.items()}
    spans |= {f"reading {number}": (read.sent, read.received) for number, read in enumerate(reads)}
    ends = sorted({end for _, end in spans.values()})
    before: dict[str | float, set[str | float]] = {later: {sooner} for sooner, later in pairwise(ends)}
    for event, (begin, end) in spans.items():
        before[event] = set(ends[max(0, bisect_left(ends, begin) - 1) : bisect_left(ends, begin)])
        before.setdefault(end, set()).add(event)
    for number, read in enumerate(reads):
        event = f"reading {number}"
        before[event] |= {f"adding {name}" for name in read.shown if name in added}
        for name in read.lacks & added.keys():
            if added[name].acknowledged != NEVER or name in shown:  # else it may never have happened
                before[f"adding {name}"].add(event)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return [event for event in reversed(error.args[1]) if isinstance(event, str)]
    return []
