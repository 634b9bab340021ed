"""Code as the pages show it: highlighted on the server, and with the addresses of this service."""

from typing import NamedTuple

from django.conf import settings
from django.utils.safestring import SafeString
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

DOCUMENTED_URL = "https://petstore.example"
"""The address of the service in the documents."""

SERVED_HOST = "served.invalid"
SERVED_ORIGIN = f"https://{SERVED_HOST}"
"""Placeholders in rendered pages for the host that was asked. Each response replaces them (`views.py`)."""

SERVED_URL = f"{SERVED_ORIGIN}{settings.BASE_PATH}"
"""The address of the service. `reverse` returns paths with its own path already: they follow `SERVED_ORIGIN`."""

LANGUAGES = {"sh": "curl", "python": "Python", "ts": "TypeScript"}
"""Language of a sample in a document → its label. The first is shown first."""


class Variant(NamedTuple):
    """A sample in one language."""

    language: str
    label: str
    html: SafeString


class Example(NamedTuple):
    """A block of code: a sample in several languages, or one response."""

    title: str
    kind: str
    """`sample`, or `response` for what the service sends."""
    variants: list[Variant]


def here(text: str) -> str:
    """Return code with the address and the key prefix of this service."""
    text = text.replace(DOCUMENTED_URL, SERVED_URL).replace("</docs/", f"<{settings.BASE_PATH}/docs/")
    return text.replace("pets_live_", settings.API_KEY_PREFIX)


def highlighted(text: str, language: str) -> SafeString:
    """Return the inside of a `<code>` element with Pygments' classes; all text is escaped."""
    if language == "http" and "\n\n" in text:  # without a Content-Type, Pygments takes the body for plain text
        head, body = text.split("\n\n", 1)
        return SafeString(f"{highlighted(head, 'http')}\n\n{highlighted(body, 'json')}")
    html = highlight(here(text).rstrip("\n"), get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return SafeString(html.rstrip("\n"))


def sample(title: str, texts: dict[str, str]) -> Example:
    """Return a sample: language → code. Without a title, one language alone is the title."""
    variants = [Variant(name, LANGUAGES[name], highlighted(texts[name], name)) for name in LANGUAGES if name in texts]
    return Example(title or variants[0].label, "sample", variants)


def block(title: str, text: str, language: str) -> Example:
    """Return one block; HTTP and JSON are responses."""
    kind = "response" if language in {"http", "json"} else "sample"
    return Example(title, kind, [Variant(language, title, highlighted(text, language))])
