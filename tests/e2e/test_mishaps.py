"""What goes wrong while people work: the line, and markup in every text."""

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.e2e.test_animals import PETS
from tests.e2e.test_drafts import NOTE
from tests.e2e.test_files import send

MARKUP = '"><img src=x onerror=alert(1)><b>'
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


def _fill(page: Page, address: str, **fields: str) -> None:
    page.goto(address)
    for label, text in fields.items():
        page.get_by_label(label.replace("_", " "), exact=True).first.fill(text)
    page.locator("[name=_save]").click()
    page.wait_for_load_state()
    expect(page.locator(".errornote")).to_have_count(0)


def _first(page: Page, address: str) -> str:
    page.goto(address)
    return page.locator("#result_list tbody th a").first.get_attribute("href") or ""


def test_markup_stays_text_wherever_it_can_be_typed(office: Page) -> None:
    """Names of keys and whom to ask, of categories, staff, views, roles and files."""
    word = "Markup"
    text = f"{word}{MARKUP}"
    _fill(office, "/admin/apikeys/apikey/add/", Program_or_partner=text, Contact=text)
    _fill(office, "/admin/categories/category/add/", Name=text)
    _fill(office, "/admin/auth/group/add/", Name=text)
    _fill(office, "/admin/auth/user/add/", Username="markup", First_name=text, Last_name=text)
    office.goto(f"{PETS}?status__exact=sold")
    office.locator("summary", has_text="Views").click()
    office.get_by_label("Save this view as").fill(text)
    office.get_by_role("button", name="Save view").click()
    office.locator(".messagelist").wait_for()
    send(office, [["MARKUP-1", text, text, "sold"], ["", "", text, ""]], name=f"{word}<img src=x>.csv")
    lists = ["apikeys/apikey/", "categories/category/", "auth/user/", "auth/group/"]
    details = [
        _first(office, f"/admin/{each}?q={word}") for each in lists if "group" not in each and "user" not in each
    ]
    pages = ["/admin/", *(f"/admin/{each}" for each in lists), *details, f"/admin/search/?q={word}"]
    pages += [f"{details[0].split('change/')[0]}{page}/" for page in ("history", "rotate", "revoke")]
    pages += [f"{details[1].split('change/')[0]}{page}/" for page in ("history", "delete")]
    pages += [f"{PETS}", f"{PETS}add/", "/admin/apikeys/keyusage/", "/admin/request_desk/requestrecord/"]
    shown = 0
    for address in pages:
        office.goto(address)
        assert office.locator("img").count() == 0, address
        shown += word in office.locator("body").inner_text()
    assert shown >= 12
