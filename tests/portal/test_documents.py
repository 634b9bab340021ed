"""The guide and the changelog: Markdown of the repository, made safe."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from petstore_site.portal import changelog, documents, views
from rest.errors import ErrorCode
from tests.portal.conftest import Read, text_of
from tests.server import ROOT


class TestMarkdown:
    @pytest.mark.parametrize(
        ("text", "html"),
        [
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\n"),
            ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
            ("`<b>`", "<p><code>&lt;b&gt;</code></p>\n"),
            ("[x](errors.md#rate_limited)", '<p><a href="/docs/errors/rate_limited">x</a></p>\n'),
            ("[x](../CHANGELOG.md)", '<p><a href="/docs/changelog/">x</a></p>\n'),
            ("[x](api.md#errors)", '<p><a href="/docs/guide/#errors">x</a></p>\n'),
            ("[x](#errors)", '<p><a href="#errors">x</a></p>\n'),
            ("[x](https://shop.example/)", '<p><a href="https://shop.example/">x</a></p>\n'),
            ("[`x`](deploy/README.md) [y](/docs/)", '<p><code>x</code> <a href="/docs/">y</a></p>\n'),
        ],
    )
    def test_rendered(self, text: str, html: str) -> None:
        assert documents.html_of(text) == html

    def test_code_is_escaped_in_every_language(self) -> None:
        text = "## A\n\n" + "".join(
            f"```{language} {runs}Title\n</code><script>\n```\n"
            for language in ("http", "json", "sh", "python", "ts")
            for runs in ("", "run ")
        )
        ((_, section),) = documents.sections(text, 2)
        blocks = [variant.html for example in section.examples for variant in example.variants]
        assert len(blocks) > 5
        assert not any("<script" in html or "</code" in html for html in blocks)

    def test_addresses_outside_code_are_those_of_the_settings(self, settings: Any) -> None:
        settings.PRODUCTION_URL = "https://shop.example/v1"
        assert documents.html_of("`https://petstore.example/v1`") == "<p><code>https://shop.example/v1</code></p>\n"


class TestGuide:
    def test_every_sentence(self, read: Read) -> None:
        page = " ".join(re.sub("[“”\u2019]", "'", text_of(read("/docs/guide/"))).split())
        paragraphs = [part for part in documents_without_code("docs/api.md").split("\n\n") if part[:1].isalpha()]
        assert len(paragraphs) > 30
        for paragraph in paragraphs:
            words = re.sub(r"\[(.+?)\]\([^)]+\)", r"\1", " ".join(paragraph.split()))
            assert re.sub(r"[`*]", "", words).replace('"', "'") in page

    def test_examples_are_beside_their_section(self, read: Read) -> None:
        section = read("/docs/guide/").split('<section id="conditional-requests"')[1].split("</section>")[0]
        titles = re.findall(r'<span class="code-title">([^<]+)</span>', section)
        assert titles == ["Ask whether anything changed", "Nothing changed"]
        assert re.findall(r'role="tab" id="conditional-requests-1-(\w+)-tab"', section) == ["sh", "python", "ts"]

    def test_every_code_has_a_section_in_the_document_of_errors(self) -> None:
        sections = documents.sections((ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), 2)
        assert [section.id for _, section in sections] == list(ErrorCode)


def documents_without_code(name: str) -> str:
    return re.sub(r"^```.*?^```$", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


HISTORY = """# Changelog

## 2.0.0 (unreleased)

### API

- Soon.

### Operations

- Not for callers.

## 1.5.0 (2027-03-04)

### API

- **Paging** by [`Link`](docs/api.md#lists-and-paging).

## 1.4.0 (2027-01-02)

### Commands

- Nothing of the API.
"""


class TestChangelog:
    @pytest.fixture
    def _history(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        file = tmp_path / "CHANGELOG.md"
        file.write_text(HISTORY)
        monkeypatch.setattr(changelog, "FILE", file)
        views._rendered.cache_clear()
        yield
        views._rendered.cache_clear()

    @pytest.mark.usefixtures("_history")
    def test_what_callers_notice(self, read: Read) -> None:
        page = read("/docs/changelog/")
        assert re.findall(r'<article class="release" id="v([\d.]+)"', page) == ["2.0.0", "1.5.0"]
        assert "Not released yet" in page
        assert '<time datetime="2027-03-04">4 March 2027</time>' in page
        assert '<strong>Paging</strong> by <a href="/docs/guide/#lists-and-paging"><code>Link</code></a>.' in page
        assert "Not for callers" not in page

    def test_a_heading_that_is_no_release_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "CHANGELOG.md"
        file.write_text("## Next\n\n### API\n\n- x\n")
        monkeypatch.setattr(changelog, "FILE", file)
        with pytest.raises(ValueError, match="not 'Next'"):
            changelog.releases()
