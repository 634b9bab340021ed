"""Every link in a document leads somewhere, and every document can be found from the index."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.server import ROOT

DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FOR_MACHINES = {"released"}


def documents() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def links(document: Path) -> list[tuple[Path, str]]:
    """Return the file and the heading that each link of a document to the repository names."""
    text = CODE.sub(lambda code: "" if code[0].startswith("```") else "code", document.read_text(encoding="utf-8"))
    targets = [link.partition("#") for link in LINK.findall(text) if not re.match(r"[a-z]+:|/", link)]
    return [((document.parent / file).resolve() if file else document, heading) for file, _, heading in targets]


@cache
def headings(document: Path) -> frozenset[str]:
    """Return the fragments of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = [re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    found = links(document)
    assert [str(file) for file, _ in found if not file.exists()] == []
    assert [f"{file.name}#{part}" for file, part in found if part and part not in headings(file)] == []


def test_every_document_is_in_the_index() -> None:
    listed = {file for file, _ in links(INDEX)}
    kept = {file for file in documents() if DOCS in file.parents and not FOR_MACHINES & set(file.parts)}
    kept -= {file for file in kept if file.parent in {DOCS / "decisions", DOCS / "lab"} and file.name != "README.md"}
    assert sorted(str(file.relative_to(ROOT)) for file in kept - listed - {INDEX}) == []
