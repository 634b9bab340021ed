"""API keys in the back office, from the first look at a secret to its last."""

import re
import time

import pytest
from playwright.sync_api import Error, Page, expect

from tests.conftest import error
from tests.e2e.conftest import PASSWORD, STAFF, sign_out
from tests.server import Gunicorn

KEYS = "/admin/apikeys/apikey/"
REVOKED = error("api_key_revoked", "The API key was revoked. Ask the store for a new one.", 401)


def issue(office: Page, name: str, *, scope: str = "write") -> str:
    office.goto(f"{KEYS}add/")
    office.get_by_label("Program or partner").fill(name)
    office.get_by_label("Read and add" if scope == "write" else "Read", exact=True).check(force=True)
    office.get_by_role("button", name="Issue key").click()
    return shown_secret(office)


def shown_secret(office: Page) -> str:
    secret = office.locator("#issued-key")
    expect(secret).to_have_text(re.compile(r"^pets_test_[0-9A-Za-z]{46}$"))
    return secret.inner_text()


def test_sign_in_and_out(page: Page) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(STAFF)
    page.get_by_label("Password").fill("a guess")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator(".errornote:visible")).to_have_text("The username or the password is not correct.")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Hello, ")
    sign_out(page)


def test_a_new_key_works_at_once(office: Page, server: Gunicorn) -> None:
    secret = issue(office, "Web shop", scope="read")
    rejected = server.post("/v1/pets", secret, {"name": "Rex", "categoryId": 1})
    assert (server.get("/v1/pets", secret).status, rejected.status) == (200, 403)


def test_the_secret_can_be_copied(office: Page) -> None:
    office.context.grant_permissions(["clipboard-read", "clipboard-write"])
    secret = issue(office, "Copied")
    office.get_by_role("button", name="Copy").click()
    expect(office.get_by_role("status")).to_have_text("Copied.")
    assert office.evaluate("navigator.clipboard.readText()") == secret


def test_without_a_clipboard_the_secret_is_selected(office: Page) -> None:
    office.add_init_script("Clipboard.prototype.writeText = () => Promise.reject(new Error('denied'))")
    secret = issue(office, "Selected")
    office.get_by_role("button", name="Copy").click()
    expect(office.get_by_role("status")).to_contain_text("The text is selected. Press Ctrl+C")
    assert office.evaluate("getSelection().toString()") == secret


def test_the_secret_is_shown_once(office: Page, server: Gunicorn) -> None:
    secret = issue(office, "Shown once")
    office.reload()
    expect(office.locator(".errornote")).to_be_visible()
    assert secret not in office.content()
    office.go_back()
    assert secret not in office.content()
    office.goto(KEYS)
    office.get_by_role("link", name="Shown once").click()
    expect(office.get_by_label("Name")).to_have_value("Shown once")
    office.wait_for_load_state()
    assert secret[10:18] in office.content()
    assert secret not in office.content()
    office.reload()
    assert secret not in office.content()
    assert [each["name"] for each in server.manage_json("list_api_keys")].count("Shown once") == 1


def test_going_back_to_the_secret_does_not_show_it(office: Page, server: Gunicorn, complaints: list[str]) -> None:
    """The browser must not cache the response; it would have to send the form again."""
    secret = issue(office, "Left")
    office.get_by_role("link", name="I have copied it").click()
    expect(office.get_by_label("Name")).to_have_value("Left")
    with pytest.raises(Error, match="ERR_CACHE_MISS"):
        office.go_back()
    office.wait_for_url("chrome-error://**")
    assert secret not in office.content()
    complaints.remove(f"POST {server.url}{KEYS}add/: net::ERR_CACHE_MISS")


def test_after_a_rotation_both_keys_work(office: Page, server: Gunicorn) -> None:
    old = issue(office, "Rotated")
    office.get_by_role("link", name="I have copied it").click()
    office.get_by_role("link", name="Rotate").click()
    office.get_by_role("button", name="Rotate and show the new key").click()
    new = shown_secret(office)
    assert old != new
    assert [server.get("/v1/pets", key).status for key in (old, new)] == [200, 200]


@pytest.mark.parametrize("width", [1440, 390])
def test_a_long_request_id_is_cut_with_an_ellipsis(office: Page, server: Gunicorn, width: int) -> None:
    secret, request_id = server.issue_key("Long IDs"), "f" * 128
    code = f"""
from django.utils import timezone
from petstore_site.request_desk.models import APIKey, RequestRecord
key = APIKey.objects.get(key_id="{secret[10:18]}")
common = {{"key": key, "method": "GET", "status": 400, "code": "invalid_cursor", "milliseconds": 1, "at": timezone.now()}}
RequestRecord.objects.create(request_id="{request_id}", message="cursor is invalid.", **common)
print(key.pk)
"""
    number = server.manage("shell", "--verbosity=0", "--command", code).strip()
    office.set_viewport_size({"width": width, "height": 844})
    office.goto(f"{KEYS}{number}/change/")
    link = office.get_by_title(request_id)
    expect(link).to_have_text(request_id)
    line = link.locator("..")
    assert line.evaluate("line => [getComputedStyle(line).textOverflow, line.scrollWidth > line.clientWidth]") == [
        "ellipsis",
        True,
    ]
    assert line.evaluate("line => line.closest('li').scrollWidth <= line.closest('li').clientWidth")
    assert office.evaluate("document.documentElement.scrollWidth") == width


def test_a_revoked_key_is_dead_within_a_second(office: Page, server: Gunicorn) -> None:
    secret = issue(office, "Revoked")
    assert {server.get("/v1/pets", secret).status for _ in range(16)} == {200}
    office.get_by_role("link", name="I have copied it").click()
    office.get_by_role("link", name="Revoke").click()
    office.get_by_role("button", name="Revoke this key").click()
    expect(office.locator(".messagelist")).to_contain_text("is revoked.")
    time.sleep(1)
    answers = [server.get("/v1/pets", secret) for _ in range(16)]
    assert [(answer.status, answer.json()) for answer in answers] == [(401, REVOKED)] * 16
    expect(office.get_by_role("link", name="Rotate")).to_have_count(0)
