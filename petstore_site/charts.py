"""A bar chart as numbers, which `admin/charts/bars.html` draws as SVG with the same figures as a table."""

from collections.abc import Iterable
from typing import Any, NamedTuple

WIDTH = 720
HEIGHT = 120
GAP = 2
WIDEST = 60


class Bar(NamedTuple):
    """One bar: what it stands for, and where it is drawn."""

    label: str
    value: int
    href: str
    x: int
    y: int
    width: int
    height: int


def bars(series: Iterable[tuple[str, int, str]], *, top: int = 0) -> dict[str, Any]:
    """Return the template's context for (label, value, address or "") from left to right.

    `top` is the value of a bar as high as the picture, if it is more than any of them: charts side by side share it.
    """
    rows = list(series)
    top = max([top, 1, *(value for _, value, _ in rows)])
    step = WIDTH // max(len(rows), 1)
    width = max(min(step - GAP, WIDEST), 1)
    drawn = [_bar(row, x=number * step + (step - width) // 2, width=width, top=top) for number, row in enumerate(rows)]
    return {"bars": drawn, "width": WIDTH, "height": HEIGHT, "top": top, "total": sum(bar.value for bar in drawn)}


def _bar(row: tuple[str, int, str], *, x: int, width: int, top: int) -> Bar:
    value = row[1]
    height = max(HEIGHT * value // top, 2 if value else 0)
    return Bar(*row, x=x, y=HEIGHT - height, width=width, height=height)
