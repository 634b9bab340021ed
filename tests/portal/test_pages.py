"""What holds for every page of the portal."""

import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client

from petstore_site import version
from petstore_site.portal import changelog, pages
from rest.errors import ErrorCode
from tests.conftest import error
from tests.portal.conftest import Read, text_of
from tests.server import ROOT

PAGES = ["/", "/docs/", "/docs/guide/", "/docs/clients/", "/docs/changelog/", "/docs/errors/rate_limited"]


@pytest.mark.parametrize("path", [*PAGES, *(f"/docs/errors/{code}" for code in ErrorCode)])
def test_no_link_is_broken(client: Client, read: Read, path: str) -> None:
    for link in set(re.findall(r'href="([^"]+)"', read(path))):
        address, _, fragment = urljoin(path, link).partition("#")
        if address.startswith(("/static/", "https://")) or address in {"/admin/", "/readyz"}:
            continue
        answer = client.get(address)
        assert answer.status_code in {200, 302}, link
        assert not fragment or f' id="{fragment}"' in answer.content.decode(), link


@pytest.mark.parametrize("path", PAGES)
def test_ids_are_unique(read: Read, path: str) -> None:
    ids = re.findall(r' id="([^"]+)"', read(path))
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/guide/"])
def test_it_names_the_address_it_is_served_from(client: Client, settings: Any, path: str) -> None:
    settings.ALLOWED_HOSTS = ["shop.example"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    shown = client.get(path, headers={"Host": "shop.example:8443", "X-Forwarded-Proto": "https"}).content.decode()
    assert "https://shop.example:8443" in shown
    assert "served.invalid" not in shown


@pytest.mark.parametrize("path", PAGES)
def test_an_unchanged_page_is_not_sent_again(client: Client, path: str) -> None:
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", PAGES)
def test_it_is_built_once(client: Client, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    first = client.get(path)
    for source, name in ((changelog, "FILE"), (pages, "ERRORS"), (pages, "GUIDE")):
        monkeypatch.setattr(source, name, Path("/nowhere"))
    assert client.get(path).content == first.content


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_compressed(client: Client, path: str) -> None:
    answer = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert b"</html>" in gzip.decompress(answer.content)


@pytest.mark.parametrize("path", PAGES)
def test_both_versions_are_explained_in_one_sentence(read: Read, settings: Any, path: str) -> None:
    described = settings.SPECTACULAR_SETTINGS["VERSION"]
    sentence = (
        f"Release {version()} of the service implements version {described} of the interface, which is the version"
    )
    assert f"{sentence} of the API description." in read(path)


@pytest.mark.parametrize(("environment", "prefix"), [("production", "pets_live_"), ("staging", "pets_test_")])
def test_keys_have_the_prefix_of_the_environment(client: Client, settings: Any, environment: str, prefix: str) -> None:
    settings.PETSTORE_ENVIRONMENT = environment
    settings.API_KEY_PREFIX = prefix
    assert f"Keys of this service start with <code>{prefix}</code>" in client.get("/").content.decode()


def test_the_first_response_is_the_one_of_the_readme() -> None:
    readme = re.search(r"status=available&limit=3\"\n(.+)", (ROOT / "README.md").read_text())
    assert readme
    assert json.loads(pages.HERO.partition("\n\n")[2]) == json.loads(readme[1])


class TestErrorPages:
    @pytest.mark.parametrize("code", ErrorCode)
    def test_every_code_has_one(self, read: Read, code: ErrorCode) -> None:
        page = read(f"/docs/errors/{code}")
        assert f'<h1 id="error-h"><code>{code}</code></h1>' in page
        assert f'<p class="lead">{code.meaning}</p>' in page
        assert f"{code.status.value} {code.status.phrase}" in page
        assert f'<a href="/docs/errors/{code}" aria-current="page">' in page

    def test_it_names_the_operations(self, read: Read) -> None:
        page = read("/docs/errors/idempotency_key_reused")
        assert re.findall(r'href="/docs/#(\w+)"', page) == ["createPet"]

    @pytest.mark.parametrize(
        ("code", "headers"),
        [
            (
                "rate_limited",
                'Retry-After: 12\nRateLimit-Policy: "default";q=600;w=60\nRateLimit: "default";r=0;t=12\n',
            ),
            ("unavailable", "Retry-After: 12\n"),
            ("validation_failed", ""),
            ("cursor_expired", ""),
        ],
    )
    def test_its_sample_has_the_headers(self, read: Read, code: str, headers: str) -> None:
        head = f"Content-Type: application/json\n{headers}Link: </docs/errors/{code}>"
        assert head in text_of(read(f"/docs/errors/{code}"))
        shown = re.findall(rf"Content-Type: application/json\n([^{{]*)\n{{\s+.code.: .{code}.", text_of(read("/docs/")))
        assert set(shown) == {headers}

    def test_other_names_are_not_found(self, client: Client) -> None:
        answer = client.get("/docs/errors/nope")
        assert (answer.status_code, answer.json()) == (404, error("route_not_found", "This path does not exist.", 404))
