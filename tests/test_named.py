"""Every path and name that CONTRIBUTING, the architecture and the decisions write in code font exists.

A decision may need a name that no longer exists. It says so: `` `old_name` (gone) ``.
"""

import re
import subprocess
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from tests.server import ROOT

ARCHITECTURE = ROOT / "docs" / "architecture.md"
DOCUMENTS = [ROOT / "CONTRIBUTING.md", ARCHITECTURE, *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`(?! \(gone\))")
PATH = re.compile(r"[\w.*{}-]+(?:/[\w.*{}-]+)+/?|[\w-]+/|[\w.-]+\.(?:py|md|css|js|ts|sql|html|ya?ml|toml|in)")
NAME = re.compile(r"_?(?:[A-Z]\w+|[a-z]+_\w+)(?:\.\w+)*(?:\(\))?|[a-z]+(?:_\w+)*(?:\.\w+)+(?:\(\))?")
NOT_OURS = {
    "application/json",
    "Rats",
    "WatchedFileHandler",
    "pg_last_wal_receive_lsn",
    "pg_stat_wal_receiver",
    "primary_slot_name",
    "1/2",
    "urllib.parse.urljoin",
}
"""Media types, versions, examples, and what belongs to libraries and PostgreSQL."""
CREATED = {"clients/dist", "var/release/VERSION"}
"""What `make` creates."""


def tracked() -> list[str]:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [file for file in files.splitlines() if (ROOT / file).is_file()]


def written(document: Path) -> list[str]:
    return CODE.findall(BLOCK.sub("", document.read_text(encoding="utf-8")))


@cache
def paths() -> frozenset[str]:
    """Return all files and folders, as seen from the top and from each folder: `serving/door.py`, `door.py`."""
    parts = [file.split("/") for file in tracked()]
    whole = {tuple(each[:end]) for each in parts for end in range(1, len(each) + 1)}
    return frozenset("/".join(each[start:]) for each in whole for start in range(len(each)))


@cache
def names() -> frozenset[str]:
    """Return all words of the code but those of comments and docstrings, and the names of commands."""
    return frozenset(word for file in tracked() if _is_code(file) for word in (Path(file).stem, *words(ROOT / file)))


def _is_code(file: str) -> bool:
    is_read = file.endswith(
        (".py", ".js", ".ts", ".css", ".html", ".sql", ".toml", ".yaml", ".yml", ".conf", ".service", "Makefile")
    )
    return is_read and not file.startswith("docs/") and file != Path(__file__).relative_to(ROOT).as_posix()


def words(file: Path) -> Iterator[str]:
    """Yield the words of a file; of Python only names and strings of one line."""
    if file.suffix != ".py":
        yield from re.findall(r"\w+", file.read_text(encoding="utf-8"))
        return
    with file.open("rb") as lines:
        for token in tokenize.tokenize(lines.readline):
            if token.type == tokenize.NAME or (token.type == tokenize.STRING and '"""' not in token.string):
                yield from re.findall(r"\w+", token.string)


def is_there(text: str) -> bool:
    """Return whether a path or a name exists, or `text` is neither."""
    text, _, inside = text.partition("::")
    if text in NOT_OURS | CREATED:
        return True
    if PATH.fullmatch(text):
        found = [path for path in paths() if fnmatch(path, text.removesuffix("/"))]
        return bool(found) and (not inside or re.search(rf"(def|class) {inside}\b", _text(text)) is not None)
    if NAME.fullmatch(text):
        return names() >= set(re.findall(r"\w+", f"{text} {inside}"))
    return True


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_in_code_font_exists(document: Path) -> None:
    assert [text for text in written(document) if not is_there(text)] == []


def test_the_tree_of_the_architecture_is_the_folders() -> None:
    [tree] = [block for block in BLOCK.findall(ARCHITECTURE.read_text(encoding="utf-8")) if "pets/ " in block]
    folder, missing = "", []
    for line in tree.splitlines()[1:-1]:
        shown, inner = line.strip().split("  ")[0].split(), line.startswith(" ")
        folder = folder if inner else shown[0]
        missing += [each for each in shown if not (ROOT / (folder if inner else "") / each).exists()]
    assert missing == []
