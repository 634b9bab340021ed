"""How many of the requests were errors, and when that is worth an alarm."""

from changes.times import NOTHING

ENOUGH = 200
"""Requests below which a share says nothing: 6 errors among 45 requests are one client's mistake."""

USUAL = 0.02
"""The share of errors up to which nothing is wrong."""


def share(part: int, total: int) -> str:
    """Return the share, such as "2.5 %"; a dash of nothing."""
    return f"{100 * part / total:.1f} %" if total else NOTHING


def is_alarming(wrong: int, total: int, usual: float = 0.0) -> bool:
    """Return whether so many errors among so many requests are more than usual."""
    return total >= ENOUGH and wrong > max(USUAL, usual) * total
