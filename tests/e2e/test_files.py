"""Files in the back office: one with an error in a row is sent, fixed, imported and undone."""

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.server import Gunicorn
from tests.whole import HEADER

PETS = "/admin/pets/pet/"
IMPORTS = "/admin/pets/importrun/"


def text_of(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([HEADER, *rows])
    return out.getvalue()


def send(page: Page, rows: list[list[str]], *, name: str, add_categories: bool = False) -> None:
    """Send the rows as a file of that name, and wait for what it would do."""
    page.goto(f"{IMPORTS}add/")
    file = {"name": name, "mimeType": "text/csv", "buffer": text_of(rows).encode()}
    if add_categories:
        page.locator("summary", has_text="Options").click()
        page.get_by_label("Add missing categories").check()
    page.get_by_label("Drop a file here").set_input_files(file)  # type: ignore[arg-type]  # as playwright documents it
    if add_categories:
        assert page.url.endswith("/add/"), "a file waits while the options are open"
        page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
    page.wait_for_load_state()


@pytest.mark.parametrize("width", [390, 1280])
def test_columns_of_an_export_are_chosen(office: Page, width: int) -> None:
    office.set_viewport_size({"width": width, "height": 800})
    office.goto(PETS)
    office.locator("summary", has_text="Export").click()
    box = office.get_by_role("group", name="Columns").bounding_box()
    assert box
    assert 0 < box["x"] < box["x"] + box["width"] < width
    office.get_by_label("Day of sale").check()
    for shown in ("ID", "Name"):
        office.get_by_label(shown, exact=True).uncheck()
    with office.expect_download() as begun:
        office.get_by_role("button", name="Export as CSV").click()
    header = begun.value.path().read_text("utf-8-sig").splitlines()[0]
    assert header == ",".join([*(name for name in HEADER if name != "name"), "sold_on"])


@pytest.mark.slow
def test_a_large_file_is_stopped_left_and_found_again(office: Page, tmp_path: Path) -> None:
    """On a phone, with as many rows as are allowed, so that its check is not over before the test is where it stops it."""

    def check(name: str, rows: int) -> None:
        file = tmp_path / name
        file.write_text("name,category\n" + "".join(f"Large {number},Rabbits\n" for number in range(rows)))
        office.goto(f"{IMPORTS}add/")
        expect(office.get_by_text("at most 25 MB and 500,000 rows")).to_be_visible()
        office.get_by_label("Drop a file here").set_input_files(file)

    def stop() -> None:
        office.get_by_role("button", name="Stop").click()
        expect(office.get_by_text("It was stopped. Nothing changed.")).to_be_visible(timeout=60_000)

    office.set_viewport_size({"width": 390, "height": 844})
    check("larger.csv", 500_000)
    stop()
    office.get_by_role("button", name="Check it again").click()
    expect(office.get_by_text("Nothing is saved until you confirm.")).to_be_visible()
    expect(office.locator("body")).to_have_js_property("scrollWidth", 390)
    office.locator(".page-head").get_by_role("link", name="Activity", exact=True).first.click()
    office.locator(".now").get_by_role("link", name="Open").click()
    stop()
    check("large.csv", 20_000)
    expect(office.get_by_role("heading", level=1)).to_have_text("Check large.csv", timeout=120_000)
    expect(office.locator("#plan tbody tr")).to_have_count(50)
    expect(office.get_by_text("Rows 1 to 50 of 5,000 that are shown")).to_be_visible()
    office.get_by_role("button", name="Import 20,000 rows").first.click()
    expect(office.get_by_role("heading", level=1)).to_contain_text(": 20,000 added", timeout=120_000)


def test_long_names_make_no_page_of_an_import_wider_than_a_phone(
    office: Page, server: Gunicorn, tmp_path: Path
) -> None:
    office.set_viewport_size({"width": 320, "height": 640})
    rows = [["", f"Wide {kind}", f"{kind * 30} and others", ""] for kind in "XYZ"]
    send(office, rows, name="wide.csv", add_categories=True)
    expect(office.get_by_text("Adds 3 categories:")).to_be_visible()
    assert office.evaluate("document.documentElement.scrollWidth") == 320
    file = tmp_path / "by-command.csv"
    file.write_text("name,category\nBy command,Rabbits\n")
    number = server.manage_json("import_pets", str(file))["import"]
    animal = int(server.shell("from pets.models import Pet; print(Pet.objects.latest('pk').pk)"))
    server.manage("undo_import", str(number), "--yes")
    for path in ("/admin/activity/", f"{PETS}{animal}/history/"):
        office.goto(path)
        expect(office.get_by_text("Undone by command undo_import").first).to_be_visible()
        assert office.evaluate("document.documentElement.scrollWidth") == 320


def page_that_asks(page: Page, word: str, price: str = "Price") -> str:
    """Send a supplier's sheet, which is not clear, and wait for the page that asks; return the name of the file."""
    text = f"{word}: delivery 47\nPrinted 20 Nov 2026\n\nNo.;Pet name;Kind;State;{price}\n"
    text += f"{word}1;Żółwik;Rabbits;;140,00\n{word}2;Śnieżka;Dogs;sold;9,50\n"
    page.goto(f"{IMPORTS}add/")
    file = {"name": f"{word}.csv", "mimeType": "text/csv", "buffer": text.encode("cp1250")}
    page.get_by_label("Drop a file here").set_input_files(file)  # type: ignore[arg-type]  # as playwright documents it
    page.wait_for_url("**/columns/")
    return f"{word}.csv"


def test_another_row_is_read_at_once(office: Page) -> None:
    page_that_asks(office, "Row")
    expect(office.get_by_role("button", name="Read the columns again")).to_be_hidden()
    row = office.get_by_role("radio", name="Row 5 has the column names")
    row.check()
    expect(office.get_by_text("The columns were read again.")).to_be_visible()
    expect(row).to_be_focused()
    row.press("ArrowUp")
    expect(office.get_by_role("radio", name="Row 4 has the column names")).to_be_focused()
    expect(office.get_by_text("The columns were read again.")).to_be_visible()
    expect(office.get_by_label("Pet name is")).to_have_value("name")
