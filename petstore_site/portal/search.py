"""What the search of the portal finds: every heading, field and header of the pages, made from the pages themselves."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

SYNONYMS: dict[str, str] = json.loads(Path(__file__).with_name("synonyms.json").read_text(encoding="utf-8"))
"""A title, or words of one → what people type for it that the pages don't have: the vocabulary of other APIs."""

SKIPPED = frozenset({"svg", "form", "select", "button", "figure", "figcaption", "nav"})
"""Elements without text to search: code and controls."""

UNSEARCHED = "data-unsearched"
"""The attribute of other elements without text to search: what is on every page."""

HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
TERMS = frozenset({"dt", "td"})
VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "use", "wbr"})


class Entry(NamedTuple):
    """Something to find."""

    title: str
    text: str
    address: str
    page: str
    """The title of the page that it is on."""
    level: int
    """1 for a page's own title, 2 for a heading below it, 3 for a field, a header or a row of a table."""
    also: str = ""
    """Words that are not on the page, but that people search it by."""


@dataclass
class _Part:
    """A heading or a term, and the text after it."""

    level: int
    anchor: str
    title: str = ""
    text: str = ""


class _Reader(HTMLParser):
    """Cuts what is in `<main>` into parts, at headings and terms: a `<dt>`, or the first cell of a row."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[_Part] = []
        self._open: list[str] = []
        self._anchor = ""
        self._in_title = ""
        self._row_begins = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        identifier = attributes.get("id") or ""
        if tag not in VOID:
            self._open.append(tag)
        if UNSEARCHED in attributes:
            self._open.append(UNSEARCHED)  # closes with its element
        if tag in {"section", "article", "header"} and identifier:
            self._anchor = identifier
        if tag in HEADINGS and "main" in self._open:
            self._begin(tag, 1 if tag == "h1" else 2)
        elif tag == "dt" or (tag == "td" and self._row_begins):
            self._begin(tag, 3)
        self._row_begins = tag == "tr"

    def _begin(self, tag: str, level: int) -> None:
        self.parts.append(_Part(level, self._anchor))
        self._in_title = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._in_title or (tag == "code" and self._in_title in TERMS):  # a type follows the name
            self._in_title = ""
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self.parts or UNSEARCHED in self._open or SKIPPED.intersection(self._open) or "main" not in self._open:
            return
        part = self.parts[-1]
        if self._in_title:
            part.title += data
        else:
            part.text += f" {data}"


def entries(page: str, address: str, markup: str) -> Iterator[Entry]:
    """Yield what a page has to find: its parts with the text of each."""
    reader = _Reader()
    reader.feed(markup)
    for part in _without_numbers(reader.parts):
        title = " ".join(part.title.split())
        fragment = f"#{part.anchor}" if part.anchor and part.level > 1 else ""
        if title:
            yield Entry(title, " ".join(part.text.split()), f"{address}{fragment}", page, part.level)


def _without_numbers(parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts; a row that begins with a number, such as a status, belongs to the part before it."""
    kept: list[_Part] = []
    for part in parts:
        if part.title.strip().isdecimal() and kept:
            kept[-1].text += f" {part.title} {part.text}"
        else:
            kept.append(part)
    return kept


def whole(page: str, address: str, markup: str, also: str) -> Entry:
    """Return a short page as one thing to find."""
    first, *rest = entries(page, address, markup)
    return first._replace(text=" ".join([first.text, *(part.text for part in rest)]), also=also)


def with_synonyms(entry: Entry) -> Entry:
    """Return the entry with what else people type for the words of its title."""
    title = f" {_words(entry.title)} "
    also = [entry.also, *(synonyms for words, synonyms in SYNONYMS.items() if f" {_words(words)} " in title)]
    return entry._replace(also=" ".join(filter(None, also)))


def _words(title: str) -> str:
    return " ".join(re.findall(r"\w+", title.lower()))


def without_copies(found: Iterable[Entry]) -> list[Entry]:
    """Return the entries without those that repeat another's title and text, as headers of each operation do.

    A heading that a page has several times, such as the errors of each operation, is one of its rows.
    """
    kept: dict[tuple[str, str], Entry] = {}
    for entry in found:
        kept.setdefault((entry.title, entry.text if entry.level < 3 else ""), entry)
    times = Counter((entry.page, entry.title) for entry in kept.values())
    return [entry._replace(level=3) if times[entry.page, entry.title] > 1 else entry for entry in kept.values()]
