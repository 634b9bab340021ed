"""The first page of the back office, as staff see it."""

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import STAFF, furnish, sign_in
from tests.server import Gunicorn, running_server


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_first_page_is_short(browser: Browser, browser_context_args: dict[str, Any]) -> None:
    """In a store of its own: what other tests leave needs attention."""
    with running_server() as server, browser.new_context(**browser_context_args | {"base_url": server.url}) as context:
        furnish(server)
        page = context.new_page()
        page.set_viewport_size({"width": 1440, "height": 900})
        sign_in(page)
        assert page.evaluate("document.documentElement.scrollHeight") <= 1200


def test_the_figures_of_the_stock_lead_to_the_animals(office: Page) -> None:
    office.set_viewport_size({"width": 1440, "height": 900})
    office.goto("/admin/")
    stock = office.get_by_role("region", name="Stock by category")
    row = stock.get_by_role("row", name=re.compile("^Dogs "))
    sold = row.get_by_role("link").nth(3)
    count = number(sold.inner_text())
    sold.click()
    office.wait_for_url(re.compile("status__exact=sold"))
    expect(office.locator("#result_list .field-sold")).to_have_count(count)
    assert set(office.locator("#result_list .field-category").all_inner_texts()) == {"Dogs"}


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


def test_work_is_opened_and_undone_from_the_overview(office: Page, server: Gunicorn) -> None:
    key = server.manage_json("issue_api_key", "Ends soon", "--expires-in", "3d")["key"]
    category = server.get("/v1/categories", key).json()[0]["id"]
    pet = server.post("/v1/pets", key, {"name": "Undone from afar", "categoryId": category}).json()["id"]
    office.goto(f"/admin/pets/pet/{pet}/change/")
    office.get_by_role("button", name="Mark pending").click()
    expect(office.locator(".messagelist")).to_contain_text("Marked Undone from afar pending.")
    office.goto("/admin/")
    feed = office.get_by_role("region", name="Recent activity")
    line = feed.get_by_role("listitem").filter(has_text="Undone from afar").first
    expect(line).to_contain_text(f"{STAFF} marked Undone from afar pending")
    line.get_by_role("button", name="Undo").click()
    office.wait_for_url("**/admin/")
    expect(office.locator(".messagelist")).to_contain_text("Undid “marked Undone from afar pending”.")
    assert server.get(f"/v1/pets/{pet}", key).json()["status"] == "available"
    office.get_by_role("region", name="Needs attention").get_by_role(
        "link", name=re.compile("^Open .* key")
    ).first.click()
    office.wait_for_url("**/?state=expiring")
    expect(office.locator("#result_list")).to_contain_text("Ends soon")


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
