"""Markdown of the repository as sections of a page. HTML in a document is shown as text, never passed on."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

from petstore_site.portal.code import DOCUMENTED_URL, Example, block, sample

SCROLLING_TABLE = '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'


class Section(NamedTuple):
    """What is under one heading: the text, and the code beside it."""

    id: str
    title: SafeString
    text: SafeString
    examples: list[Example]


class Fence(NamedTuple):
    """A block of code in a document: ```` ```LANGUAGE [run] TITLE ````."""

    language: str
    title: str
    runs: bool
    text: str


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "typographer": True}).enable(["table", "smartquotes"])
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", lambda *given: "</a>" if given[-1]["is_link"] else "")
    parser.add_render_rule("table_open", lambda *_: SCROLLING_TABLE)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


def _link_open(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    address = address_of(str(tokens[index].attrs["href"]))
    env["is_link"] = bool(address)
    tokens[index].attrs["href"] = address
    return str(renderer.renderToken(tokens, index, options, env)) if address else ""


def address_of(target: str) -> str:
    """Return the address, on the portal, of a link in a document; empty for a file that the portal does not show."""
    file, _, fragment = target.partition("#")
    if file == "errors.md":
        return reverse("error-help", args=[fragment])
    pages = {
        "../CHANGELOG.md": "changelog",
        "api.md": "guide",
        "docs/api.md": "guide",
        "../clients/README.md": "clients",
        "clients/README.md": "clients",
        "openapi.yaml": "description",
    }
    if file in pages:
        return reverse(pages[file]) + (f"#{fragment}" if fragment else "")
    if target.startswith(f"{DOCUMENTED_URL}/docs/"):  # as the README of a package must name it
        target = target.removeprefix(DOCUMENTED_URL)
    if target.startswith("/"):
        return settings.BASE_PATH + target
    return target if re.match(r"[a-z]+:|#", target) else ""


PARSER = _parser()


def inline(text: str) -> SafeString:
    """Return one line of Markdown as HTML."""
    return SafeString(PARSER.renderInline(with_own_addresses(text)))


def html_of(text: str) -> SafeString:
    """Return Markdown without code blocks as HTML."""
    return _render(PARSER.parse(with_own_addresses(text)))


def sections(text: str, level: int) -> Iterator[tuple[SafeString, Section]]:
    """Yield the sections under headings of `level`, each with the title of the heading above it."""
    tokens = PARSER.parse(with_own_addresses(text))
    headings = [(index, int(token.tag[1])) for index, token in enumerate(tokens) if token.type == "heading_open"]
    above = SafeString()
    for number, (start, depth) in enumerate(headings):
        if depth == level - 1:
            above = _render_inline(tokens[start + 1])
        elif depth == level:
            end = next((index for index, other in headings[number + 1 :] if other <= level), len(tokens))
            yield above, _section(tokens[start:end], level)


def introduction(text: str) -> Section:
    """Return the document's title, and what is above its first section."""
    tokens = PARSER.parse(with_own_addresses(text))
    end = next(index for index, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2")
    return _section(tokens[:end], 1)


def _fence(token: Token) -> Fence:
    match = re.fullmatch(r"(\w+)(?: (run))?(?: (.+))?", token.info.strip())
    language, runs, title = match.groups() if match else ("text", None, None)
    return Fence(language, title or "", bool(runs), token.content)


def _section(tokens: list[Token], level: int) -> Section:
    title = tokens[1]
    rest = [token for token in tokens[3:] if token.type != "fence"]
    for token in rest:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{int(token.tag[1]) - level + 2}"
    examples = _examples(_fence(token) for token in tokens if token.type == "fence")
    return Section(slugify(title.content), _render_inline(title), _render(rest), list(examples))


def _examples(blocks: Iterable[Fence]) -> Iterator[Example]:
    """Yield one sample for neighbours that run, which differ in language, and each other block by itself."""
    for runs, neighbours in groupby(blocks, key=lambda fence: fence.runs):
        if runs:
            yield from _samples(neighbours)
        else:
            yield from (block(fence.title, fence.text, fence.language) for fence in neighbours)


def _samples(blocks: Iterable[Fence]) -> Iterator[Example]:
    """Yield a sample for neighbours in different languages; a language that comes again begins the next."""
    title, texts = "", dict[str, str]()
    for fence in blocks:
        if fence.language in texts:
            yield sample(title, texts)
            texts = {}
        title = title if texts else fence.title
        texts[fence.language] = fence.text
    yield sample(title, texts)


def with_own_addresses(text: str) -> str:
    """Return a document with the addresses of the settings outside its code."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = map(_own_addresses, parts[::2])
    return "".join(parts)


def _own_addresses(text: str) -> str:
    with_production = text.replace(f"{DOCUMENTED_URL}/v1", settings.PRODUCTION_URL)
    return with_production.replace("https://staging.petstore.example/v1", settings.STAGING_URL)


def _render(tokens: list[Token]) -> SafeString:
    return SafeString(PARSER.renderer.render(tokens, PARSER.options, {}))


def _render_inline(token: Token) -> SafeString:
    return SafeString(PARSER.renderer.render([token], PARSER.options, {}))
