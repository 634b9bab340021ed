"""Going back after a bulk change, and two browsers that change one animal."""

import itertools
import re

import pytest
from playwright.sync_api import Page, expect

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
