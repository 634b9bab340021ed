"""The badges of README, as pictures that need no network: `make pictures`. Each says only what a file of ours says."""

import re
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from tests.matrix import PAGE, rows_in

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"

HEIGHT, LETTER, PADDING = 20, 6.6, 8
"""Pixels: of a badge, of a letter on average, and on both sides of a text."""


def drawn() -> dict[Path, str]:
    """Return the badges by their files."""
    return {IMAGES / f"badge-{name}.svg": _svg(name, text) for name, text in texts().items()}


def texts() -> dict[str, str]:
    """Return what each badge says: its name → its text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licence = re.match(r"(\w+) License", (ROOT / "LICENSE").read_text(encoding="utf-8"))
    return {
        "version": project["version"],
        "python": " | ".join(pythons()),
        "licence": licence[1] if licence else "",
        "tests": tests(),
    }


def pythons() -> list[str]:
    """Return the versions of Python on which all tests of docs/versions.md passed."""
    rows = rows_in(PAGE.read_text(encoding="utf-8"))
    failed = {row.pair[0] for row in rows if row.failed}
    return sorted({row.pair[0] for row in rows} - failed, key=lambda version: int(version.partition(".")[2]))


def tests() -> str:
    """Return the result of the newest run: how many tests passed, and when."""
    newest = max(rows_in(PAGE.read_text(encoding="utf-8")), key=lambda row: (row.day, row.passed))
    result = f"{newest.failed:,} failed" if newest.failed else f"{newest.passed:,} passed"
    return f"{result} on {newest.day}"


def _svg(name: str, text: str) -> str:
    return "".join(_lines(name, text)) + "\n"


def _lines(name: str, text: str) -> Iterator[str]:
    left, right = (len(part) * LETTER + 2 * PADDING for part in (name, text))
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="{HEIGHT}" role="img">'
    yield f"<title>{escape(name)}: {escape(text)}</title>"
    yield f'<rect width="{left + right:g}" height="{HEIGHT}" rx="4" fill="#1a6b40"/>'
    yield f'<path d="M4 0h{left - 4:g}v{HEIGHT}H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="#444b47"/>'
    yield '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">'
    yield f'<text x="{left / 2:g}" y="14">{escape(name)}</text>'
    yield f'<text x="{left + right / 2:g}" y="14">{escape(text)}</text></g></svg>'
