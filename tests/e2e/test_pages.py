"""What holds for every page in a browser."""

from playwright.sync_api import Page


def test_an_inline_script_does_not_run_and_does_not_go_unnoticed(page: Page, complaints: list[str]) -> None:
    page.goto("/")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert page.evaluate("window.ran") is None
    assert [("Content Security Policy" in complaint) for complaint in complaints] == [True]
    complaints.clear()
