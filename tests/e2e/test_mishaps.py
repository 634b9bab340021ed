"""What goes wrong while people work: the line, each other, too many forms, our own bugs, markup in every text."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, expect

from tests.e2e.conftest import PASSWORD, Listener
from tests.e2e.test_animals import PETS
from tests.e2e.test_drafts import NOTE
from tests.e2e.test_files import send
from tests.server import Gunicorn, running_server

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


@pytest.fixture
def second(server: Gunicorn, new_context: Callable[[], BrowserContext], complaints: list[str]) -> Page:
    """Another person, in another browser."""
    name = "second"
    if name not in server.manage("shell", "--verbosity=0", "--command", LIST_STAFF):
        who = ("--username", name, "--email", f"{name}@petstore.example")
        server.manage("createsuperuser", "--noinput", *who, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    context = new_context()
    Listener(context, server.url, complaints)
    page = context.new_page()
    page.goto("/admin/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("/admin/")
    return page


LIST_STAFF = "from django.contrib.auth.models import User; print(*User.objects.values_list('username', flat=True))"


def test_two_people_confirm_the_same_bulk_change(office: Page, second: Page, server: Gunicorn) -> None:
    """The page of the second lists what was left and why, and nothing is changed twice."""
    key = server.issue_key("For two people")
    category = server.get("/v1/categories", key).json()[0]["id"]
    for number in range(3):
        server.post("/v1/pets", key, {"name": f"Fought over {number}", "categoryId": category})
    for page in (office, second):
        page.goto(f"{PETS}?q=Fought")
        page.locator("#action-toggle").check()
        page.locator("button[value=become_sold]").click()
        expect(page.locator("#bulk-animals tbody tr")).to_have_count(3)
    office.get_by_role("button", name="Change 3 animals").click()
    expect(office.locator(".messagelist")).to_contain_text("Marked 3 animals sold.")
    second.get_by_role("button", name="Change 3 animals").click()
    expect(second.locator(".messagelist")).to_contain_text("3 animals are left as they are.")
    expect(second.locator(".messagelist")).to_contain_text("changed since")
    second.goto(f"{PETS}?q=Fought")
    second.locator("#result_list tbody th a").first.click()
    second.get_by_role("link", name="History", exact=True).click()
    expect(second.locator("#change-history .story > li")).to_have_count(2)  # added, and sold once


def test_too_many_forms_from_one_address_are_a_page(browser: Browser, browser_context_args: dict[str, Any]) -> None:
    """In a store of its own, as the other tests sign in from the same address; each worker counts by itself."""
    with (
        running_server(workers=1) as server,
        browser.new_context(**browser_context_args | {"base_url": server.url}) as context,
    ):
        page = context.new_page()
        page.goto("/admin/account/sign-in/")
        statuses = page.evaluate(
            """async () => {
                const sent = new FormData(document.getElementById("login-form"));
                const send = (number) => {
                    sent.set("login", `nobody-${number}`); // without a password: to check one takes long
                    return fetch(location, {method: "POST", body: sent}).then((response) => response.status);
                };
                const statuses = [];
                for (let number = 0; number < 31; number++) statuses.push(await send(number));
                return statuses;
            }"""
        )
        assert statuses == [200] * 30 + [429]
        page.get_by_label("Username").fill("keeper")
        page.get_by_label("Password").fill(PASSWORD)
        with page.expect_response(lambda received: received.request.method == "POST") as responded:
            page.get_by_role("button", name="Sign in", exact=True).click()
        assert responded.value.status == 429
        assert responded.value.headers["retry-after"] == "60"
        expect(page.get_by_role("heading", level=1)).to_have_text("Too many requests")
        expect(page.get_by_text("You are sending forms too fast. Wait a minute and try again.")).to_be_visible()


BROKEN = """
from changes.models import Change
print(Change.objects.create(who="staff keeper", what="Status becomes sold", column="status", left=[1]).pk)
"""


def test_a_bug_of_ours_is_a_page_with_the_id_of_the_request(
    office: Page, server: Gunicorn, complaints: list[str]
) -> None:
    """A record that our code can't read is a real 500: the page knows the ID, and so does the log."""
    number = server.manage("shell", "--verbosity=0", "--command", BROKEN).strip()
    try:
        response = office.goto(f"/admin/activity/{number}/")
        assert response is not None
        assert response.status == 500
        expect(office.get_by_role("heading", level=1)).to_have_text("Something went wrong")
        expect(office.get_by_text("We logged it.")).to_be_visible()
        request_id = office.locator("code").inner_text()
        assert request_id == response.headers["x-request-id"]
        assert "Traceback" not in office.content()
        logged = [line for line in server.log.read_text().splitlines() if request_id in line]
        assert any("Traceback" in line for line in logged)
        office.get_by_role("link", name="Back office").click()
        office.wait_for_url("/admin/")
    finally:
        remove = f"from changes.models import Change; Change.objects.filter(pk={number}).delete()"
        server.manage("shell", "--verbosity=0", "--command", remove)
    assert all("500" in complaint for complaint in complaints)
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
    send(office, [["MARKUP-1", text, text, "sold"], ["", text, "", "lost"]], name=f"{word}<img src=x>.csv")
    lists = ["apikeys/apikey/", "categories/category/", "auth/user/", "auth/group/", "pets/importrun/"]
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
