"""Animals in the back office."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server import Gunicorn
from tests.whole import shown

PETS = "/admin/pets/pet/"


@pytest.fixture(scope="package")
def key(server: Gunicorn) -> str:
    return server.issue_key("Writer")


def test_the_category_filter_can_be_searched(office: Page) -> None:
    office.goto(PETS)
    office.get_by_text("More filters").click()
    field = office.get_by_role("combobox", name="Category")
    assert field.get_attribute("list") == "filter_category__id__exact_options"
    field.fill("nothing of that name")
    office.get_by_role("button", name="Filter").click()
    assert "category" not in office.url, "the browser says what is wrong"
    field.fill("rabb")
    field.blur()
    expect(field).to_have_value("Rabbits")
    office.get_by_role("button", name="Filter").click()
    office.wait_for_url(re.compile("category__id__exact=[0-9]"))
    assert set(office.locator("#result_list .field-category").all_inner_texts()) == {"Rabbits"}
    office.get_by_text("More filters").click()
    expect(office.get_by_role("combobox", name="Category")).to_have_value("Rabbits")


def test_an_animal_is_added_with_a_category_that_is_searched(office: Page, server: Gunicorn, key: str) -> None:
    category = server.get("/v1/categories", key).json()[0]
    office.goto(f"{PETS}add/")
    office.get_by_label("Name").fill("Added by hand")
    office.get_by_label("Category").fill("Nothing like it")
    office.get_by_role("button", name="Save", exact=True).click()  # the browser says to choose a suggestion
    office.wait_for_url(f"{PETS}add/")
    office.get_by_label("Category").fill(category["name"].upper())
    office.get_by_role("radio", name="Pending").check()
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.locator(".messagelist")).to_contain_text("was added.")
    newest = server.get("/v1/pets?limit=1", key).json()[0]
    assert newest == shown(id=newest["id"], name="Added by hand", categoryId=category["id"], status="pending")
