"""Bars drawn on the server as SVG, without a script or a style; the same figures make the table beside the picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

WIDTH = 640
"""Units of the picture's width; the page scales it to the room there is."""
HEIGHT, TOP, BOTTOM = 150, 18, 20
"""Of upright bars: the room for them, the room above for the scale, and below for the labels."""
ROW, LABEL, TOTAL = 26, 190, 80
"""Of lying bars: the height of a row, and the widths left of it and right of it for words."""
LONGEST = 24
"""Characters of a label that have room in the picture; the table has the whole."""
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
class Text:
    """Words in the picture; `anchor` is SVG's text-anchor."""

    x: float
    y: float
    text: str
    anchor: str = "start"


@dataclass(frozen=True)
class Picture:
    """What the template draws."""

    height: int
    bars: Sequence[Bar]
    texts: Sequence[Text]
    width: int = WIDTH


@dataclass(frozen=True)
class Chart:
    """Figures under a title; `name` is unique in the page and made of letters."""

    name: str
    title: str
    series: Sequence[Series]
    rows: Sequence[Row]
    lying: bool = False
    """Bars to the right, for rows with long labels; else upwards, for days."""
    top: int = 0
    """The total of a bar as long as the picture, if it is more than any of them: charts side by side share it."""
    picture: Picture = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "picture", _lying(self) if self.lying else _upright(self))

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


def _scale(chart: Chart, room: float) -> float:
    return room / _top(chart) if chart.total else 0.0


def _top(chart: Chart) -> int:
    return max([chart.top, *(row.total for row in chart.rows)])


def _upright(chart: Chart) -> Picture:
    step = WIDTH / max(len(chart.rows), 1)
    scale, ground = _scale(chart, HEIGHT), TOP + HEIGHT
    drawn = [
        Bar(round(number * step + step * 0.1, 1), round(ground - start - length, 1), round(step * 0.8, 1),
            round(length, 1), css, label)
        for number, row in enumerate(chart.rows)
        for start, length, css, label in _pieces(chart, row, scale)
    ]  # fmt: skip
    texts = [Text(0, TOP - 6, f"{_top(chart):,}")]
    if chart.rows:
        texts.append(Text(0, ground + BOTTOM - 5, chart.rows[0].label))
        texts.append(Text(WIDTH, ground + BOTTOM - 5, chart.rows[-1].label, "end"))
    return Picture(ground + BOTTOM, drawn, texts)


def _lying(chart: Chart) -> Picture:
    scale = _scale(chart, WIDTH - LABEL - TOTAL)
    drawn = [
        Bar(round(LABEL + start, 1), number * ROW + 5, round(length, 1), ROW - 10, css, label)
        for number, row in enumerate(chart.rows)
        for start, length, css, label in _pieces(chart, row, scale)
    ]
    texts = []
    for number, row in enumerate(chart.rows):
        label = row.label if len(row.label) <= LONGEST else f"{row.label[: LONGEST - 1]}…"
        texts.append(Text(LABEL - 10, number * ROW + 17, label, "end"))
        texts.append(Text(WIDTH, number * ROW + 17, f"{row.total:,}", "end"))
    return Picture(len(chart.rows) * ROW, drawn, texts)
