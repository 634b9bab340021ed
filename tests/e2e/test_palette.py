"""Search as you type: by keys alone, one request at a time, and from anywhere."""

import re

from playwright.sync_api import Page, Route, expect

from tests.e2e.test_animals import PETS
from tests.server import Gunicorn

FIELD = "#palette input"
CHOSEN = "#palette [aria-selected=true]"


def test_it_opens_finds_and_goes_by_keys_alone(office: Page, server: Gunicorn) -> None:
    key = server.issue_key("Palette shop")
    category = server.get("/v1/categories", key).json()[0]["id"]
    for name in ("Zephyr one", "Zephyr two"):
        server.post("/v1/pets", key, {"name": name, "categoryId": category})
    office.goto(PETS)
    office.keyboard.press("/")
    expect(office.locator(FIELD)).to_be_focused()
    expect(office.locator(CHOSEN)).to_contain_text("Add an animal")
    office.keyboard.insert_text("zephyr")  # at once: Enter goes to what was found for all that was typed
    expect(office.locator(CHOSEN)).to_contain_text("Zephyr two")
    office.keyboard.press("ArrowDown")
    expect(office.locator(CHOSEN)).to_contain_text("Zephyr one")
    expect(office.locator(FIELD)).to_be_focused()
    chosen = office.locator(CHOSEN).get_attribute("id")
    assert office.locator(FIELD).get_attribute("aria-activedescendant") == chosen
    office.keyboard.press("ArrowUp")
    office.keyboard.press("Enter")
    office.wait_for_url(re.compile(rf"{PETS}\d+/change/"))
    expect(office.get_by_label("Name")).to_have_value("Zephyr two")

    office.get_by_label("Name").focus()
    office.keyboard.press("Control+k")
    office.keyboard.type("issue")
    expect(office.locator(CHOSEN)).to_contain_text("Issue an API key")
    office.keyboard.press("Escape")
    expect(office.locator("#palette")).to_be_hidden()
    expect(office.get_by_label("Name")).to_be_focused()

    office.keyboard.press("Control+k")
    office.keyboard.insert_text(key.split("_")[2][:8])
    expect(office.locator(CHOSEN)).to_contain_text("Palette shop")
    office.keyboard.press("Enter")
    office.wait_for_url(re.compile("/admin/apikeys/apikey/[0-9]+/change/"))


def test_one_request_at_a_time_and_the_last_word_wins(office: Page) -> None:
    asked: list[str] = []
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(re.findall("q=([^&]*)", route.request.url)[0])
        waiting.append(route)

    def release() -> None:
        """Let the request that waits go on; one that still waits would keep the browser from being closed."""
        for _ in range(200):
            if waiting:
                return waiting.pop().continue_()
            office.wait_for_timeout(50)
        raise AssertionError(asked)

    options = office.locator("#palette [role=option]")
    office.goto("/admin/")
    office.route("**/search/?*palette=*", hold)
    office.keyboard.press("Control+k")
    expect(office.locator(FIELD)).to_be_focused()
    for letter in "category":
        office.keyboard.type(letter)
        office.wait_for_timeout(160)
    assert asked == [""]
    release()
    release()
    assert asked == ["", "category"]
    expect(office.locator(CHOSEN)).to_contain_text("category")
    office.keyboard.press("Backspace")
    expect(options).to_have_count(0)
    release()
    expect(options.nth(0)).to_be_attached()


def test_enter_before_the_results_opens_the_page_of_results(office: Page) -> None:
    office.goto("/admin/")
    office.route("**/search/?*palette=*", lambda _route: None)  # none comes before the test has pressed Enter
    office.locator("[data-search]").click()
    office.keyboard.type("max")
    office.keyboard.press("Enter")
    office.wait_for_url("**/admin/search/?q=max")


def test_a_session_that_ended_is_said(office: Page, complaints: list[str]) -> None:
    office.goto("/admin/")
    office.context.clear_cookies()
    office.keyboard.press("/")
    expect(office.locator("#palette")).to_contain_text("Press Enter to search on a page of its own.")
    office.keyboard.type("rex")
    expect(office.locator("#palette [role=status]")).to_contain_text("Not loaded")
    office.keyboard.press("Enter")
    office.wait_for_url("**/account/sign-in/**")
