"""The pages as Markdown, to paste or for programs to read, and `/llms.txt`, which lists them (llmstxt.org)."""

import re
from collections.abc import Callable

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from petstore_site.portal import changelog, clients, pages
from petstore_site.portal.code import SERVED_ORIGIN, SERVED_URL, here
from petstore_site.portal.documents import address_of, change_parts, with_own_addresses
from rest.errors import ErrorCode

LINK = re.compile(r"\[([^]]+)\]\(([^)\s]+)\)")


def page(name: str) -> str:
    """Return a page of `PAGES` as Markdown."""
    return _served(PAGES[name]())


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


def _clients() -> str:
    readmes = []
    for one in clients.context()["languages"]:
        install = f"```sh\n{one.package.line}\n```\n\n{one.package.hash_name}: `{one.package.hash}`\n"
        readmes.append(one.readme.replace(part(one.readme, "## Install"), install))
    return "\n".join(readmes)


def _changelog() -> str:
    text = changelog.FILE.read_text(encoding="utf-8")
    releases = re.findall(r"^## .+$", text, re.MULTILINE)
    changes = ((title, part(part(text, title), f"### {changelog.FOR_CALLERS}")) for title in releases)
    return "# Changelog\n\n" + "\n".join(f"{title}\n\n{change}" for title, change in changes if change)


PAGES: dict[str, Callable[[], str]] = {
    "guide": lambda: pages.GUIDE.read_text(encoding="utf-8"),
    "clients": _clients,
    "changelog": _changelog,
}
"""Name of the page → what writes it. The guide and the description have all that the other pages say."""


def llms() -> str:
    """Return `/llms.txt`: what the API is, and where each page is as Markdown."""
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
    return reverse("markdown", args=[name]) if name in PAGES else ""
