"""The pages for people, and what every page is sent with."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from rest.errors import ErrorCode
from tests.conftest import error

POLICY = (
    "base-uri 'none'; connect-src 'self'; default-src 'none'; font-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'"
)
INLINE = r"<script(?![^>]*(\bsrc=|\btype=.application/json))[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:"
"""What the policy forbids in a page."""


@pytest.mark.parametrize(
    "path",
    ["/", "/docs/", "/docs/guide/", "/docs/changelog/", "/docs/errors/rate_limited", "/admin/account/sign-in/"],
)
def test_pages_work_under_the_strict_policy(db: None, client: Client, path: str) -> None:
    answer = client.get(path)
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "; ".join(sorted(answer["Content-Security-Policy"].split("; "))) == POLICY
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert not re.search(INLINE, html)


OURS = {"fieldset.description|safe", "field.field.help_text|safe", "field.help_text|safe"}
"""What the templates of the back office do not escape: texts of our own."""


def test_names_and_what_is_in_files_are_only_text() -> None:
    """Whatever page shows them; tests/e2e/test_accessibility.py looks at most of them with hostile names."""
    templates = "".join(file.read_text() for file in Path("templates").rglob("*.html") if "portal" not in file.parts)
    assert {*re.findall(r"\S*\|\s*safe\w*|autoescape off", templates)} == OURS
    rooms = [Path(name) for name in ("categories", "changes", "files", "history", "pets", "petstore_site")]
    code = "".join(file.read_text() for room in rooms for file in room.rglob("*.py") if "portal" not in file.parts)
    assert re.findall(r"SafeString\(.*|mark_safe\(.*|format_html\(f.*", code) == ['SafeString("")']


def test_pages_of_the_back_office_are_compressed_and_their_length_says_nothing(admin_client: Client) -> None:
    """The length of what is compressed gives away what is repeated in it (BREACH), so it varies from one to the next."""
    answers = [admin_client.get("/admin/", headers={"Accept-Encoding": "gzip, br"}) for _ in range(12)]
    for answer in answers:
        assert answer["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in answer["Vary"]
        assert answer["Content-Length"] == str(len(answer.content))
        assert b"</html>" in gzip.decompress(answer.content)
    assert len({len(answer.content) for answer in answers}) > 6
    assert len(answers[0].content) < len(gzip.decompress(answers[0].content)) / 3


def test_nothing_else_is_compressed_there(admin_client: Client) -> None:
    accepts = {"Accept-Encoding": "gzip"}
    csv: Any = admin_client.get("/admin/pets/pet/export/csv/", headers=accepts)
    assert b"".join(csv.streaming_content).startswith(b"\xef\xbb\xbfid,")  # read to its end, it is closed
    assert "Content-Encoding" not in csv
    for path in ("/admin/", "/docs/"):
        for rejected in ("", "gzip;q=0", "br, GZIP ; q=0.000, identity"):
            answer = admin_client.get(path, headers={"Accept-Encoding": rejected})
            assert "Content-Encoding" not in answer
            assert "Accept-Encoding" in answer["Vary"]
    assert "Content-Encoding" in admin_client.get("/admin/", headers={"Accept-Encoding": "br;q=0, gzip;q=0.01"})
    assert "Content-Encoding" not in Client().get("/v1/pets", headers=accepts)


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/guide/", "/openapi.json", "/livez", "/readyz"])
@pytest.mark.parametrize("method", ["POST", "FOO"])
def test_pages_are_only_read(db: None, path: str, method: str) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.generic(method, path)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert answer.json() == error("method_not_allowed", ErrorCode.METHOD_NOT_ALLOWED.meaning, 405)
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/guide/", "/openapi.json", "/livez", "/readyz"])
def test_pages_tell_their_methods(db: None, client: Client, path: str) -> None:
    answer = client.options(path)
    assert (answer.status_code, answer.content, answer["Allow"]) == (204, b"", "GET, HEAD, OPTIONS")


def test_a_missing_slash_is_added_for_people_only(db: None, client: Client) -> None:
    assert client.get("/docs")["Location"] == "/docs/"
    assert client.get("/v1/pets/").status_code == 401


def test_unknown_addresses_in_the_back_office_are_pages(db: None) -> None:
    User.objects.create_superuser("keeper", password="x")
    client = Client()
    client.force_login(User.objects.get())
    answer = client.get("/admin/nowhere/")
    assert (answer.status_code, answer["Content-Type"]) == (404, "text/html; charset=utf-8")
    page = answer.content.decode()
    assert "<h1>Page not found</h1>" in page
    assert "This page does not exist. Check the address for typos. Its content may have been deleted." in page


def test_an_error_page_that_cannot_be_drawn_is_an_error(db: None, settings: Any) -> None:
    settings.TEMPLATES = [settings.TEMPLATES[0] | {"DIRS": []}]
    answer = Client(enforce_csrf_checks=True).post("/admin/account/sign-in/", {"username": "x"})
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")


def test_an_expired_form_says_what_to_do(db: None) -> None:
    answer = Client(enforce_csrf_checks=True).post("/admin/account/sign-in/", {"username": "x"})
    assert answer.status_code == 403
    assert "<h1>Not allowed</h1>" in answer.content.decode()
    assert "reload the page and send it again" in answer.content.decode()


@pytest.mark.parametrize(("environment", "shown"), [("development", True), ("staging", True), ("production", False)])
def test_the_environment_is_shown(db: None, client: Client, settings: Any, environment: str, shown: bool) -> None:
    settings.PETSTORE_ENVIRONMENT = environment
    assert (f'class="env env-{environment}"' in client.get("/").content.decode()) is shown
    assert f'data-env="{environment}"' in client.get("/admin/account/sign-in/").content.decode()


@pytest.mark.parametrize("path", ["/", "/docs/", "/admin/account/sign-in/", "/admin/"])
@pytest.mark.parametrize(
    ("environment", "prefix", "icon"),
    [
        ("development", "[Development] ", "icon-development"),
        ("staging", "[Staging] ", "icon-staging"),
        ("production", "", "icon"),
    ],
)
def test_the_tab_tells_the_environment(  # noqa: PLR0917
    db: None, client: Client, settings: Any, path: str, environment: str, prefix: str, icon: str
) -> None:
    settings.PETSTORE_ENVIRONMENT = environment
    client.force_login(User.objects.create_superuser("keeper"))
    html = client.get(path, follow=True).content.decode()
    title = re.search(r"<title>(.*?)</title>", html, re.DOTALL)
    assert title
    assert title[1].startswith(prefix)
    assert ("[" in title[1]) is bool(prefix)
    assert f'<link rel="icon" href="/static/petstore/{icon}.svg"' in html


def test_a_defect_gives_the_number_to_tell(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It breaks the page itself, not a copy: the session is no session."""
    client = Client(raise_request_exception=False)
    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", lambda _self: 1 // 0)
    client.cookies["sessionid"] = "x" * 32
    answer = client.get("/admin/", headers={"X-Request-ID": "complaint-1"})
    assert answer.status_code == 500
    assert "<code>complaint-1</code>" in answer.content.decode()
