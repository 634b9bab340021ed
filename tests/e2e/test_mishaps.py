"""What goes wrong while people work: the line is lost."""

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.e2e.test_animals import PETS
from tests.e2e.test_drafts import NOTE

OFFLINE = "Not saved. You are offline. What you typed is still in the form."


def test_a_form_is_not_sent_while_the_browser_is_offline(office: Page) -> None:
    office.goto(f"{PETS}add/")
    office.get_by_label("Name").fill("Typed on a train")
    office.get_by_label("Category").fill("Dogs")
    office.context.set_offline(True)
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.get_by_role("alert")).to_contain_text(OFFLINE)
    expect(office.get_by_label("Name")).to_have_value("Typed on a train")
    office.context.set_offline(False)
    expect(office.get_by_role("alert")).to_have_count(0)
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.locator(".messagelist")).to_contain_text("“Typed on a train” was added.")


def test_what_was_typed_is_there_again_if_the_line_was_lost_while_it_was_sent(
    office: Page, complaints: list[str]
) -> None:
    def lose(route: Route) -> None:
        route.abort("connectionreset") if route.request.method == "POST" else route.continue_()

    office.goto(f"{PETS}add/")
    office.get_by_label("Name").fill("Typed in a tunnel")
    office.route(f"**{PETS}add/", lose)
    with pytest.raises(Error, match="ERR_CONNECTION_RESET"), office.expect_navigation():
        office.get_by_role("button", name="Save", exact=True).click()
    office.unroute_all()
    office.goto(f"{PETS}add/")
    expect(office.get_by_text(NOTE)).to_be_visible()
    expect(office.get_by_label("Name")).to_have_value("Typed in a tunnel")
    office.get_by_label("Category").fill("Dogs")
    office.get_by_role("button", name="Save", exact=True).click()
    expect(office.locator(".messagelist")).to_contain_text("“Typed in a tunnel” was added.")
    assert [complaint.rpartition(": ")[2] for complaint in complaints] == ["net::ERR_CONNECTION_RESET"]
    complaints.clear()
