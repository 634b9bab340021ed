"""Draw docs/images/architecture.txt as SVG, light and dark: `make pictures`.

The form of the text is in its first lines. Boxes of a row have the same width and are spread evenly; an arrow goes
from the lower edge of a box to the upper edge of another.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SOURCE = IMAGES / "architecture.txt"

WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP, MARGIN = 860, 264, 56, 40, 10
"""Pixels: of the picture and of a box, between rows, and around everything."""


class Colours(NamedTuple):
    """The colours of one look."""

    box: str
    edge: str
    title: str
    text: str
    arrow: str


LOOKS = {
    "architecture.svg": Colours("#f3f7f4", "#1a7f4b", "#14241b", "#4a5a51", "#5d7266"),
    "architecture-dark.svg": Colours("#16231c", "#4fbf85", "#e6f0ea", "#a9bcb1", "#7f978a"),
}
"""File → its colours. The background is that of the page."""


class Box(NamedTuple):
    """A box: its texts, and its upper left corner in pixels."""

    title: str
    text: str
    x: float
    y: float


def drawn() -> dict[Path, str]:
    """Return the pictures by their files."""
    text = SOURCE.read_text(encoding="utf-8")
    return {IMAGES / name: "\n".join(_svg(text, colours)) + "\n" for name, colours in LOOKS.items()}


def boxes(text: str) -> dict[str, Box]:
    """Return the boxes by their names."""
    lines = [line for line in text.splitlines() if ":" in line and not line.startswith("#") and "->" not in line]
    return {name: box for number, line in enumerate(lines) for name, box in _row(number, line.split("|"))}


def _row(number: int, parts: list[str]) -> Iterator[tuple[str, Box]]:
    space = (WIDTH - 2 * MARGIN - len(parts) * BOX_WIDTH) / (len(parts) + 1)
    y = MARGIN + number * (BOX_HEIGHT + GAP)
    for column, part in enumerate(parts):
        found = re.fullmatch(r"\s*(\w+): (.+?) / (.+?)\s*", part)
        if found is None:
            message = f"Not a box: {part!r}"
            raise ValueError(message)
        name, title, text = found.groups()
        yield name, Box(title, text, MARGIN + space + column * (BOX_WIDTH + space), y)


def arrows(text: str) -> list[tuple[str, str]]:
    """Return the arrows: from, to."""
    return re.findall(r"^(\w+) -> (\w+)$", text, re.MULTILINE)


def _svg(text: str, colours: Colours) -> Iterator[str]:
    found = boxes(text)
    height = max(box.y for box in found.values()) + BOX_HEIGHT + MARGIN
    style = 'font-family="system-ui, sans-serif" text-anchor="middle" role="img"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" {style}>'
    yield f"<title>{escape(_in_words(found, arrows(text)))}</title>"
    yield '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield f'<path d="M0 0 8 4 0 8z" fill="{colours.arrow}"/></marker></defs>'
    for start, end in arrows(text):
        yield _arrow(found[start], found[end], colours)
    for box in found.values():
        yield from _box(box, colours)
    yield "</svg>"


def _in_words(found: dict[str, Box], pairs: list[tuple[str, str]]) -> str:
    return "; ".join(f"{found[start].title} to {found[end].title}" for start, end in pairs)


def _box(box: Box, colours: Colours) -> Iterator[str]:
    middle = box.x + BOX_WIDTH / 2
    size = f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"'
    yield f'<rect x="{box.x:g}" y="{box.y:g}" {size} fill="{colours.box}" stroke="{colours.edge}"/>'
    yield f'<g fill="{colours.title}" font-size="15" font-weight="600">{_text(middle, box.y + 24, box.title)}</g>'
    yield f'<g fill="{colours.text}" font-size="12.5">{_text(middle, box.y + 43, box.text)}</g>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _arrow(start: Box, end: Box, colours: Colours) -> str:
    """Return a curve that leaves a box downwards and arrives from above."""
    x1, y1, x2, y2 = start.x + BOX_WIDTH / 2, start.y + BOX_HEIGHT, end.x + BOX_WIDTH / 2, end.y - 2
    bend = (y2 - y1) / 2 if y2 - y1 < 2 * GAP else GAP
    curve = f"M{x1:g} {y1:g}C{x1:g} {y2 - bend:g} {x2:g} {y2 - 2 * bend:g} {x2:g} {y2:g}"
    return f'<path d="{curve}" fill="none" stroke="{colours.arrow}" stroke-width="1.4" marker-end="url(#tip)"/>'
