"""What is in each page, before and after its form: no words of Django or allauth, and nothing that the policy forbids."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.staff.conftest import read
from tests.staff.test_roles import EACH, browser_of, undone
from tests.staff.walk import address, form
from tests.test_pages import INLINE

STOCK = [
    r"-{4,}",
    r"objects?\b",
    r"are you sure",
    r"successful",
    r"(superuser|staff) status",
    r"designates whether",
    r"\b(user|group)s? (to|with id)\b",
    r"\b(user|group|permission): ",
    r"\bcan (add|change|delete|view) (change|key|api|user|group|log|pet|import|bulk|content|session|category)",
    r"doesn.t exist. perhaps",
    r"\bpet-(list|detail)\b",
    r"relationship",
    r"select .+ to (change|view)",
    r"(site|django) administration",
    r"\bview site\b",
    r"hold down",
    r"sorting",
    r"change history",
    r"import run",
    r"security key (added|removed)",
]
"""What Django says where nobody chose other words."""

SHOWN = {"title", "aria-label", "placeholder", "alt"}
BUTTONS = {"submit", "button", "reset"}


class Strings(HTMLParser):
    """Collects what a page says: its texts, those of its buttons, and what is said only on hover or to screen readers."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.labels: list[str] = []
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._open.append(tag)
        self.found += [value for name, value in given.items() if name in SHOWN and value]
        if tag == "input" and given.get("type") in BUTTONS:
            self.found.append(given.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if text := " ".join(data.split()):
            tag = self._open[-1] if self._open else ""
            if tag not in {"script", "style"}:
                self.found.append(text)
            if tag in {"label", "legend"}:
                self.labels.append(text)


def stock(html: str) -> list[str]:
    """Return the strings of a page that are not ours."""
    strings = Strings(html)
    said = [string for string in strings.found if re.search("|".join(STOCK), OURS.sub("", string), re.IGNORECASE)]
    return [
        *said,
        *(label for label in strings.labels if label.endswith(":")),
        *re.findall("related-widget-wrapper", html),
    ]


OURS = re.compile(r"successful( reads)?\b(?!ly)|[0-9,]+ successful, ", re.IGNORECASE)
"""What has a word of the list, and is meant: requests are successful."""


@pytest.mark.parametrize("name", EACH)
def test_each_page_speaks_our_words_and_keeps_to_the_policy(name: str) -> None:
    with undone(name):
        client, user = browser_of("Administrator", name)
        path = address(name, user)
        client.cookies["csrftoken"] = token = "a" * 32
        forms: dict[str, dict[str, Any]] = {"empty": {}, "full": form(name)}
        seen = {"opened": html_of(client.get(path, follow=True))} | {
            which: html_of(client.post(path, sent | {"csrfmiddlewaretoken": token}, follow=True))
            for which, sent in forms.items()
        }
    assert {which: found for which, html in seen.items() if (found := stock(html))} == {}
    assert [which for which, html in seen.items() if re.search(INLINE, html)] == []


def html_of(answer: Any) -> str:
    """Return the page, nothing for a file."""
    body = read(answer)
    return body if answer["Content-Type"].startswith("text/html") else ""
