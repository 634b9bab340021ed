"""Animals in the back office."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import STAFF
from tests.server import Gunicorn
from tests.whole import shown

PETS = "/admin/pets/pet/"
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202eevil", "\N{PAW PRINTS}" * 255]


@pytest.fixture(scope="package")
def key(server: Gunicorn) -> str:
    return server.issue_key("Writer")


def test_the_list_can_be_searched_and_filtered(office: Page) -> None:
    office.goto(PETS)
    rows = office.locator("#result_list tbody tr")
    everything = rows.count()
    first = office.locator("#result_list .field-name").first.inner_text()
    office.locator("#searchbar").fill(first)
    office.locator("#searchbar").press("Enter")
    office.wait_for_url(re.compile("q="))  # which waits for the whole page, as expect() would not
    found = office.locator("#result_list .field-name").all_inner_texts()
    assert first in found
    assert len(found) < everything
    office.goto(PETS)
    office.get_by_text("More filters").click()
    office.get_by_label("Status", exact=True).select_option("sold")
    office.get_by_role("button", name="Filter").click()
    office.wait_for_url(re.compile("status__exact=sold"))
    labels = office.locator("#result_list tbody summary").evaluate_all("all => all.map((each) => each.ariaLabel)")
    assert {label.split(":")[0] for label in labels} == {"Sold"}


def test_the_category_filter_can_be_searched(office: Page) -> None:
    office.goto(PETS)
    office.get_by_text("More filters").click()
    field = office.get_by_label("Category", exact=True)
    assert field.get_attribute("list") == "filter_category__id__exact_options"
    field.fill("nothing of that name")
    office.get_by_role("button", name="Filter").click()
    assert "category" not in office.url, "the browser says what is wrong"
    field.fill("rabbits")
    office.get_by_role("button", name="Filter").click()
    office.wait_for_url(re.compile("category__id__exact=[0-9]"))
    assert set(office.locator("#result_list .field-category").all_inner_texts()) == {"Rabbits"}
    office.get_by_text("More filters").click()
    expect(office.get_by_label("Category", exact=True)).to_have_value("Rabbits")


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


def test_the_page_of_an_animal_marks_undoes_and_turns_the_list(office: Page) -> None:
    office.goto(f"{PETS}?status__exact=available")
    names = office.locator("#result_list .field-name").all_inner_texts()
    office.locator("#result_list .field-name a").nth(1).click()
    title = office.get_by_role("heading", level=1)
    expect(title).to_have_text(names[1])
    office.get_by_role("button", name="Mark sold").click()
    expect(office.locator(".title .badge")).to_have_text("Sold")
    expect(office.locator(".timeline li").first).to_contain_text(f"{STAFF} marked it")
    office.get_by_role("button", name="Undo").click()
    expect(office.locator(".title .badge")).to_have_text("Available")
    expect(title).to_have_text(names[1])
    office.get_by_role("link", name="Next animal of the list").click()
    expect(title).to_have_text(names[2])
    office.get_by_role("link", name="Previous animal of the list").click()
    expect(title).to_have_text(names[1])
    office.get_by_role("navigation", name="Where this is").get_by_role("link").click()
    office.wait_for_url("**/?status__exact=available")


def test_the_history_of_an_animal_can_be_read(office: Page, server: Gunicorn, tmp_path: Path) -> None:
    category = "Imported in a test"
    file = tmp_path / "animals.csv"
    file.write_text(f"name,category,external_reference\n{HOSTILE[0]},{category},E2E-1\n")
    server.manage("import_pets", str(file), "--create-categories")
    office.goto(f"{PETS}?q=E2E-1")
    office.locator("#result_list .field-name a").click()
    office.get_by_role("radio", name="Sold").check()
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.locator(".messagelist")).to_contain_text("was saved.")
    office.locator("#result_list .field-name a").click()
    office.get_by_role("link", name="History").click()
    expect(office.locator("#change-history .story > li")).to_have_count(2)
    expect(office.locator("#change-history .change")).to_have_text("Available becomes Sold")
    expect(office.locator("#change-history")).to_contain_text("animals.csv, line 2")
    office.locator("#change-history").get_by_role("link", name="animals.csv", exact=True).click()
    office.locator("#file summary").click()
    expect(office.get_by_text("SHA-256")).to_be_visible()
    office.go_back()
    office.get_by_role("link", name="As it was then").click()
    expect(office.get_by_role("heading", level=1)).to_contain_text("As it was on ")
    expect(office.locator(".versus")).to_contain_text(HOSTILE[0])
