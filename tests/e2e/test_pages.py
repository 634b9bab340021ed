"""The pages for people who use the API."""

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Screenshot
from tests.server import Gunicorn

OPERATIONS = {
    "operations-categories-getCategory",
    "operations-categories-listCategories",
    "operations-pets-createPet",
    "operations-pets-getPet",
    "operations-pets-listPets",
}


def test_the_landing_page_leads_everywhere(page: Page, server: Gunicorn, screenshot: Screenshot) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Pet Store")
    expect(page.locator("pre")).to_have_count(3)
    expect(page.locator("pre").first).to_contain_text(f"{server.url}/v1/pets")
    screenshot("landing.png")
    page.get_by_role("link", name="Back office").click()
    expect(page.get_by_label("Password:")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Read and try the API").click()
    expect(page.locator(".opblock")).to_have_count(5)


def test_the_docs_page_shows_every_operation(page: Page, screenshot: Screenshot) -> None:
    page.goto("/docs/")
    expect(page.locator(".opblock")).to_have_count(5)
    assert {block.get_attribute("id") for block in page.locator(".opblock").all()} == OPERATIONS
    expect(page.locator(".opblock-deprecated")).to_have_attribute("id", "operations-pets-getPet")
    page.locator(".opblock").last.evaluate("block => block.scrollIntoView({block: 'end'})")
    screenshot("docs.png")


def test_an_operation_can_be_tried(page: Page, server: Gunicorn) -> None:
    key = server.manage_json("issue_api_key", "Reader of the docs", "--scope", "read")["key"]
    page.goto("/docs/")
    page.get_by_role("button", name="Authorize").click()
    page.get_by_label("auth-bearer-value").fill(key)
    page.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").click()
    operation = page.locator("#operations-pets-listPets")
    operation.get_by_role("button", name="get /pets", exact=False).first.click()
    operation.get_by_role("button", name="Try it out").click()
    with page.expect_response("**/v1/pets**") as answered:
        operation.get_by_role("button", name="Execute").click()
    assert answered.value.url.startswith(f"{server.url}/v1/pets")
    assert len(answered.value.json()) == 20
    shown = operation.locator(".live-responses-table")
    expect(shown.locator("tbody .response-col_status").first).to_have_text("200")
    expect(shown).to_contain_text(answered.value.json()[0]["name"])


def test_an_inline_script_does_not_run_and_does_not_go_unnoticed(page: Page, complaints: list[str]) -> None:
    page.goto("/")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert page.evaluate("window.ran") is None
    assert [("Content Security Policy" in complaint) for complaint in complaints] == [True]
    complaints.clear()
