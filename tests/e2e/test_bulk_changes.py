"""Going back after a bulk change, and two browsers that change one animal."""

import itertools
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.server import Gunicorn

PETS = "/admin/pets/pet/"
LITTERS = itertools.count(1)


@pytest.fixture(scope="package")
def bulk_key(server: Gunicorn) -> str:
    return server.issue_key("Bulk changes")


@pytest.fixture
def three(server: Gunicorn, bulk_key: str) -> str:
    """Three new animals; returns what a search finds them by."""
    category = server.get("/v1/categories", bulk_key).json()[0]["id"]
    name = f"Litter {next(LITTERS)}:"
    for number, status in enumerate(("available", "available", "pending")):
        server.post("/v1/pets", bulk_key, {"name": f"{name} puppy {number}", "categoryId": category, "status": status})
    return name


def search(page: Page, name: str) -> None:
    page.goto(PETS)
    page.locator("#searchbar").fill(name)
    page.locator("#searchbar").press("Enter")
    page.wait_for_url(re.compile("q="))
    expect(page.locator("#result_list tbody tr")).to_have_count(3)


def choose(page: Page, action: str) -> None:
    page.locator("#action-toggle").check()
    page.locator(f"button[value={action}]").click()


def test_back_after_a_bulk_change_leads_to_its_record_and_then_to_the_list(office: Page, three: str) -> None:
    search(office, three)
    choose(office, "become_sold")
    office.get_by_role("button", name="Mark 3 animals sold").click()
    expect(office.locator(".messagelist")).to_contain_text("Marked 3 animals sold.")
    office.go_back()
    expect(office.locator(".messagelist")).to_contain_text("You have confirmed this already.")
    expect(office.locator("h1")).to_contain_text("marked 3 animals sold")
    office.go_back()
    expect(office.locator("#result_list tbody tr")).to_have_count(3)


def test_back_after_a_deletion_leads_to_the_list(office: Page, three: str) -> None:
    search(office, three)
    choose(office, "delete_selected")
    expect(office.locator("h1")).to_have_text("Delete 3 animals?")
    office.reload()
    office.get_by_role("button", name="Delete 3 animals").click()
    expect(office.locator(".messagelist")).to_contain_text("Deleted 3 animals.")
    office.go_back()
    expect(office.locator(".messagelist")).to_contain_text("Nothing was deleted.")
    assert "/admin/pets/pet/?" in office.url


@pytest.fixture
def second(office: Page, new_context: Callable[[], BrowserContext]) -> Page:
    """A second browser of the same person, who is signed in there too."""
    context = new_context()
    context.add_cookies(office.context.cookies())  # type: ignore[arg-type]  # what one gives the other takes
    return context.new_page()


def test_the_second_of_two_browsers_is_told(office: Page, second: Page, three: str) -> None:
    search(office, three)
    office.locator("#result_list .field-name a").first.click()
    office.wait_for_url("**/change/**")
    address = office.url
    second.goto(address)
    second.get_by_role("radio", name="Sold").check()
    second.get_by_role("button", name="Save", exact=True).click()
    expect(second.locator(".messagelist")).to_contain_text("was saved.")
    office.get_by_label("Name").fill("Mine")
    office.get_by_role("button", name="Save", exact=True).click()
    alert = office.get_by_role("alert")
    expect(alert).to_contain_text("Not saved. You changed this in another tab or on another device just now.")
    expect(alert.get_by_role("listitem")).to_have_text([re.compile("^Name"), "Status now Sold here Pending"])
    expect(office.get_by_label("Name")).to_have_value("Mine")
    office.get_by_role("link", name="Use the values of now").click()
    expect(office.get_by_label("Name")).to_have_value(f"{three} puppy 2")
    expect(office.get_by_role("radio", name="Sold")).to_be_checked()


def test_what_was_typed_is_saved_anyway(office: Page, second: Page, three: str) -> None:
    search(office, three)
    office.locator("#result_list .field-name a").first.click()
    office.wait_for_url("**/change/**")
    second.goto(office.url)
    second.get_by_role("button", name="Mark sold").click()
    expect(second.locator(".messagelist")).to_contain_text(f"Marked {three} puppy 2 sold.")
    office.get_by_label("Name").fill("Mine")
    office.get_by_role("button", name="Save", exact=True).click()
    office.get_by_role("button", name="Save mine anyway").click()
    expect(office.locator(".messagelist")).to_contain_text("was saved.")


def test_the_filters_of_activity_apply_when_they_are_chosen(office: Page, three: str) -> None:
    search(office, three)
    choose(office, "become_sold")
    office.get_by_role("button", name="Mark 3 animals sold").click()
    office.goto("/admin/activity/?kind=bulk+change")
    expect(office.get_by_role("button", name="Show")).to_be_hidden()
    office.get_by_label("Who", exact=True).select_option("people")
    office.wait_for_url(re.compile("who=people.*kind=bulk"))
    expect(office.locator(".list .rows").first).to_contain_text("marked 3 animals sold")
    office.locator("summary", has_text="Days").click()
    office.get_by_label("From", exact=True).fill("2020-01-01")
    office.get_by_label("To", exact=True).fill("2020-01-02")
    office.wait_for_url(re.compile("day_to=2020-01-02"))
    expect(office.get_by_role("heading", name="No change matches")).to_be_visible()
