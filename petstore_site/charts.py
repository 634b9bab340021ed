"""Bars drawn on the server as SVG, without a script or a style; the same figures make the table beside the picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

ABOVE, BELOW = 10, 22
"""Pixels above the highest bar, and below all of them, where the names of the rows are."""
MOST_STEPS = 4
"""Steps of the axis."""
WITH_MIDDLE = 14
"""Rows from which on the one in the middle has its name."""
LEAST = 1.5
"""Pixels that the smallest figure is drawn with, so that it differs from zero."""


@dataclass(frozen=True)
class Series:
    """A colour and its meaning; `css` is one of the classes in back-office.css."""

    label: str
    css: str


@dataclass(frozen=True)
class Figure:
    """A number, and the list behind it."""

    value: int
    url: str = ""


@dataclass(frozen=True)
class Row:
    """The figures of one day, category or key: one for each series."""

    label: str
    figures: Sequence[Figure]
    url: str = ""

    @property
    def total(self) -> int:
        return sum(figure.value for figure in self.figures)

    def bar(self, longest: int, series: Sequence[Series]) -> Iterator[tuple[str, str, str]]:
        """Yield class, start and length in percent of each piece of a bar in a table, whose longest is `longest`."""
        start = 0.0
        for kind, figure in zip(series, self.figures, strict=True):
            length = 100 * figure.value / longest if longest else 0.0
            if length:
                yield kind.css, f"{start:.2f}%", f"{length:.2f}%"
            start += length


@dataclass(frozen=True)
class Spark:
    """The picture of a figure's days, for the eye only: no scale, no labels. `tone` is a class of the stylesheet."""

    values: Sequence[float]
    kind: str = "line"
    tone: str = ""

    @property
    def points(self) -> str:
        """The line, in a picture of 100 by 40; lows and highs have some room."""
        low, high = min(self.values), max(self.values)
        step = 100 / max(len(self.values) - 1, 1)
        rise = 28 / (high - low) if high > low else 0
        return " ".join(f"{at * step:.1f},{34 - (value - low) * rise:.1f}" for at, value in enumerate(self.values))

    @property
    def bars(self) -> list[tuple[str, str, str, str]]:
        """Start and width in percent, top and height in pixels of 40, for each day that has anything."""
        step, high = 100 / len(self.values), max(self.values)
        heights = [(at, max(30 * value / high, 1.5)) for at, value in enumerate(self.values) if value > 0]
        return [
            (f"{(at + 0.16) * step:.2f}%", f"{step * 0.68:.2f}%", f"{36 - height:.1f}", f"{height:.1f}")
            for at, height in heights
        ]


class Bar(NamedTuple):
    """A rectangle: across in percent of the picture, up in pixels from its top."""

    css: str
    x: str
    width: str
    y: str
    height: str


class Stack(NamedTuple):
    """The bars of a row on each other; `label` says its figures, `x` and `width` are all the room it has."""

    label: str
    x: str
    width: str
    bars: list[Bar]


class Mark(NamedTuple):
    """A text of an axis: of the figures at a height, or of the rows at a place across, with its `text-anchor`."""

    text: str
    at: str
    anchor: str = "end"


@dataclass(frozen=True)
class Chart:
    """Upright bars, the oldest row first; it stretches, and its text does not."""

    title: str
    series: Sequence[Series]
    rows: Sequence[Row]
    top: int = 0
    """The total of a bar as long as the picture, if it is more than any of them: charts side by side share it."""
    height: int = 180
    is_last_open: bool = False
    """Whether the last row is of a day that is not over: it is drawn as unfinished, and nothing is compared with it."""

    @property
    def highest(self) -> int:
        """The total that the picture has room for: a round number above the longest bar."""
        most = max([self.top, 1, *(row.total for row in self.rows)])
        return -(-most // self._step(most)) * self._step(most)

    @property
    def total(self) -> int:
        return sum(row.total for row in self.rows)

    @property
    def base(self) -> int:
        """How far below the top of the picture the bars begin; the names of the rows are below."""
        return self.height - BELOW

    @property
    def description(self) -> str:
        """The text for readers who cannot see the picture. The table has the rest."""
        if not self.total:
            return f"{self.title}. Nothing to show."
        most = max(self.rows, key=lambda row: row.total)
        return f"{self.title}. {self.total:,} in all; most on {most.label}: {most.total:,}. The table has every figure."

    @property
    def marks(self) -> list[Mark]:
        """The axis of the figures, from 0 up."""
        step = self._step(self.highest)
        return [Mark(f"{value:,}", f"{self._y(value):.1f}") for value in range(0, self.highest + 1, step)]

    @property
    def axis_width(self) -> int:
        """The room that the axis of the figures needs."""
        return 8 + 7 * len(f"{self.highest:,}")

    @property
    def names(self) -> list[Mark]:
        if not self.rows:
            return []
        middle = [Mark(self.rows[len(self.rows) // 2].label, "50%", "middle")] * (len(self.rows) >= WITH_MIDDLE)
        last = f"{self.rows[-1].label}{', so far' * self.is_last_open}"
        return [Mark(self.rows[0].label, "0", "start"), *middle, Mark(last, "100%")]

    @property
    def columns(self) -> list[Stack]:
        step = 100 / max(len(self.rows), 1)
        return [
            Stack(self._words(row), f"{at * step:.2f}%", f"{step:.2f}%", [*self._bars(row, at * step, step)])
            for at, row in enumerate(self.rows)
        ]

    def _bars(self, row: Row, start: float, step: float) -> Iterator[Bar]:
        bottom = float(self.base)
        is_open = " bar-open" * (self.is_last_open and row is self.rows[-1])
        for series, figure in zip(self.series, row.figures, strict=True):
            if figure.value > 0:
                length = max(self.base - self._y(figure.value), LEAST)
                bottom = max(bottom - length, 0)
                x, width = f"{start + step * 0.14:.2f}%", f"{step * 0.72:.2f}%"
                yield Bar(series.css + is_open, x, width, f"{bottom:.1f}", f"{length:.1f}")

    def _words(self, row: Row) -> str:
        figures = zip(self.series, row.figures, strict=True)
        return f"{row.label}: {', '.join(f'{figure.value:,} {series.label.lower()}' for series, figure in figures)}"

    def _y(self, value: int) -> float:
        return self.base - (self.base - ABOVE) * value / self.highest

    @staticmethod
    def _step(most: int) -> int:
        """Return 1, 2 or 5 times a power of ten that divides the axis into at most four."""
        power: int = 10 ** max(len(str(most)) - 2, 0)
        return next(power * factor for factor in (1, 2, 5, 10, 20, 50) if power * factor * MOST_STEPS >= most)
