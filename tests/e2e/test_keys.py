"""The secret of an API key in the back office: it can be copied, and is shown once."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server import Gunicorn

KEYS = "/admin/apikeys/apikey/"


def issue(office: Page, name: str) -> str:
    office.goto(f"{KEYS}add/")
    office.get_by_label("Program or partner").fill(name)
    office.get_by_label("Read and add", exact=True).check(force=True)
    office.get_by_role("button", name="Issue key").click()
    return shown_secret(office)


def shown_secret(office: Page) -> str:
    secret = office.locator("#issued-key")
    expect(secret).to_have_text(re.compile(r"^pets_test_[0-9A-Za-z]{46}$"))
    return secret.inner_text()


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


@pytest.mark.parametrize("width", [1440, 390])
def test_a_long_request_id_is_cut_with_an_ellipsis(office: Page, server: Gunicorn, width: int) -> None:
    secret, request_id = server.issue_key("Long IDs"), "f" * 128
    code = f"""
from django.utils import timezone
from petstore_site.back_office.request_desk.models import APIKey, RequestRecord
key = APIKey.objects.get(key_id="{secret[10:18]}")
common = {{"key": key, "method": "GET", "status": 400, "code": "invalid_cursor", "milliseconds": 1, "at": timezone.now()}}
RequestRecord.objects.create(request_id="{request_id}", message="cursor is invalid.", **common)
print(key.pk)
"""
    number = server.shell(code).strip()
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
