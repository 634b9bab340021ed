"""A browser in front of a real service; whatever it complains about fails the test.

Playwright's event loop counts as running for as long as Playwright does, and Django's ORM does not work beside
one. So Playwright lives as long as this folder's tests and no longer, and they reach the database through
manage.py and HTTP only.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Playwright,
    Request,
    Response,
    StorageState,
    expect,
    sync_playwright,
)

from tests.server import Gunicorn, patiently, running_server

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
expect.set_options(timeout=30_000)  # on a busy machine a page takes longer than the five seconds it has by default
STAFF, PASSWORD = "keeper", "correct horse battery staple"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Use the system's Chromium, and let it call nobody."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    arguments = [*root, "--disable-gpu", "--disable-background-networking"]
    return {"headless": True} | browser_type_launch_args | {"executable_path": found, "args": arguments}


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Instead of pytest-playwright's, which lives until the session ends."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(browser_type_launch_args: dict[str, Any], playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(**browser_type_launch_args)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def server(browser: Browser) -> Iterator[Gunicorn]:
    """The service with the demo catalogue and one member of the staff."""
    with running_server(workers=1) as server:
        furnish(server)
        yield server


def furnish(server: Gunicorn) -> None:
    """Put into it what the tests need, and let it make its first pages."""
    server.command("load_demo_data")
    who = ("--username", STAFF, "--email", "keeper@petstore.example")
    server.manage("createsuperuser", "--noinput", *who, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    for path in ("/docs/search.json", "/admin/account/sign-in/"):
        assert patiently(partial(server.send, "GET", path)).status == 200


@pytest.fixture(scope="package")
def browser_context_args(server: Gunicorn) -> dict[str, Any]:
    return {
        "base_url": server.url,
        "viewport": {"width": 1280, "height": 800},
        "locale": "en-GB",
        "timezone_id": "UTC",
        "color_scheme": "light",
    }


class Listener:
    """Notes down what the pages of a context complain about."""

    def __init__(self, context: BrowserContext, address: str, complaints: list[str]) -> None:
        """Listen; `address` is the one server that may be asked for anything."""
        self.address = address
        self.complaints = complaints
        context.on("console", self._console)
        context.on("weberror", lambda error: complaints.append(f"error: {error.error}"))
        context.on("dialog", self._dialog)
        context.on("request", self._request)
        context.on("requestfailed", self._failed)
        context.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"console: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.address}/", "data:")):
            self.complaints.append(f"{_named(request)}: not our server")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left before all of it had come
            self.complaints.append(f"{_named(request)}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{_named(response.request)}: {response.status}")


def _named(request: Request) -> str:
    return f"{request.method} {request.url}"


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about; a test removes what it expects."""
    return []


@pytest.fixture
def context(
    new_context: Callable[[], BrowserContext], browser_context_args: dict[str, Any], complaints: list[str]
) -> Iterator[BrowserContext]:
    """A browser without a past, that must not complain about anything."""
    context = new_context()
    Listener(context, browser_context_args["base_url"], complaints)
    yield context
    assert complaints == []


def sign_in(page: Page) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(STAFF)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("/admin/")


def sign_out(page: Page) -> None:
    page.get_by_text("your account").locator("xpath=ancestor::summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Signed out")


@pytest.fixture(scope="package")
def signed_in(browser: Browser, browser_context_args: dict[str, Any]) -> StorageState:
    """The cookies of a session."""
    with browser.new_context(**browser_context_args) as context:
        sign_in(context.new_page())
        return context.storage_state()


@pytest.fixture
def office(page: Page, signed_in: StorageState) -> Page:
    """A page of a browser that is signed in to the back office."""
    page.context.add_cookies(cast("Any", signed_in["cookies"]))
    return page
