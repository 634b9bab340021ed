"""Figures in several documents: each comes from one file in results/, and `make -C lab bench-report` fills them in.

A document names the figure around it: `<!-- list-ms -->0.38<!-- -->`.
"""

import json
import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lab.benchmarks.load import Figures
from lab.benchmarks.processes import ROOT
from lab.benchmarks.servers import SERVICE
from lab.benchmarks.summary import median

RESULTS = ROOT / "lab" / "benchmarks" / "results"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "lab").glob("*.md"))]
NAMED = re.compile(r"(?<=<!-- )([a-z-]+)( -->)[^<]*(?=<!-- -->)")


def in_documents() -> dict[Path, str]:
    """Return the documents that name figures, with the figures of the results."""
    texts = {file: file.read_text(encoding="utf-8") for file in DOCUMENTS}
    return {file: filled_in(text) for file, text in texts.items() if NAMED.search(text)}


def filled_in(text: str) -> str:
    """Return a text with its named figures; raises `KeyError` for a name that is not in `FIGURES`."""
    return NAMED.sub(lambda found: f"{found[1]}{found[2]}{FIGURES[found[1]]()}", text)


def result(name: str) -> Any:
    """Return the results in a file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _of_service(operation: str) -> Figures:
    return median([Figures(*each) for each in result("requests")["figures"][operation][SERVICE]])


def _milliseconds(operation: str) -> Callable[[], str]:
    return lambda: f"{_of_service(operation).cpu / 1000:.2f}"


def _import_seconds() -> str:
    measured = result("imports")
    return f"{statistics.median(measured['seconds']['import_pets: new animals']) * 1_000_000 / measured['rows']:.0f}"


FIGURES: dict[str, Callable[[], str]] = {
    "import-million-s": _import_seconds,
    "list-requests": lambda: f"{_of_service('list').requests_per_second:,.0f}",
    "list-ms": _milliseconds("list"),
    "post-ms": _milliseconds("POST"),
}
"""Name → the figure. Milliseconds are CPU of the service and the database per request."""

SHOWN = ("list", "list by status", "deep page", "get one", "304", "401", "POST", "POST with a key", "replay")


def rely_on() -> Iterator[str]:
    """Yield the table of docs/performance.md: what each operation of the service takes."""
    measured = result("requests")
    yield f"Measured on {measured['date']} at commit `{measured['commit']}`.\n"
    yield "| operation | requests per second | median, ms | 99th percentile, ms | CPU with the database, ms |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for operation in SHOWN:
        each = _of_service(operation)
        cells = (f"{each.requests_per_second:,.0f}", f"{each.p50:.1f}", f"{each.p99:.1f}", f"{each.cpu / 1000:.2f}")
        yield f"| {operation} | {' | '.join(cells)} |"
