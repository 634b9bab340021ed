"""A client complains: the request desk shows why; after a rotation the key's page shows when the old key can go."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server import Gunicorn, until

DESK = "/admin/request_desk/requestrecord/"
KEYS = "/admin/apikeys/apikey/"


@pytest.fixture(autouse=True)
def _on_a_tablet(office: Page) -> None:
    office.set_viewport_size({"width": 1024, "height": 768})


def issue(server: Gunicorn, name: str) -> str:
    return server.issue_key(name)


def wait_until(server: Gunicorn, condition: str) -> None:
    """Wait until the processes that served the requests have saved what makes the condition true."""
    code = f"from petstore_site.apikeys.models import *; from petstore_site.request_desk.models import *; print({condition})"
    until(lambda: server.manage("shell", "--verbosity=0", "--command", code).strip() == "True")


def fits(page: Page) -> bool:
    """Whether nothing sticks out at the side."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return wide


def look_up(office: Page, pasted: str) -> None:
    office.goto(DESK)
    office.get_by_label("X-Request-ID").fill(pasted)
    office.get_by_label("X-Request-ID").press("Enter")
    office.wait_for_url("**/desk/?request_id=*")


def test_a_complaint_is_found_by_its_id(office: Page, server: Gunicorn) -> None:
    secret = issue(server, "Complaining <b>shop</b>")
    answer = server.post("/v1/pets", secret, {"name": "Rex", "categoryId": 999_999_999})
    assert answer.status == 400
    request_id = answer.headers["X-Request-ID"]
    wait_until(server, f"RequestRecord.objects.filter(request_id={request_id!r}).exists()")
    look_up(office, f"  X-Request-ID: {request_id} ")
    expect(office.get_by_role("heading", name="Rejected: the caller must change something")).to_be_visible()
    expect(office.locator(".timeline p")).to_have_text(
        [
            f"Complaining <b>shop</b> called with the key {secret[10:18]}.",
            "It asked to add an animal: POST /v1/pets",
            re.compile("The store rejected it after [0-9]+ ms and said:"),
            "categoryId must be the id of an existing category.",
            "Nothing was added or changed.",
        ]
    )
    office.get_by_role("button", name="Copy ID").click()
    expect(office.get_by_role("status")).not_to_be_empty()
    assert fits(office)
    assert secret not in office.content()
    office.get_by_role("link", name="Complaining").click()
    office.wait_for_url("**/change/")
    expect(office.get_by_role("heading", name="Recent errors")).to_be_visible()
    expect(office.get_by_role("link", name=request_id)).to_be_visible()
    assert fits(office)


def test_an_id_that_is_not_found_is_explained(office: Page) -> None:
    look_up(office, "nobody-sent-this")
    expect(office.get_by_role("heading", name="No record of nobody-sent-this")).to_be_visible()
    expect(office.get_by_text("It is older than 7 days")).to_be_visible()
    assert fits(office)


def test_after_a_rotation_both_keys_are_beside_each_other(office: Page, server: Gunicorn) -> None:
    old = issue(server, "Changing over")
    new = server.manage("rotate_api_key", old[10:18], "--grace", "9d", "--secret-only").strip()
    for secret in (old, new) * 3:
        assert server.get("/v1/pets", secret).status == 200
    counts = f"KeyUsage.objects.filter(key__key_id__in={[old[10:18], new[10:18]]}).values_list('count', flat=True)"
    wait_until(server, f"sum({counts}) == 6")
    office.goto(f"{KEYS}?q={old[10:18]}")
    office.get_by_role("link", name="Changing over").click()
    office.wait_for_url("**/change/**")
    expect(office.get_by_text("Not yet: the old key was used 3 times today, last ")).to_be_visible()
    for side in ("Old key", "New key"):
        expect(office.get_by_role("img", name=f"{side}, requests per day")).to_be_visible()
    office.get_by_text("Every day as a table").first.click()
    expect(office.get_by_role("columnheader", name="Day").first).to_be_visible()
    assert fits(office)
    office.get_by_role("link", name="End the old key anyway").click()
    office.wait_for_url("**/revoke/")
    office.get_by_role("button", name="Revoke this key").click()
    office.wait_for_url("**/change/")
    expect(office.get_by_text(f"Nothing is left to end: key {old[10:18]} is revoked.")).to_be_visible()
    office.get_by_role("link", name="History").click()
    office.wait_for_url("**/history/")
    expect(office.get_by_role("cell", name="keeper", exact=True)).to_be_visible()
    expect(office.get_by_role("cell", name="command rotate_api_key")).to_be_visible()
    assert server.get("/v1/pets", new).status == 200
