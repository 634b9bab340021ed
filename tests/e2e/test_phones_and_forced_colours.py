"""With forced colours what is selected has an outline, and a phone shows each action in full."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, StorageState, expect

PETS = "/admin/pets/pet/"

OUTLINED = "element => getComputedStyle(element).outlineStyle"
TALLER = "element => element.scrollWidth > element.clientWidth + 1 || element.getClientRects().length !== 1"
LINES = """label => {
    const text = document.createTreeWalker(label, NodeFilter.SHOW_TEXT), range = document.createRange();
    let lines = 0;
    while (text.nextNode()) if (text.currentNode.data.trim()) {
        range.selectNodeContents(text.currentNode);
        lines += range.getClientRects().length;
    }
    return lines;
}"""
ACTIONS = ["become_available", "become_pending", "become_sold", "become_category", "delete_selected"]


def signed_in_page(context: BrowserContext, signed_in: StorageState) -> Page:
    context.add_cookies(cast("Any", signed_in["cookies"]))
    return context.new_page()


@pytest.fixture
def forced(new_context: Callable[..., BrowserContext], signed_in: StorageState) -> Page:
    """A page in a browser with forced colours."""
    return signed_in_page(new_context(forced_colors="active"), signed_in)


def outlines(*elements: Locator) -> list[str]:
    """Return the style of each outline: a browser with forced colours shows no background."""
    return [str(element.evaluate(OUTLINED)) for element in elements]


def test_what_is_chosen_has_an_outline(forced: Page) -> None:
    forced.goto(f"{PETS}?status__exact=sold")
    links = forced.locator(".nav-link")
    assert outlines(links.get_by_text("All animals"), links.get_by_text("Categories")) == ["solid", "none"]
    tabs = forced.locator(".tabs a")
    assert outlines(tabs.get_by_text("Sold"), tabs.get_by_text("Pending")) == ["solid", "none"]
    boxes = forced.locator(".action-checkbox")
    boxes.first.get_by_role("checkbox").check()
    assert outlines(boxes.nth(0), boxes.nth(1)) == ["solid", "none"]
    forced.locator("#result_list tbody th a").first.click()
    choices = forced.locator(".field-status label")
    assert outlines(choices.filter(has_text="Sold").last, choices.filter(has_text="Pending").last) == ["solid", "none"]


def test_the_portal_outlines_the_page_the_section_and_the_language(forced: Page) -> None:
    forced.goto("/docs/errors/rate_limited")
    codes = forced.get_by_label("Error codes")
    assert outlines(codes.get_by_text("rate_limited"), codes.get_by_text("bad_request")) == ["solid", "none"]
    forced.goto("/docs/")
    pages = forced.get_by_label("Documentation", exact=True)
    assert outlines(pages.get_by_text("API reference"), pages.get_by_text("Guide")) == ["solid", "none"]
    tabs = forced.locator("#listPets").get_by_role("tab")
    assert outlines(tabs.nth(0), tabs.nth(1)) == ["solid", "none"]


def test_the_parts_of_a_chart_keep_their_colours(forced: Page) -> None:
    forced.goto("/admin/")
    fills = {
        kind: forced.locator(f".bar-{kind}").first.evaluate("element => getComputedStyle(element).fill")
        for kind in ("available", "pending", "sold")
    }
    assert len(set(fills.values())) == 3
    dots = forced.locator("#stock ~ .legend .dot, .legend .dot").all()
    assert len({dot.evaluate("element => getComputedStyle(element).backgroundColor") for dot in dots}) == 3


def phone(new_context: Callable[..., BrowserContext], signed_in: StorageState, width: int) -> Page:
    page = signed_in_page(new_context(has_touch=True), signed_in)
    page.set_viewport_size({"width": width, "height": 640})
    return page


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_shows_every_action_for_what_is_selected(
    new_context: Callable[..., BrowserContext], signed_in: StorageState, width: int
) -> None:
    page = phone(new_context, signed_in, width)
    page.goto(PETS)
    page.locator(".action-select").first.check()
    for action in ACTIONS:
        button = page.locator(f".bulk button[value={action}]")
        expect(button).to_be_in_viewport(ratio=1)
        assert not button.evaluate(TALLER)
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 42
        button.click(trial=True)  # nothing lies over it


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_breaks_no_word_of_a_status(
    new_context: Callable[..., BrowserContext], signed_in: StorageState, width: int
) -> None:
    page = phone(new_context, signed_in, width)
    page.goto(f"{PETS}1/change/")
    lines = [label.evaluate(LINES) for label in page.locator(".field-status .radiolist label").all()]
    assert lines == [1, 1, 1]
    assert page.evaluate("document.documentElement.scrollWidth") == width
