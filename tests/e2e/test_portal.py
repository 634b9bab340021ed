"""The developer portal in a browser: by hand, without scripts, and under axe at three widths, in light and dark."""

import json
import os
import subprocess
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.e2e.test_accessibility import LOOK, OF_COLOURS
from tests.e2e.test_weight import weight_of
from tests.server import SECONDS, Gunicorn

PAGES = ["/", "/docs/", "/docs/guide/", "/docs/clients/", "/docs/changelog/", "/docs/errors/validation_failed"]
FIRST_LOAD = 160_000
"""Bytes that a page can take, compressed, with all it loads."""


@pytest.fixture
def key(server: Gunicorn) -> str:
    return server.issue_key("Reader of the portal")


def try_it(page: Page, name: str, key: str = "") -> Locator:
    """Open the form of an operation, and type the key into it."""
    page.goto(f"/docs/#{name}")
    operation = page.locator(f"#{name}")
    operation.get_by_text("Try it").click()
    operation.get_by_label("API key").fill(key)
    return operation


def test_a_language_is_chosen_for_every_sample_and_page(page: Page) -> None:
    page.goto("/")
    page.get_by_role("tab", name="curl").first.press("ArrowRight")
    expect(page.get_by_role("tab", name="Python").first).to_be_focused()
    for tab in page.get_by_role("tab", name="Python").all():
        expect(tab).to_have_attribute("aria-selected", "true")
    page.goto("/docs/guide/")
    expect(page.locator("#quick-start-2-python")).to_be_visible()
    expect(page.locator("#quick-start-2-sh")).to_be_hidden()


def test_a_sample_is_copied_as_it_is_shown(page: Page, server: Gunicorn) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/")
    page.get_by_role("button", name="Copy code").first.click()
    expect(page.locator("#live")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == (
        f'curl "{server.url}/v1/pets?limit=3&status=available" \\\n  -H "Authorization: Bearer $PETSTORE_API_KEY"'
    )


def test_a_list_can_be_tried_page_by_page(page: Page, key: str) -> None:
    operation = try_it(page, "listPets", key)
    expect(operation.get_by_role("button", name="Load next page")).to_be_hidden()
    operation.get_by_label("limit").fill("2")
    with page.expect_response("**/v1/pets?limit=2") as first:
        operation.get_by_role("button", name="Send request").click()
    expect(operation.locator(".try-status")).to_contain_text("200")
    expect(operation.locator(".try-status")).to_contain_text(" ms")
    expect(operation.locator(".try-headers")).to_contain_text('rel="next"')
    expect(operation.locator(".try-body")).to_contain_text(first.value.json()[1]["name"])
    with page.expect_response("**/v1/pets?**cursor=**") as second:
        operation.get_by_role("button", name="Load next page").click()
    assert second.value.json()[0]["id"] < first.value.json()[1]["id"]


def test_an_animal_can_be_added_once(page: Page, key: str) -> None:
    operation = try_it(page, "createPet", key)
    operation.get_by_label("Idempotency-Key").fill("tried-in-a-browser")
    for replayed in (False, True):
        operation.get_by_role("button", name="Send request").click()
        expect(operation.locator(".try-status")).to_contain_text("201 Created")
        expect(operation.locator(".pill-replay")).to_have_count(int(replayed))
        if replayed:
            expect(operation.locator(".try-status")).to_contain_text("Replay Nothing was added")
            expect(operation.locator(".try-headers")).to_contain_text("Idempotency-Replayed: true")


@pytest.mark.parametrize("label", ["API key", "Idempotency-Key"])
def test_a_key_that_no_header_can_have_is_not_sent(page: Page, key: str, label: str) -> None:
    operation = try_it(page, "createPet", key)
    field = operation.get_by_label(label)
    first = field.input_value()
    field.fill("pets_test_…")
    operation.get_by_role("button", name="Send request").click()
    assert field.evaluate("field => field.validationMessage") == (
        "A header can't have “…”. Use ASCII letters, digits and signs."
    )
    expect(operation.locator(".try-result")).to_be_hidden()
    field.fill(first)
    operation.get_by_role("button", name="Send request").click()
    expect(operation.locator(".try-status")).to_contain_text("201 Created")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_response_is_in_view_after_sending(page: Page, key: str, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    operation = try_it(page, "createPet", key)
    assert len(operation.get_by_label("Idempotency-Key").input_value()) == 32
    operation.get_by_role("button", name="Send request").click()
    expect(operation.locator(".try-status")).to_contain_text("201 Created")
    expect(operation.locator(".try-status")).to_be_in_viewport(ratio=1)
    expect(operation.locator(".try-body")).to_be_in_viewport()


def test_another_body_gets_another_idempotency_key(page: Page) -> None:
    operation = try_it(page, "createPet")
    field, body = operation.get_by_label("Idempotency-Key"), operation.get_by_label("Body", exact=True)
    first = field.input_value()
    body.fill('{"name": "Juniper", "categoryId": 1}')
    assert field.input_value() not in {"", first}
    field.fill("mine")
    body.fill('{"name": "Clover", "categoryId": 1}')
    assert field.input_value() == "mine"


def test_a_request_is_copied_as_curl_that_works(page: Page, server: Gunicorn, key: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    operation = try_it(page, "createPet", key)
    operation.get_by_label("Body", exact=True).fill('{"name": "O\'Malley", "categoryId": 1}')
    operation.get_by_role("button", name="Copy as curl").click()
    expect(page.locator("#live")).to_have_text("Copied")
    curl = page.evaluate("navigator.clipboard.readText()")
    assert key not in curl
    environment = {"PATH": os.environ["PATH"], "PETSTORE_API_KEY": key}
    done = subprocess.run(
        ["bash", "-c", curl], env=environment, capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert json.loads(done.stdout)["name"] == "O'Malley"


def test_an_error_is_shown(page: Page, complaints: list[str]) -> None:
    operation = try_it(page, "getCategory")
    operation.get_by_role("button", name="Send request").click()
    expect(operation.locator(".try-status")).to_contain_text("401")
    expect(operation.locator(".try-body")).to_contain_text("api_key_missing")
    operation.get_by_role("link", name="What to do about api_key_missing").click()
    page.wait_for_url("**/docs/errors/api_key_missing")
    complaints[:] = [complaint for complaint in complaints if "401" not in complaint]


def test_the_key_is_kept_nowhere(page: Page, key: str) -> None:
    page.goto("/docs/")
    page.locator("#listPets").get_by_text("Try it").click()
    page.locator("#listPets").get_by_label("API key").fill(key)
    assert page.locator("#createPet .try-key").input_value() == key
    assert key not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    page.goto("/")
    page.go_back()
    assert page.locator("#listPets .try-key").input_value() == ""


def test_the_theme_is_kept(page: Page) -> None:
    page.goto("/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.goto("/docs/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize(("width", "touch"), [(1440, False), (1024, True), (390, True)])
def test_an_unknown_page_leads_on(new_context: Callable[..., BrowserContext], width: int, touch: bool) -> None:
    """With room between its parts, and with the key of the search only where there is a keyboard."""
    page = new_context(has_touch=touch, is_mobile=touch).new_page()
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/docs/guid")
    expect(page.locator(".lead")).to_have_text("Check the address for typos, or search: press /.")
    expect(page.locator(".lead kbd")).to_be_visible(visible=not touch)
    boxes = page.evaluate("[...document.querySelectorAll('main > *')].map((part) => part.getBoundingClientRect())")
    assert len(boxes) == 2
    assert all(below["top"] - above["bottom"] >= 12 for above, below in pairwise(boxes))
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("path", PAGES)
def test_every_page_can_be_read_without_scripts(browser: Browser, server: Gunicorn, path: str) -> None:
    context = browser.new_context(base_url=server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto(path)
    expect(page.locator(".panel:visible")).to_have_count(page.locator(".panel").count())
    expect(page.locator(".js-only:visible")).to_have_count(0)
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_the_first_load_is_small(page: Page, path: str) -> None:
    assert 50_000 < weight_of(page, path) <= FIRST_LOAD


def test_the_page_of_the_clients_is_in_one_language(page: Page) -> None:
    page.goto("/docs/clients/")
    errors = page.locator("#errors")
    expect(errors).to_contain_text("Each error code has a class")
    expect(errors).not_to_contain_text("ERROR_CODES", use_inner_text=True)
    expect(page.get_by_role("link", name="Asynchronous", exact=True)).to_be_visible()
    page.get_by_role("tablist", name="Language of this page").get_by_role("tab", name="TypeScript").click()
    expect(errors).to_contain_text("ERROR_CODES", use_inner_text=True)
    expect(errors).not_to_contain_text("Each error code has a class", use_inner_text=True)
    expect(errors.get_by_role("tab", name="TypeScript")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#asynchronous")).to_be_hidden()
    expect(page.get_by_role("link", name="Asynchronous", exact=True)).to_be_hidden()
    errors.get_by_role("tab", name="Python").click()
    expect(page.locator("#asynchronous")).to_be_visible()
    page.reload()
    expect(page.locator("#python")).to_be_visible()
    expect(page.locator("#typescript")).to_be_hidden()


def test_a_link_to_a_client_shows_its_language(page: Page) -> None:
    page.goto("/docs/clients/#typescript-errors")
    expect(page.locator("#typescript-errors")).to_be_in_viewport()
    expect(page.locator("#python-errors")).to_be_hidden()
    page.evaluate("location.hash = '#asynchronous'")
    expect(page.locator("#asynchronous h2")).to_be_in_viewport()
    expect(page.locator("#side-nav [aria-current]")).to_have_text("Asynchronous")


WINDOWS: list[tuple[int, Any, list[str] | None]] = [
    (1440, "light", None),
    (1024, "dark", None),
    (390, "light", None),
    (390, "dark", OF_COLOURS),
]


def test_axe_finds_nothing(page: Page) -> None:
    """Styles alone follow the width and the colours, so each page is loaded once."""
    found = []
    for path in PAGES:
        page.goto(path)
        page.locator("details").evaluate_all("folds => folds.forEach((fold) => { fold.open = true; })")
        page.evaluate(AXE_SCRIPT)  # a script tag would be stopped by the policy
        for width, colours, rules in WINDOWS:
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": 900})
            violations: list[Any] = page.evaluate(LOOK, [[], rules])
            found += [
                f"{path}, {width} {colours}: {violation['id']} {node['target']} {node['failureSummary']}"
                for violation in violations
                for node in violation["nodes"]
            ]
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found += [f"{path}: {wide} pixels too wide at {width}"] * (wide > 0)
    assert "\n".join(found) == ""


def test_a_window_of_320_pixels_is_wide_enough(page: Page) -> None:
    """As 1,280 pixels at 400 % are (WCAG 2.2, 1.4.10)."""
    page.set_viewport_size({"width": 320, "height": 640})
    wide = {}
    for path in PAGES:
        page.goto(path)
        wide[path] = page.evaluate("document.documentElement.scrollWidth")
    assert wide == dict.fromkeys(PAGES, 320)
    rows = "new Set([...document.querySelectorAll('.top-in > *')].map((part) => Math.round(part.getBoundingClientRect().bottom / 40)))"
    assert page.evaluate(f"{rows}.size") == 2
    operation = try_it(page, "getCategory")
    box = operation.locator(".try-url").bounding_box()
    assert box is not None
    assert box["width"] > 200


@pytest.mark.parametrize(
    ("response", "state", "shown"),
    [
        (None, "ok", "All systems work"),
        ((200, {"checks": {"database": "ok", "cache": "degraded"}}), "degraded", "Working, without: cache"),
        ((503, {"message": "Not ready: database."}), "down", "Not ready: database."),
        ((404, "kept inside"), None, "Service status"),
    ],
)
def test_the_footer_shows_the_state_of_the_service(
    page: Page, complaints: list[str], response: tuple[int, Any] | None, state: str | None, shown: str
) -> None:
    if response:
        page.route("**/readyz", lambda route: route.fulfill(status=response[0], body=json.dumps(response[1])))
    page.goto("/docs/guide/")
    line = page.locator(".foot-status")
    expect(line).to_have_text("Service status")
    with page.expect_response("**/readyz"):
        line.scroll_into_view_if_needed()
    expect(line).to_have_text(shown)
    assert line.get_attribute("data-state") == state
    complaints[:] = [one for one in complaints if "readyz" not in one and "status of" not in one]


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("operation", ["listPets", "getCategory"])
def test_a_link_to_an_operation_is_there_at_once(page: Page, width: int, operation: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"/docs/#{operation}")
    top = f"document.getElementById('{operation}').getBoundingClientRect().top"
    first = page.evaluate(top)
    assert 0 <= first < 200
    page.wait_for_timeout(700)
    assert page.evaluate(top) == first


@pytest.mark.parametrize("width", [1440, 390, 320])
def test_no_line_of_json_breaks_before_a_value(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/")
    tops = "[...document.querySelectorAll('.hero .nt')].map((name) => [name, name.nextElementSibling.nextElementSibling.nextElementSibling].map((part) => part.getBoundingClientRect().top))"
    pairs = page.evaluate(tops)
    assert len(pairs) == 12
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


@pytest.mark.parametrize("width", [1440, 390])
def test_long_lines_of_a_response_wrap(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for path in ("/docs/", "/docs/guide/", "/docs/errors/validation_failed"):
        page.goto(path)
        wide = (
            "[...document.querySelectorAll('.response pre')].filter((pre) => pre.scrollWidth > pre.clientWidth).length"
        )
        assert page.evaluate(wide) == 0, path
