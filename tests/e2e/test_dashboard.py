"""The first page of the back office, as staff see it."""

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import furnish, sign_in
from tests.server import running_server


def test_the_first_page_is_short(browser: Browser, browser_context_args: dict[str, Any]) -> None:
    """In a store of its own: what other tests leave needs attention."""
    with (
        running_server(workers=1) as server,
        browser.new_context(**browser_context_args | {"base_url": server.url}) as context,
    ):
        furnish(server)
        page = context.new_page()
        page.set_viewport_size({"width": 1440, "height": 900})
        sign_in(page)
        assert page.evaluate("document.documentElement.scrollHeight") <= 1200


def test_it_is_dark_when_the_person_wants_it_dark(office: Page) -> None:
    colours = []
    for scheme in ("light", "dark"):
        office.emulate_media(color_scheme=scheme)
        office.goto("/admin/")
        colours.append(
            office.evaluate(
                "['body', '.card', '.bar-sold', '.spark .area'].map((place) => {"
                " const style = getComputedStyle(document.querySelector(place));"
                " return place.startsWith('.bar') || place.endsWith('area') ? style.fill : style.backgroundColor; })"
            )
        )
    light, dark = colours
    assert [one == other for one, other in zip(light, dark, strict=True)] == [False] * 4


def test_the_environment_stays_in_sight(office: Page) -> None:
    office.goto("/admin/pets/pet/")
    expect(office).to_have_title(re.compile(r"^\[Development\] "))
    office.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(office.locator(".env")).to_be_in_viewport()
