"""What was typed into a form is not lost: a warning before the page is left, a draft while the session is over."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import PASSWORD, STAFF
from tests.e2e.test_animals import PETS

NOTE = "What you typed before is in the form again. It is not saved yet."


def drafts(page: Page) -> dict[str, Any]:
    """Return what the tab keeps, by the path of the form."""
    kept: dict[str, str] = page.evaluate("Object.fromEntries(Object.entries(sessionStorage))")
    return {name.partition(":")[2]: json.loads(draft) for name, draft in kept.items() if name.startswith("draft:")}


def end_session(page: Page) -> None:
    """Let the session be over, as after half an hour: the browser still has the page."""
    cookies = [cookie for cookie in page.context.cookies() if "session" not in str(cookie.get("name"))]
    page.context.clear_cookies()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # playwright gives and takes other types


def sign_in_here(page: Page) -> None:
    """Sign in on the page that comes, which leads back."""
    page.wait_for_url("**/sign-in/**")
    page.get_by_label("Username").fill(STAFF)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.fixture
def own_session(page: Page) -> Page:
    """A page that is signed in by a session of its own, which the test can end."""
    page.goto(f"{PETS}add/")
    sign_in_here(page)
    page.wait_for_url(f"**{PETS}add/")
    return page


def test_a_form_comes_back_after_the_session_ended_and_goes_when_it_is_sent(own_session: Page) -> None:
    page = own_session
    page.get_by_label("Name").fill("Typed before")
    page.get_by_role("radio", name="Pending").check()
    page.get_by_label("External reference").fill("DRAFT-1")
    end_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    sign_in_here(page)
    expect(page.get_by_text(NOTE)).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Typed before")
    expect(page.get_by_role("radio", name="Pending")).to_be_checked()
    expect(page.get_by_label("External reference")).to_have_value("DRAFT-1")

    page.get_by_label("Category").fill("Dogs")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("Typed before")
    page.wait_for_load_state()  # its script runs when the whole page is there
    assert drafts(page) == {}
    page.goto(f"{PETS}add/")
    expect(page.get_by_label("Name")).to_have_value("")
    expect(page.get_by_text(NOTE)).to_have_count(0)


def test_back_after_an_addition_shows_an_empty_form(office: Page) -> None:
    office.goto(PETS)
    office.get_by_role("link", name="Add animal").click()
    office.get_by_label("Name").fill("Added once")
    office.get_by_label("Category").fill("Dogs")
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.locator(".messagelist")).to_contain_text("Added once")
    office.wait_for_load_state()
    office.go_back()
    expect(office.get_by_text("What you sent was added.")).to_be_visible()
    expect(office.get_by_label("Name")).to_have_value("")
    expect(office.get_by_label("Category")).to_have_value("")
    office.get_by_role("button", name="Save", exact=True).click()  # the browser asks for a name
    office.goto(f"{PETS}?q=Added+once")
    expect(office.locator("#result_list tbody tr")).to_have_count(1)


def test_a_form_that_is_left_warns_first(office: Page, complaints: list[str]) -> None:
    office.goto(f"{PETS}1/change/")
    name = office.get_by_label("Name").input_value()
    office.goto(f"{PETS}1/change/")  # nothing was typed: it is left at once
    office.get_by_label("Name").fill("Not to be saved")
    with office.expect_event("dialog"):
        office.get_by_role("link", name="All animals").click(no_wait_after=True)
    office.wait_for_timeout(300)
    assert complaints == ["dialog: "], "the listener stays on the page"
    complaints.clear()
    assert office.url.endswith(f"{PETS}1/change/")
    expect(office.get_by_label("Name")).to_have_value("Not to be saved")
    office.get_by_label("Name").fill(name)
    office.get_by_role("button", name="Save", exact=True).click()
    office.wait_for_url(f"**{PETS}*")
    assert complaints == []


def test_secrets_are_never_kept(own_session: Page, complaints: list[str]) -> None:
    page = own_session
    page.goto("/admin/auth/user/1/change/")
    page.evaluate(
        """() => {
            const field = Object.assign(document.createElement("input"), {type: "password", name: "secret"});
            const hidden = Object.assign(document.createElement("input"), {type: "hidden", name: "token", value: "hush"});
            document.querySelector(".main-form").append(field, hidden);
        }"""
    )
    page.locator("input[name=secret]").fill("never to be kept")
    page.get_by_label("First name").fill("Kept")
    kept = json.dumps(page.evaluate("Object.entries(sessionStorage).concat(Object.entries(localStorage))"))
    assert "Kept" in kept
    assert "never to be kept" not in kept
    assert "hush" not in kept
    assert "csrf" not in kept.lower()
    page.close(run_before_unload=False)
    assert complaints == []


@pytest.mark.parametrize("address", ["/admin/account/password/", "/admin/login/"])
def test_pages_for_passwords_keep_nothing(own_session: Page, address: str) -> None:
    page = own_session
    if "login" in address:
        end_session(page)
    page.goto(address)
    for field in page.locator("main").locator("input[type=password], input[type=text]").all():
        field.fill("never to be kept")
    kept = page.evaluate("JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])")
    assert "never to be kept" not in kept
