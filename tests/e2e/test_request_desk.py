"""A client complains: the request desk shows why."""

import re

from playwright.sync_api import Page, expect

from tests.server import Gunicorn, until

DESK = "/admin/request_desk/requestrecord/"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def wait_until_saved(server: Gunicorn, request_id: str) -> None:
    """Wait until the process that served the request has saved its record."""
    code = f"print(RequestRecord.objects.filter(request_id={request_id!r}).exists())"
    code = f"from petstore_site.request_desk.models import RequestRecord; {code}"
    until(lambda: server.manage("shell", "--verbosity=0", "--command", code).strip() == "True")


def test_a_complaint_is_found_by_its_id(office: Page, server: Gunicorn) -> None:
    secret = server.issue_key("Complaining <b>shop</b>")
    answer = server.post("/v1/pets", secret, {"name": "Rex", "categoryId": 999_999_999})
    assert answer.status == 400
    request_id = answer.headers["X-Request-ID"]
    wait_until_saved(server, request_id)
    office.set_viewport_size({"width": 1024, "height": 768})
    office.goto(DESK)
    office.get_by_label("X-Request-ID").fill(f"  X-Request-ID: {request_id} ")
    office.get_by_label("X-Request-ID").press("Enter")
    office.wait_for_url("**/desk/?request_id=*")
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
    assert office.evaluate(FITS)
    assert secret not in office.content()
    office.get_by_role("link", name="Complaining").click()
    office.wait_for_url("**/change/")
    expect(office.get_by_role("heading", name="Recent errors")).to_be_visible()
    expect(office.get_by_role("link", name=request_id)).to_be_visible()
    assert office.evaluate(FITS)
