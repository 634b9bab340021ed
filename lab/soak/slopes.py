"""How fast something grows, and how sure that is.

Samples that follow each other resemble each other, so the usual interval of a regression would be too narrow. We take
medians of a minute, fit a line, and fit lines again to the same line with residuals drawn in blocks of five minutes
(moving-block bootstrap).
"""

from collections.abc import Sequence
from random import Random
from statistics import linear_regression, median
from typing import NamedTuple

MINUTE = 60
BLOCK = 5
"""Minutes. Longer than what a break disturbs."""

DRAWS = 2000
LEVEL = 0.95


class Slope(NamedTuple):
    """Growth per hour, with its interval of 95 %."""

    least: float
    growth: float
    most: float


def slope(points: Sequence[tuple[float, float]]) -> Slope:
    """Return the slope of (seconds, value) per hour."""
    minutes = _medians(points)
    times = [time for time, _ in minutes]
    fitted = linear_regression(times, [value for _, value in minutes])
    line = [fitted.intercept + fitted.slope * time for time in times]
    residuals = [value - at for (_, value), at in zip(minutes, line, strict=True)]
    chance = Random(1)
    drawn = sorted(
        linear_regression(times, [at + off for at, off in zip(line, _drawn(residuals, chance), strict=True)]).slope
        for _ in range(DRAWS)
    )
    tail = int(DRAWS * (1 - LEVEL) / 2)
    return Slope(*(each * 3600 for each in (drawn[tail], fitted.slope, drawn[-tail - 1])))


def _medians(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    grouped: dict[int, list[float]] = {}
    for seconds, value in points:
        grouped.setdefault(int(seconds // MINUTE), []).append(value)
    return [((minute + 0.5) * MINUTE, median(values)) for minute, values in grouped.items()]


def _drawn(residuals: list[float], chance: Random) -> list[float]:
    drawn: list[float] = []
    length = min(BLOCK, len(residuals))
    while len(drawn) < len(residuals):
        begin = chance.randrange(len(residuals) - length + 1)
        drawn += residuals[begin : begin + length]
    return drawn[: len(residuals)]
