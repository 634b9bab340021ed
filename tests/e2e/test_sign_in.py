"""Signing in where a second factor is required: by app, by recovery code, by passkey."""

import base64
import hmac
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import sign_out
from tests.e2e.test_accessibility import LOOK, OF_COLOURS
from tests.server import Gunicorn, running_server

PASSWORD = "a quiet purple giraffe"
PERIOD = 30
"""Seconds for which an app shows the same code."""


@pytest.fixture(scope="module")
def server(browser: Browser) -> Iterator[Gunicorn]:
    """A service of its own, at a host name, which passkeys need; one worker, since failures are counted in memory."""
    with running_server(workers=1, REQUIRE_STAFF_MFA="true") as server:
        yield server


@pytest.fixture(scope="module")
def browser_context_args(server: Gunicorn) -> dict[str, Any]:
    return {
        "base_url": server.url.replace("127.0.0.1", "localhost"),
        "viewport": {"width": 1024, "height": 768},
        "locale": "en-GB",
    }


def code(secret: str) -> str:
    """Return what an authenticator app shows now (RFC 6238), at a moment when it still shows it for a while."""
    if time.time() % PERIOD > PERIOD - 10:
        time.sleep(PERIOD - time.time() % PERIOD + 0.1)
    counter = struct.pack(">Q", int(time.time()) // PERIOD)
    digest = hmac.digest(base64.b32decode(secret), counter, "sha1")
    number = struct.unpack(">I", digest[digest[-1] & 15 :][:4])[0] & 0x7FFFFFFF
    return f"{number % 10**6:06}"


def account(server: Gunicorn, name: str) -> str:
    return server.command("create_admin", name, "--password-only").strip()


def fill_in(page: Page, name: str, password: str) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def choose_password(page: Page, server: Gunicorn, name: str) -> None:
    """Sign in for the first time, which leads to a password of one's own, and then to the second factors."""
    given = account(server, name)
    fill_in(page, name, given)
    page.wait_for_url("/admin/account/password/")
    page.get_by_label("Current password").fill(given)
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Change the password").click()
    page.wait_for_url("/admin/account/")


def set_up_app(page: Page) -> str:
    page.get_by_role("link", name="Set up an authenticator app").click()
    secret = page.locator(".typed-secret").inner_text()  # which waits for the page
    page.get_by_label("Authenticator code").fill(code(secret))
    page.get_by_role("button", name="Set up").click()
    page.wait_for_url("/admin/account/codes/")
    return secret


def authenticator(page: Page) -> None:
    """Give the browser a device that holds passkeys, and whose owner always agrees."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


COLOURS: list[tuple[Any, list[str] | None]] = [("light", None), ("dark", OF_COLOURS)]


def no_serious_finding(page: Page) -> None:
    page.wait_for_load_state()
    page.evaluate(AXE_SCRIPT)  # a script tag would be stopped by the policy
    for colours, rules in COLOURS:
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")
        found = [each for each in page.evaluate(LOOK, [[], rules]) if each["impact"] in {"serious", "critical"}]
        assert [(colours, each["id"], each["nodes"][0]["html"]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_passkey_is_set_up_and_opens_alone(page: Page, server: Gunicorn) -> None:
    authenticator(page)
    choose_password(page, server, "cleo")
    page.get_by_role("link", name="Set up a passkey").click()
    page.wait_for_url("/admin/account/passkeys/add/")  # its script sends the form
    page.get_by_label("Name").fill("Phone <b>")
    page.get_by_label("Sign in without a password").check()
    page.get_by_role("button", name="Set up").click()
    page.wait_for_url("/admin/account/codes/")
    page.goto("/admin/account/passkeys/")
    expect(page.locator("tbody th")).to_have_text("Phone <b>")
    sign_out(page)
    page.goto("/admin/categories/category/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url("/admin/categories/category/")
    sign_out(page)

    fill_in(page, "cleo", PASSWORD)
    page.wait_for_url("/admin/account/sign-in/second-factor/")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("/admin/")


def test_a_passkey_that_is_not_used_says_so(page: Page) -> None:
    page.add_init_script(
        "CredentialsContainer.prototype.get = () => Promise.reject(new DOMException('', 'NotAllowedError'))"
    )
    page.goto("/admin/account/sign-in/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("you cancelled, or it took too long")


def test_the_pages_can_be_used_by_everybody(page: Page, server: Gunicorn) -> None:
    page.goto("/admin/account/sign-in/")
    no_serious_finding(page)
    choose_password(page, server, "dora")
    no_serious_finding(page)
    for path in ("password/", "app/add/", "passkeys/add/"):
        page.goto(f"/admin/account/{path}")
        no_serious_finding(page)
    page.goto("/admin/account/")
    set_up_app(page)
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    no_serious_finding(page)
    page.get_by_role("link", name="I saved them").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Welcome, ")
    for path in ("", "again/", "again/code/", "app/remove/", "codes/renew/", "passkeys/"):
        page.goto(f"/admin/account/{path}")
        no_serious_finding(page)
    sign_out(page)
    no_serious_finding(page)
    fill_in(page, "dora", PASSWORD)
    page.wait_for_url("/admin/account/sign-in/second-factor/")
    no_serious_finding(page)
