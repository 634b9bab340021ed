"""The first page of the back office, as staff see it."""

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import furnish, sign_in
from tests.server import Gunicorn, running_server


def test_the_first_page_is_short(browser: Browser, browser_context_args: dict[str, Any]) -> None:
    """In a store of its own: what other tests leave needs attention."""
    with running_server() as server, browser.new_context(**browser_context_args | {"base_url": server.url}) as context:
        furnish(server)
        page = context.new_page()
        page.set_viewport_size({"width": 1440, "height": 900})
        sign_in(page)
        assert page.evaluate("document.documentElement.scrollHeight") <= 1200


def test_what_is_sold_is_on_the_page_at_once(office: Page, server: Gunicorn) -> None:
    key = server.issue_key("Seller")
    category = server.get("/v1/categories", key).json()[0]["id"]
    pet = server.post("/v1/pets", key, {"name": "Sold today", "categoryId": category}).json()["id"]
    office.goto(f"/admin/pets/pet/{pet}/change/")
    office.get_by_role("button", name="Mark sold").click()
    expect(office.locator(".messagelist")).to_contain_text("Marked Sold today sold.")
    office.goto("/admin/")
    days = office.get_by_role("region", name="The last 30 days, day by day")
    today = days.locator("tbody tr").first
    expect(today).to_be_hidden()
    days.get_by_text("Every day as a table").focus()
    office.keyboard.press("Enter")
    expect(today).to_be_visible()
    expect(days.locator("tbody tr")).to_have_count(30)
    today.get_by_role("link").nth(1).click()
    office.wait_for_url(re.compile("sold_from"))
    expect(office.locator("#result_list")).to_contain_text("Sold today")


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
