"""Animals in the back office."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Screenshot
from tests.server import Gunicorn

PETS = "/admin/pets/pet/"
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202eevil", "\N{PAW PRINTS}" * 255]


@pytest.fixture(scope="package")
def key(server: Gunicorn) -> str:
    return server.issue_key("Writer")


def test_the_list_can_be_searched_and_filtered(office: Page, screenshot: Screenshot) -> None:
    office.goto(PETS)
    rows = office.locator("#result_list tbody tr")
    everything = rows.count()
    screenshot("admin-pets.png")
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
    assert set(office.locator("#result_list .field-status summary").all_inner_texts()) == {"Sold"}


def test_an_animal_is_added_with_the_help_of_the_autocomplete(office: Page, server: Gunicorn, key: str) -> None:
    category = server.get("/v1/categories", key).json()[0]
    office.goto(f"{PETS}add/")
    office.get_by_label("Name:").fill("Added by hand")
    office.locator(".field-category .select2-selection").click()
    office.locator(".select2-search__field").fill(category["name"][:4])
    office.get_by_role("option", name=category["name"], exact=True).click()
    office.get_by_label("Status:").select_option("pending")
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.locator(".messagelist")).to_contain_text("was added successfully")
    newest = server.get("/v1/pets?limit=1", key).json()[0]
    assert newest == {"id": newest["id"], "name": "Added by hand", "categoryId": category["id"], "status": "pending"}


@pytest.mark.parametrize("name", HOSTILE, ids=["script", "image", "bidi", "emoji"])
def test_names_are_only_text(office: Page, server: Gunicorn, key: str, name: str) -> None:
    category = server.get("/v1/categories", key).json()[0]["id"]
    pet = server.post("/v1/pets", key, {"name": name, "categoryId": category}).json()
    office.goto(PETS)
    row = office.locator("#result_list tbody tr").first
    expect(row.locator(".field-id")).to_have_text(str(pet["id"]))
    assert row.locator(".field-name").text_content() == name
    row.get_by_role("link").first.click()
    expect(office.get_by_label("Name:")).to_have_value(name)
    assert office.locator("img[src=x]").count() == 0
    office.go_back()
    expect(row.locator(".field-name")).to_have_text(name)


def test_the_history_of_an_animal_can_be_read(
    office: Page, server: Gunicorn, tmp_path: Path, screenshot: Screenshot
) -> None:
    category = "Imported in a test"
    file = tmp_path / "animals.csv"
    file.write_text(f"name,category,external_reference\n{HOSTILE[0]},{category},E2E-1\n")
    server.manage("import_pets", str(file), "--create-categories")
    office.goto(f"{PETS}?q=E2E-1")
    office.locator("#result_list .field-name a").click()
    office.get_by_label("Status:").select_option("sold")
    office.get_by_role("button", name="Save and continue editing").click()
    office.get_by_role("link", name="History").click()
    expect(office.locator("#change-history tbody tr")).to_have_count(2)
    expect(office.locator("#change-history")).to_contain_text("available → sold")
    expect(office.locator("#change-history")).to_contain_text("animals.csv, line 2")
    screenshot("admin-history.png")
    office.locator("#change-history").get_by_role("link", name="animals.csv").click()
    expect(office.locator(".field-sha256")).to_be_visible()
    screenshot("admin-import.png")
    office.go_back()
    office.locator("#change-history td a").first.click()
    expect(office.get_by_role("heading", level=1)).to_have_text(HOSTILE[0])
