"""The packages of the clients, as the portal serves them."""

import re
from base64 import b64encode
from hashlib import sha256, sha512

import pytest
from django.test import Client

from petstore_site.portal import changelog, clients
from tests.portal.conftest import Read, text_of

VERSION = next(release.version for release in changelog.releases() if release.released_at)
NAMES = [f"petstore-client-{VERSION}.tgz", f"petstore_client-{VERSION}-py3-none-any.whl"]


def test_both_packages_are_of_the_last_release() -> None:
    assert list(clients.packages()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_package_is_served_with_the_hash_that_the_page_shows(client: Client, read: Read, name: str) -> None:
    answer = client.get(f"/docs/clients/{name}")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["Content-Type"] == clients.MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    assert answer.content == (clients.RELEASED / name).read_bytes()
    page = text_of(read("/docs/clients/"))
    integrity = f"sha512-{b64encode(sha512(answer.content).digest()).decode()}"
    assert (integrity if name.endswith(".tgz") else sha256(answer.content).hexdigest()) in page
    assert f"http://testserver/docs/clients/{name}" in page


@pytest.mark.parametrize("name", ["README.md", "..%2Fbuild.py", "petstore_client-0.0.1-py3-none-any.whl"])
def test_nothing_else_is_served(client: Client, name: str) -> None:
    assert client.get(f"/docs/clients/{name}").status_code == 404


def test_the_samples_call_this_service(read: Read) -> None:
    page = text_of(read("/docs/clients/"))
    assert len(re.findall(r"^export \w+=http://testserver/v1 \w+=pets_test_…$", page, re.MULTILINE)) == 1


def test_the_readme_in_a_package_names_its_file() -> None:
    assert [name for name in NAMES if name in clients.readme(clients.RELEASED / name)] == NAMES


def test_every_section_and_sample_of_a_readme_is_shown(read: Read) -> None:
    page = read("/docs/clients/")
    for language, package in zip(("typescript", "python"), clients.packages().values(), strict=True):
        text = clients.readme(package)
        titles = [title for title in re.findall(r"^## (.+)$", text, re.MULTILINE) if title != "Install"]
        assert re.findall(rf'<div id="{language}-([\w-]+)" class="prose" data-language', page) == [
            title.lower().replace(" ", "-") for title in titles
        ]
        for first_line in re.findall(r"^```\w+ run\n(?:.*\n)*?(.+)\n```$", text, re.MULTILINE):
            assert first_line.strip() in text_of(page)


def test_a_heading_of_both_readmes_is_there_once(read: Read) -> None:
    page = read("/docs/clients/")
    shown = {match[1]: match[0] for match in re.finditer(r'<section id="([\w-]+)".*?</section>', page, re.DOTALL)}
    assert re.findall(r"data-language=\"(\w+)\"", shown["errors"]) == ["python", "ts"]
    assert re.findall(r'role="tab" .*?data-value="(\w+)"', shown["errors"]) == ["python", "ts"]
    assert re.findall(r"data-language=\"(\w+)\"", shown["asynchronous"]) == ["python"] * 2
    assert re.findall(r"data-language=\"(\w+)\"", shown["stop"]) == ["ts"] * 2
    order = list(shown)
    assert order.index("stop") == order.index("follow-changes") + 1
    assert shown["get-a-key"].count("<figure") == 1, "the line is the same for both"
    assert 'role="tab"' not in shown["get-a-key"]


def test_the_next_release_fits_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """What both READMEs have under a heading has the same number of samples."""
    folders = {".whl": "python", ".tgz": "typescript"}
    monkeypatch.setattr(
        clients, "readme", lambda file: (clients.RELEASED.parent / folders[file.suffix] / "README.md").read_text()
    )
    topics = clients.context()["topics"]
    assert {topic.title: topic.only for topic in topics if topic.only} == {
        "Asynchronous": "python",
        "Stop": "ts",
        "Browsers": "ts",
    }
    assert sum(len(topic.examples) for topic in topics) > 12
