"""The guide and the errors as Markdown, and `/llms.txt`."""

import re

import pytest
from django.test import Client

from rest.errors import ErrorCode
from tests.portal.conftest import Read, text_of
from tests.server import ROOT

PATHS = ["/docs/guide.md", *(f"/docs/errors/{code}.md" for code in ErrorCode)]
LINK = re.compile(r"\[[^]]+\]\(([^)]+)\)")


@pytest.mark.parametrize("path", PATHS)
def test_it_is_markdown_with_the_addresses_of_this_service(client: Client, path: str) -> None:
    answer = client.get(path)
    text = answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/markdown; charset=utf-8")
    assert text.startswith("# ")
    assert "served.invalid" not in text
    assert " run" not in "".join(re.findall(r"^```.*$", text, re.MULTILINE))
    assert client.get(path, headers={"If-None-Match": answer["ETag"]}).status_code == 304


@pytest.mark.parametrize("path", ["/llms.txt", *PATHS])
def test_every_link_leads_to_a_page_here(client: Client, read: Read, path: str) -> None:
    links = {link for link in LINK.findall(read(path)) if not link.startswith(("#", "https://"))}
    assert [link for link in links if not link.startswith("http://testserver/")] == []
    addresses = {link.removeprefix("http://testserver").partition("#")[0] for link in links}
    assert {client.get(address).status_code for address in addresses} <= {200}


def test_the_guide_is_the_whole_document(read: Read) -> None:
    headings = re.findall(r"^#+ .+$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"^#+ .+$", read("/docs/guide.md"), re.MULTILINE) == headings
    assert 'curl "http://testserver/v1/pets?status=available&limit=3"' in read("/docs/guide.md")


@pytest.mark.parametrize("code", ErrorCode)
def test_an_error_says_what_its_page_says(read: Read, code: ErrorCode) -> None:
    text = read(f"/docs/errors/{code}.md")
    assert text.startswith(f"# {code}\n\n{code.status.value} {code.status.phrase}: {code.meaning}\n")
    shown = re.sub("[“”]", '"', text_of(read(f"/docs/errors/{code}"))).replace("\u2019", "'")
    paragraphs = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).split("\n\n")[2:]
    assert len(paragraphs) > 2
    for paragraph in (one for one in paragraphs if one.strip()[:1].isalpha()):
        assert re.sub(r"[`*]", "", LINK.sub(lambda link: link[0][1:].partition("]")[0], paragraph)).strip() in shown


def test_llms_txt_lists_all_of_them(read: Read) -> None:
    text = read("/llms.txt")
    assert text.startswith("# Pet Store API\n\n> ")
    listed = {link.removeprefix("http://testserver") for link in LINK.findall(text)}
    assert listed == {*PATHS, "/openapi.json", "/docs/clients/", "/docs/changelog/"}


@pytest.mark.parametrize("path", ["/docs/landing.md", "/docs/clients.md", "/docs/errors/nope.md", "/docs/guide.md/"])
def test_nothing_else_is_there(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_these_pages_lead_there(read: Read) -> None:
    assert 'data-address="/docs/guide.md"' in read("/docs/guide/")
    assert 'data-address="/docs/errors/rate_limited.md"' in read("/docs/errors/rate_limited")
    for page in ("/", "/docs/", "/docs/clients/", "/docs/changelog/"):
        assert "View as Markdown" not in read(page)
