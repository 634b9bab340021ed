"""The guide and the errors as Markdown, for programs to read, and `/llms.txt`, which lists them (llmstxt.org)."""

import re

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from petstore_site.portal import pages
from petstore_site.portal.code import SERVED_ORIGIN, SERVED_URL, here
from petstore_site.portal.documents import address_of, change_parts, with_own_addresses
from rest.errors import ErrorCode

LINK = re.compile(r"\[([^]]+)\]\(([^)\s]+)\)")


def guide() -> str:
    """Return the guide as Markdown."""
    return _served(pages.GUIDE.read_text(encoding="utf-8"))


def error(code: ErrorCode) -> str:
    """Return the page of an error as Markdown."""
    section = part(pages.ERRORS.read_text(encoding="utf-8"), f"## {code.value}")
    title = f"# {code.value}\n\n{code.status.value} {code.status.phrase}: {code.meaning}\n\n"
    return _served(f"{title}## What to do\n\n{code.cure}\n\n{section}")


def part(text: str, heading: str) -> str:
    """Return what is under a heading, up to the next heading of its level or above."""
    level = len(heading.partition(" ")[0])
    found = re.search(rf"^{re.escape(heading)}$\n(.*?)(?=^#{{2,{level}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() + "\n" if found else ""


def _served(text: str) -> str:
    """Return a document with the addresses of this service, and with links that lead to its pages."""
    return change_parts(with_own_addresses(text), lambda prose: LINK.sub(_link, prose), _code)


def _code(block: str) -> str:
    """Return a block of code without the mark of those that a test runs."""
    return here(re.sub(r"^(```\w+) run\b", r"\1", block))


def _link(link: re.Match[str]) -> str:
    title, address = link[1], address_of(link[2])
    if address.startswith("/"):
        address = SERVED_ORIGIN + address
    return f"[{title}]({address})" if address else title


def llms() -> str:
    """Return `/llms.txt`: what the API is, and where its documents are."""
    context = {
        "served_origin": SERVED_ORIGIN,
        "served_url": SERVED_URL,
        "key_prefix": settings.API_KEY_PREFIX,
        "codes": list(ErrorCode),
    }
    return render_to_string("portal/llms.txt", context)


def address(name: str, code: str = "") -> str:
    """Return where a page is as Markdown; empty for a page that is not."""
    if code:
        return reverse("error-markdown", args=[code])
    return reverse("guide-markdown") if name == "guide" else ""
