"""What a form looks like when it was sent with mistakes."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_animals import PETS
from tests.server import Gunicorn

FORMS = {
    f"{PETS}add/": ["name", "category"],
    "/admin/categories/category/add/": ["name"],
    "/admin/apikeys/apikey/add/": ["name"],
    "/admin/auth/user/add/": ["username"],
    "/admin/auth/group/add/": ["name"],
}
"""Each form → the fields that must not be empty."""

RED = """field => {
  const probe = document.body.appendChild(Object.assign(document.createElement("i"), {className: "row-error"}));
  const red = getComputedStyle(probe).color;
  probe.remove();
  return getComputedStyle(field).borderTopColor === red;
}"""


@pytest.mark.parametrize("address", FORMS)
def test_a_required_field_that_is_empty_is_red_and_says_why(office: Page, address: str) -> None:
    office.goto(address)
    office.locator(".main-form [name=_save]").click()
    expect(office.locator(".errornote")).to_contain_text("Not saved.")
    for name in FORMS[address]:
        field = office.locator(f"[name={name}]")
        shown = field.locator("xpath=following-sibling::input[1]") if not field.is_visible() else field
        assert field.get_attribute("aria-invalid") == "true"
        assert shown.evaluate(RED), name
        said = office.locator(f"#{(field.get_attribute('aria-describedby') or '').split()[-1]}")
        expect(said).to_contain_text("required")


GAPS = """([...parts]) => parts.slice(1).map((part, at) =>
  part.getBoundingClientRect().top - parts[at].getBoundingClientRect().bottom)"""


def test_a_field_does_not_touch_its_help_nor_its_second_part(office: Page, server: Gunicorn) -> None:
    server.issue_key("Apart")
    office.goto("/admin/apikeys/apikey/?q=Apart")
    office.locator("#result_list tbody th a").first.click()
    for parts in (".field-name :is(input, .help)", ".field-expires_at :is(select, .help)"):
        office.locator(parts).first.wait_for()
        gaps = office.locator(parts).evaluate_all(GAPS)
        assert gaps
        assert min(gaps) >= 4
