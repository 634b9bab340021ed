"""Finds the name that another is likely a typo of, at a cost that does not grow with how many names there are."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import takewhile

SHORTEST = 4
"""Characters of a name that can have a typo: shorter ones are too alike."""

LONGEST = 50
"""Of a longer one, only case, blanks and punctuation can differ: its typos would take 80 KB for each name."""


class Similar:
    """Names that can be looked up by what looks the same, or by one typo."""

    def __init__(self, names: Iterable[str]) -> None:
        """Know `names`; of two that fit equally, the earlier one is found."""
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        for key in _keys(name):
            self._names[key].append(name)

    def find(self, name: str) -> str | None:
        """Return a name that differs in case, blanks and punctuation only, or by one letter or two exchanged ones."""
        candidates = (known for key in _keys(name) for known in self._names.get(key, ()))
        return next((known for known in candidates if known != name and _is_typo(_folded(known), _folded(name))), None)


def _folded(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _keys(name: str) -> list[str]:
    """Return what a name shares with every name that is one typo away: itself, and itself without one letter.

    The first letter and digits always count: `Rats` is no typo of `Cats`, nor `Kennel 2` of `Kennel 1`.
    """
    folded = _folded(name)
    if not SHORTEST <= len(folded) <= LONGEST:
        return [folded]
    shorter = (folded[:at] + folded[at + 1 :] for at in range(1, len(folded)) if not folded[at].isdecimal())
    return [folded, *dict.fromkeys(shorter)]


def _is_typo(one: str, other: str) -> bool:
    start = _shared(one, other)
    end = _shared(one[start:][::-1], other[start:][::-1])
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    if any(character.isdecimal() for character in left + right):
        return False
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _shared(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
