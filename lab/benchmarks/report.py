"""Fill the documents and the chart of lab/performance.md with the figures in results/: `make -C lab bench-report`."""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from lab.benchmarks import changes, figures
from lab.benchmarks.figures import RESULTS
from lab.benchmarks.load import Figures
from lab.benchmarks.processes import ROOT
from lab.benchmarks.summary import Rounds, median, tables

PAGE = ROOT / "lab" / "performance.md"
IMPORTS = RESULTS / "imports.json"
RELY_ON = ROOT / "docs" / "performance.md"
PAGE_OF_IMPORTS = ROOT / "docs" / "import-commands.md"
CHART = ROOT / "lab" / "performance.svg"
FILLED = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end of figures -->)", re.DOTALL)

COLOURS = ("#1a7f4b", "#8cc9a6", "#4b6bb5", "#7d8fb8", "#b5764b", "#b54b6b", "#8a8a8a", "#b0b0b0") * 2
LINE, BAR, WIDTH, LEFT, RIGHT = 18, 12, 860, 230, 90
"""Pixels: the height of a line and of its bar, the width of the chart, of the names and of the figures."""


def main() -> None:
    """Write the pages and the chart."""
    for file, text in filled().items():
        file.write_text(text, encoding="utf-8")


def filled() -> dict[Path, str]:
    """Return the pages and the chart with the figures, by their files."""
    files = [RESULTS / f"{name}.json" for name in ("requests", "sizes", "pages")]
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    imported = json.loads(IMPORTS.read_text(encoding="utf-8"))
    lines = [*(line for result in results for line in section(result)), *changes.shares(imported)]
    text = "\n".join(lines) + "\n\n"
    rely_on = "\n".join(figures.rely_on()) + "\n"
    imports = "\n".join(changes.section(imported)) + "\n\n"
    blocks = {PAGE_OF_IMPORTS: imports, PAGE: text, RELY_ON: rely_on}
    pages = {file: _with(block, file) for file, block in blocks.items()}
    return figures.in_documents() | pages | {CHART: "\n".join(chart(_rounds(results[0]))) + "\n"}


def _with(block: str, page: Path) -> str:
    return FILLED.sub(lambda _: block, figures.filled_in(page.read_text(encoding="utf-8")))


def section(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about one file of results."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    yield f"\n### {result['title']}\n"
    yield f"Measured on {result['date']} at commit `{result['commit']}`, {result['how']}."
    yield f"Machine: {result['machine']}, load average {result['load_average']} before. {versions}."
    if result["title"] == "By operation":
        yield "\n![CPU per request, by operation and server](performance.svg)"
    yield from tables(_rounds(result))


def _rounds(result: Mapping[str, Any]) -> Rounds:
    figures = result["figures"].items()
    return {name: {who: [Figures(*each) for each in found] for who, found in by.items()} for name, by in figures}


def chart(rounds: Rounds) -> Iterator[str]:
    """Yield the lines of the SVG: one bar for each operation and server, the part of PostgreSQL paler."""
    medians = {name: {who: median(found) for who, found in by.items()} for name, by in rounds.items()}
    scale = (WIDTH - LEFT - RIGHT) / max(each.cpu for by in medians.values() for each in by.values())
    colours = dict(zip(dict.fromkeys(who for by in medians.values() for who in by), COLOURS, strict=False))
    height = LINE * (1 + sum(len(by) + 2 for by in medians.values()))
    style = 'font-family="system-ui, sans-serif" font-size="12" fill="#222" role="img"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" {style}>'
    yield "<title>CPU per request in µs: the server, and paler PostgreSQL</title>"
    yield f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    top = LINE
    for name, by_server in medians.items():
        yield f'<text x="8" y="{top + BAR}" font-weight="bold">{escape(name)}</text>'
        for who, each in by_server.items():
            top += LINE
            yield from _bar(who, each, colours[who], scale, top)
        top += LINE * 2
    yield "</svg>"


def _bar(who: str, each: Figures, colour: str, scale: float, top: int) -> Iterator[str]:
    server, database = each.server_cpu * scale, each.database_cpu * scale
    look = f'y="{top}" height="{BAR}" fill="{colour}"'
    yield f'<text x="{LEFT - 8}" y="{top + BAR - 1}" text-anchor="end">{escape(who)}</text>'
    yield f'<rect x="{LEFT}" width="{server:.1f}" {look}/>'
    yield f'<rect x="{LEFT + server:.1f}" width="{database:.1f}" {look} opacity=".5"/>'
    yield f'<text x="{LEFT + server + database + 6:.1f}" y="{top + BAR - 1}">{each.cpu:,.0f} µs</text>'


if __name__ == "__main__":
    main()
