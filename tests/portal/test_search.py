"""What the search of the portal can find."""

import re
from typing import Any

import pytest
from django.test import Client

from petstore_site.portal.search import SYNONYMS, Entry, entries, with_synonyms
from rest.errors import ErrorCode
from tests.portal.conftest import Read


@pytest.fixture
def index(client: Client) -> list[Entry]:
    found: list[list[Any]] = client.get("/docs/search.json").json()
    return [Entry(*one) for one in found]


def test_every_error_page_comes_under_its_code(index: list[Entry]) -> None:
    assert [entry for entry in index if entry.title in set(ErrorCode) and entry.level == 1] == [
        Entry(code.value, entry.text, f"/docs/errors/{code}", "Errors", 1, entry.also)
        for code, entry in zip(ErrorCode, [one for one in index if one.level == 1], strict=False)
    ]


@pytest.mark.parametrize("path", ["/docs/guide/", "/docs/", "/docs/clients/"])
def test_every_heading_of_every_page(index: list[Entry], read: Read, path: str) -> None:
    main = read(path).split("<main")[1]
    headings = re.findall(r"<h[1-4][^>]*>(.*?)</h[1-4]>", main, re.DOTALL)
    titles = {" ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", "", text).split()) for text in headings}
    shown = {entry.title for entry in index}
    assert {title for title in titles if "&" not in title} - shown == set()


@pytest.mark.parametrize(
    "title", ["Idempotency-Key", "Retry-After", "RateLimit-Policy", "max_wait", "maxWait", "timeout", "categoryId"]
)
def test_headers_fields_and_settings(index: list[Entry], title: str) -> None:
    assert [entry.level for entry in index if entry.title == title].count(3) == 1


def test_a_heading_of_each_operation_counts_as_a_row(index: list[Entry]) -> None:
    assert {(entry.page, entry.level) for entry in index if entry.title == "Errors"} == {
        ("Guide", 2),
        ("Clients", 2),
        ("API reference", 3),
    }


def test_every_address_is_a_place_on_its_page(index: list[Entry], read: Read) -> None:
    for address in {entry.address for entry in index}:
        page, _, fragment = address.partition("#")
        assert not fragment or f' id="{fragment}"' in read(page), address


def test_a_page_is_cut_at_headings_and_terms() -> None:
    page = """<h1>Outside</h1><main><section id="a"><h1>One</h1><p>First <b>text</b>.</p>
    <svg><text>no</text></svg><figure><pre>code</pre></figure></section>
    <section id="b"><h2>Two<a><svg></svg></a></h2><p>Second.</p><table><tr><th>Name</th><th>What</th></tr>
    <tr><td><code>limit</code></td><td>How many.</td></tr></table></section></main><footer>after</footer>"""
    assert list(entries("P", "/p/", page)) == [
        Entry("One", "First text .", "/p/", "P", 1),
        Entry("Two", "Second. Name What", "/p/#b", "P", 2),
        Entry("limit", "How many.", "/p/#b", "P", 3),
    ]


def test_what_stands_on_every_page_is_not_found(index: list[Entry]) -> None:
    for words in ("Still stuck", "Send request"):
        assert [entry.title for entry in index if words in entry.text] == [], words


def test_an_error_is_found_by_its_status_and_by_all_of_its_page(index: list[Entry]) -> None:
    (found,) = (entry for entry in index if entry.address.startswith("/docs/errors/pet_not_found"))
    assert found.also == "404 Not Found error missing resource deleted gone invalid unknown id"
    assert "Use IDs from the list of animals." in found.text


def test_rows_that_begin_with_a_number_are_text() -> None:
    page = """<main><h1>Codes</h1><table><tr><td>404</td><td>Not found.</td></tr></table></main>"""
    assert list(entries("P", "/p/", page)) == [Entry("Codes", "404 Not found.", "/p/", "P", 1)]


def test_a_title_brings_what_people_type_for_its_words() -> None:
    entry = Entry("Rate limits", "", "/", "P", 2)
    assert with_synonyms(entry).also == SYNONYMS["Rate limits"]
    assert with_synonyms(entry._replace(title="Corporate limits")).also == ""


def test_every_synonym_is_for_a_title(index: list[Entry]) -> None:
    used = {words for entry in index for words, synonyms in SYNONYMS.items() if synonyms in entry.also}
    assert set(SYNONYMS) - used == set()
