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
    assert len(re.findall(r"^export \w+=http://testserver/v1 \w+=pets_test_…$", page, re.MULTILINE)) == 2


def test_the_readme_in_a_package_names_its_file() -> None:
    assert [name for name in NAMES if name in clients.readme(clients.RELEASED / name)] == NAMES


def test_every_section_and_sample_of_a_readme_is_shown(read: Read) -> None:
    page = read("/docs/clients/")
    for language, package in zip(("typescript", "python"), clients.packages().values(), strict=True):
        text = clients.readme(package)
        titles = [title for title in re.findall(r"^## (.+)$", text, re.MULTILINE) if title != "Install"]
        assert re.findall(rf'<section id="{language}-([\w-]+)"', page) == [
            title.lower().replace(" ", "-") for title in titles
        ]
        for first_line in re.findall(r"^```\w+ run\n(?:.*\n)*?(.+)\n```$", text, re.MULTILINE):
            assert first_line.strip() in text_of(page)
