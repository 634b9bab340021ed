"""The way through a day's work without a mouse."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PASSWORD, STAFF
from tests.e2e.test_animals import PETS
from tests.e2e.test_files import IMPORTS
from tests.server import Gunicorn


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, name: str, *, most: int = 80) -> None:
    """Press Tab until what has the focus begins with this text, or is called so; it must be in sight."""
    page.wait_for_load_state()
    focused = "(({ ariaLabel, labels, innerText }) => ariaLabel || labels?.[0]?.innerText || innerText)(document.activeElement)"
    for _ in range(most):
        page.keyboard.press("Tab")
        if str(page.evaluate(focused)).strip().startswith(name):
            assert page.evaluate("document.activeElement.checkVisibility()")
            return
    message = f"{name} is not reached by Tab"
    raise AssertionError(message)


def test_find_an_animal_change_it_undo_change_many_and_sign_out(page: Page, server: Gunicorn) -> None:
    key = server.issue_key("Keyboard")
    category = server.get("/v1/categories", key).json()[0]["id"]
    for name in ("Qwerty one", "Qwerty two"):
        server.post("/v1/pets", key, {"name": name, "categoryId": category})
    page.goto("/admin/")
    page.get_by_label("Username").focus()
    page.keyboard.type(STAFF)
    press(page, "Tab")
    page.keyboard.type(PASSWORD)
    press(page, "Enter")
    page.wait_for_url("/admin/")

    press(page, "/")
    page.keyboard.insert_text("qwerty")  # at once: Enter goes to what was found for all that was typed
    expect(page.locator("#palette [aria-selected=true]")).to_contain_text("Qwerty two")
    press(page, "Enter")
    page.wait_for_url(re.compile(rf"{PETS}\d+/change/"))
    expect(page.get_by_label("Name")).to_have_value("Qwerty two")

    page.goto(f"{PETS}?q=qwerty")
    tab_to(page, "Available: change the status of Qwerty two")
    press(page, "Enter")
    tab_to(page, "Mark sold", most=3)
    press(page, "Enter")
    expect(page.locator(".messagelist")).to_contain_text("Marked Qwerty two sold.")
    tab_to(page, "Undo")
    press(page, "Enter")
    expect(page.locator(".messagelist")).to_contain_text("Undid “marked Qwerty two sold”.")

    page.goto(f"{PETS}?q=qwerty")
    for name in ("Qwerty two", "Qwerty one"):
        tab_to(page, f"Select {name}")
        press(page, "Space")
    expect(page.locator(".action-select:checked")).to_have_count(2)
    tab_to(page, "Mark pending")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Mark 2 animals pending?")
    tab_to(page, "Mark 2 animals pending")
    press(page, "Enter")
    expect(page.locator(".messagelist")).to_contain_text("Marked 2 animals pending.")

    account = page.locator("summary", has_text="your account")
    account.focus()
    press(page, "Enter")
    tab_to(page, "Sign out", most=12)
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Signed out")


def test_match_a_suppliers_file_import_it_and_undo_it(office: Page, complaints: list[str]) -> None:
    def enter(*names: str) -> None:
        for name in names:
            tab_to(office, name)
            with office.expect_navigation():
                press(office, "Enter")

    office.goto(f"{IMPORTS}add/")
    enter("Check the file")
    expect(office.get_by_label("Drop a file here")).to_be_focused()
    with office.expect_file_chooser() as chooser:
        press(office, "Space")
    text = "Artikelnr.;Bezeichnung;Art;Zustand\nKEYS-1;Keys;Schlüsseltiere;lieferbar\n"
    chooser.value.set_files({"name": "keys.csv", "mimeType": "text/csv", "buffer": text.encode()})
    enter("Check the file")
    tab_to(office, "Check the rows")
    press(office, "Enter")
    expect(office.get_by_label("Schlüsseltiere becomes")).to_be_focused()  # what is still open
    office.keyboard.type("Dogs")
    enter("Check the rows")
    office.go_back()
    expect(office.get_by_label("Schlüsseltiere becomes")).to_have_value("=Dogs")
    office.go_forward()
    enter("Import 1 row", "Undo…", "Undo: delete 1 animal")
    expect(office.locator(".messagelist")).to_contain_text("Undid “imported keys.csv: 1 added”.")
    complaints[:] = [complaint for complaint in complaints if "400" not in complaint]  # no file was chosen


def test_ctrl_enter_saves_a_form_and_never_confirms(office: Page) -> None:
    office.goto(f"{PETS}2/change/")
    office.get_by_label("Name").fill("Saved by keys")
    press(office, "Control+Enter")
    expect(office.locator(".messagelist")).to_contain_text("“Saved by keys” was saved.")
    office.goto(f"{PETS}2/delete/")
    office.locator(".main-form .default").focus()
    office.locator(".main-form a").last.press("Control+Enter")
    office.goto(f"{PETS}2/change/")
    expect(office.get_by_label("Name")).to_have_value("Saved by keys")
