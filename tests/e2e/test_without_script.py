"""A day's work in a browser that runs no script: each task of a clerk can be done."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import sign_in, sign_out
from tests.e2e.test_files import IMPORTS, text_of

PETS = "/admin/pets/pet/"


@pytest.fixture
def page(browser: Browser, browser_context_args: dict[str, Any], complaints: list[str]) -> Iterator[Page]:
    """A page that runs no script, and in which no response failed."""
    with browser.new_context(**browser_context_args, java_script_enabled=False) as context:
        context.on("response", lambda response: complaints.append(response.url) if response.status >= 400 else None)
        yield context.new_page()
    assert complaints == []


def add(page: Page, name: str, category: str) -> None:
    page.goto(f"{PETS}add/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Category").select_option(label=category)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text(name)


def statuses(page: Page, name: str) -> list[str]:
    """Return the statuses in the list of the animals that a search finds."""
    page.goto(f"{PETS}?q={name}")
    return [text.strip() for text in page.locator("#result_list .field-status summary").all_inner_texts()]


def test_an_animal_is_added_edited_sold_and_put_back(page: Page) -> None:
    sign_in(page)
    add(page, "Noscript Nelly", "Rabbits")
    page.goto(f"{PETS}?q=Noscript Nelly")
    page.get_by_role("link", name="Noscript Nelly").click()
    assert page.get_by_label("Category").locator("option:checked").text_content() == "Rabbits"
    page.get_by_label("External reference").fill("NOSCRIPT-1")
    page.get_by_role("button", name="Save", exact=True).click()

    page.goto(f"{PETS}?q=NOSCRIPT-1")
    page.locator("#result_list .field-status summary").click()
    page.get_by_role("button", name="Mark sold").first.click()
    assert statuses(page, "NOSCRIPT-1") == ["Sold"]
    page.locator("#result_list tbody th a").click()
    page.get_by_role("button", name="Mark available").click()
    page.get_by_role("button", name="Undo").click()
    assert statuses(page, "NOSCRIPT-1") == ["Sold"]
    sign_out(page)


def test_many_are_changed_and_changed_back(page: Page) -> None:
    sign_in(page)
    for number in range(2):
        add(page, f"Noscript litter {number}", "Dogs")
    page.goto(f"{PETS}?q=Noscript litter")
    for box in page.locator(".action-select").all():
        box.check()
    page.locator("button[value=become_sold]").click()
    page.get_by_role("button", name="Mark 2 animals sold").click()
    assert statuses(page, "Noscript litter") == ["Sold", "Sold"]
    page.goto("/admin/activity/?kind=bulk+change")
    page.locator(".list .rows p a").first.click()
    page.get_by_role("link", name="Undo…").click()
    page.get_by_role("button", name="Undo: set back 2 animals").click()
    assert statuses(page, "Noscript litter") == ["Available", "Available"]
    page.goto("/admin/activity/?kind=undo")
    page.get_by_role("link", name="Redo…").first.click()
    page.get_by_role("button", name="Redo: change 2 animals").click()
    expect(page.locator(".messagelist")).to_contain_text("Redid “marked 2 animals sold”.")
    assert statuses(page, "Noscript litter") == ["Sold", "Sold"]


def test_a_file_is_imported_and_the_import_undone(page: Page) -> None:
    sign_in(page)
    page.goto(f"{IMPORTS}add/")
    content = text_of([["NOSCRIPT-9", "Noscript Nora", "Rabbits", "available"]]).encode()
    page.locator("input[type=file]").set_input_files({"name": "plain.csv", "mimeType": "text/csv", "buffer": content})
    page.locator("form:has(input[type=file]) [type=submit]").last.click()
    page.get_by_role("button", name="Import 1 row").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("imported plain.csv: 1 added")
    assert statuses(page, "NOSCRIPT-9") == ["Available"]
    page.goto("/admin/activity/?kind=import")
    page.locator(".imports tbody th a").first.click()
    page.get_by_role("link", name="Undo").first.click()
    page.locator("#content form[method=post] [type=submit]").last.click()
    assert statuses(page, "NOSCRIPT-9") == []
    expect(page.get_by_role("heading", name="Nothing matches “NOSCRIPT-9”")).to_be_visible()


def test_a_list_is_filtered_by_category(page: Page) -> None:
    sign_in(page)
    page.goto(PETS)
    page.get_by_text("More filters").click()
    page.get_by_role("form", name="Filter").get_by_label("Category").select_option(label="Rabbits")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**category__id__exact=*")
    assert set(page.locator("#result_list .field-category").all_inner_texts()) == {"Rabbits"}


def test_nothing_is_offered_that_needs_a_script(page: Page) -> None:
    page.goto("/admin/")
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
    sign_in(page)
    page.locator("summary", has_text="your account").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("button", name="Dark theme")).to_be_hidden()
