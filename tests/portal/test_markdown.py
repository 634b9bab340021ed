"""The pages as Markdown, and `/llms.txt`."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from petstore_site.portal import clients, markdown, reference
from rest.errors import ErrorCode
from tests.portal.conftest import Read, text_of
from tests.server import ROOT

PATHS = [*(f"/docs/{name}.md" for name in markdown.PAGES), *(f"/docs/errors/{code}.md" for code in ErrorCode)]
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


def test_the_reference_has_every_operation_parameter_code_and_field(read: Read, description: dict[str, Any]) -> None:
    text = read("/docs/reference.md")
    for path, item in description["paths"].items():
        for method, operation in item.items():
            part = markdown.part(text, f"## {operation['summary']}")
            assert part.startswith(f"`{method.upper()} /v1{path}`")
            assert operation["description"] in part
            assert set(re.findall(r"^\| `([\w-]+)` \|", part, re.MULTILINE)) == {
                one["name"] for one in operation["parameters"]
            }
            assert re.findall(r"^\| (\d+) \|", part, re.MULTILINE) == list(operation["responses"])
    for name in ("NewPet", "Pet", "Error", "Category"):
        fields = re.findall(r"^\| `(\w+)` \|", markdown.part(text, f"## {name}"), re.MULTILINE)
        assert fields == list(description["components"]["schemas"][name]["properties"])


@pytest.fixture
def with_a_change(description: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A description with an operation such as no version of the API has yet."""
    item, schemas = description["paths"]["/pets/{petId}"], description["components"]["schemas"]
    schemas["PetChange"] = {"type": "object", "properties": {"status": schemas["Pet"]["properties"]["status"]}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/PetChange"}}}}
    item["patch"] = item["get"] | {"operationId": "changePet", "summary": "Change an animal", "requestBody": body}
    monkeypatch.setattr(reference, "description", lambda: json.dumps(description))
    made = (reference.document, reference.operations, reference._common_codes)
    for each in made:
        each.cache_clear()
    yield
    for each in made:
        each.cache_clear()


@pytest.mark.usefixtures("with_a_change")
def test_a_body_is_called_by_its_own_name() -> None:
    text = markdown.page("reference")
    bodies = re.findall(r"^Body, as `application/json`: (.+?)\. For example: `(.+)`$", text, re.MULTILINE)
    assert bodies == [
        ("[NewPet](#newpet)", '{"name": "Biscuit", "categoryId": 5}'),
        ("[PetChange](#petchange)", '{"status": "available"}'),
    ]


@pytest.mark.parametrize("code", ErrorCode)
def test_an_error_says_what_its_page_says(read: Read, code: ErrorCode) -> None:
    text = read(f"/docs/errors/{code}.md")
    assert text.startswith(f"# {code}\n\n{code.status.value} {code.status.phrase}: {code.meaning}\n")
    shown = re.sub("[“”]", '"', text_of(read(f"/docs/errors/{code}"))).replace("\u2019", "'")
    paragraphs = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).split("\n\n")[2:]
    assert len(paragraphs) > 2
    for paragraph in (one for one in paragraphs if one.strip()[:1].isalpha()):
        assert re.sub(r"[`*]", "", LINK.sub(lambda link: link[0][1:].partition("]")[0], paragraph)).strip() in shown


def test_the_clients_have_the_line_that_installs_them(read: Read) -> None:
    text = read("/docs/clients.md")
    for package in (language.package for language in clients.context()["languages"]):
        assert package.line.replace("https://served.invalid", "http://testserver") in text
        assert package.hash in text
    assert "sha256=…" not in text


def test_the_changelog_has_what_callers_notice(read: Read) -> None:
    text = read("/docs/changelog.md")
    assert re.findall(r"^## (\S+) \(", text, re.MULTILINE)[-1] == "1.0.0"
    assert "`Idempotency-Key`" in text
    assert "Staff sign-in" not in text


def test_llms_txt_lists_all_of_them(read: Read) -> None:
    text = read("/llms.txt")
    assert text.startswith("# Pet Store API\n\n> ")
    listed = {link.removeprefix("http://testserver") for link in LINK.findall(text)}
    assert listed == {*PATHS, "/openapi.json"}


@pytest.mark.parametrize("path", ["/docs/landing.md", "/docs/errors/nope.md", "/docs/guide.md/"])
def test_nothing_else_is_there(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_each_page_has_its_own(read: Read) -> None:
    pages = {
        "/docs/": "reference",
        "/docs/guide/": "guide",
        "/docs/clients/": "clients",
        "/docs/changelog/": "changelog",
    }
    for page, name in pages.items():
        assert f'data-address="/docs/{name}.md"' in read(page)
    assert 'data-address="/docs/errors/rate_limited.md"' in read("/docs/errors/rate_limited")
    assert 'data-address="' not in read("/").replace('data-address=""', "")
