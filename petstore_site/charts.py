"""Bars drawn on the server as SVG, without a script or a style; the same figures make the table beside the picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

WIDTH = 640
"""Units of the picture's width; the page scales it to the room there is."""
HEIGHT = 150
"""Of upright bars. Scale and labels are beside the picture: what is in it is stretched."""
WIDEST = 48
"""Units of a bar: a chart of one day is not one block."""
LEAST = 1.5
"""Units that the smallest figure is drawn with, so that it differs from zero."""


@dataclass(frozen=True)
class Series:
    """A colour and its meaning; `css` is one of the classes in admin.css."""

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
        """The length of the whole bar."""
        return sum(figure.value for figure in self.figures)

    @property
    def shares(self) -> list[tuple[Figure, float]]:
        """Return each figure with its percentage of the whole bar."""
        return [(figure, 100 * figure.value / self.total if self.total else 0.0) for figure in self.figures]

    def bar(self, longest: int, series: Sequence[Series]) -> Iterator[tuple[str, str, str]]:
        """Yield class, start and length in percent of each piece of a bar in a table, whose longest is `longest`."""
        start = 0.0
        for each, figure in zip(series, self.figures, strict=True):
            length = 100 * figure.value / longest if longest else 0.0
            if length:
                yield each.css, f"{start:.2f}%", f"{length:.2f}%"
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


@dataclass(frozen=True)
class Bar:
    """A rectangle of the picture; `label` is its tooltip."""

    x: float
    y: float
    width: float
    height: float
    css: str
    label: str


@dataclass(frozen=True)
class Chart:
    """Figures under a title; `name` is unique in the page and made of letters."""

    name: str
    title: str
    series: Sequence[Series]
    rows: Sequence[Row]
    top: int = 0
    """The total of a bar as long as the picture, if it is more than any of them: charts side by side share it."""
    bars: Sequence[Bar] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bars", _upright(self))

    @property
    def highest(self) -> int:
        """The total of a bar as long as the picture."""
        return max([self.top, *(row.total for row in self.rows)])

    @property
    def total(self) -> int:
        """The sum of all rows."""
        return sum(row.total for row in self.rows)

    @property
    def description(self) -> str:
        """The text for readers who cannot see the picture. The table has the rest."""
        if not self.total:
            return "Nothing to show."
        most = max(self.rows, key=lambda row: row.total)
        return f"{self.total:,} in all; most in {most.label}: {most.total:,}. The table has every figure."


def _pieces(chart: Chart, row: Row, scale: float) -> Iterator[tuple[float, float, str, str]]:
    """Yield start, length, class and words of each piece of a row's bar, as the colours follow each other."""
    start = 0.0
    for series, figure in zip(chart.series, row.figures, strict=True):
        if figure.value > 0:
            length = max(figure.value * scale, LEAST)
            yield start, length, series.css, f"{row.label}, {series.label}: {figure.value:,}"
            start += length


def _upright(chart: Chart) -> list[Bar]:
    step = WIDTH / max(len(chart.rows), 1)
    wide = min(step * 0.8, WIDEST)
    scale = HEIGHT / chart.highest if chart.total else 0.0
    return [
        Bar(round(number * step + (step - wide) / 2, 1), max(round(HEIGHT - start - length, 1), 0), round(wide, 1),
            round(length, 1), css, label)
        for number, row in enumerate(chart.rows)
        for start, length, css, label in _pieces(chart, row, scale)
    ]  # fmt: skip
