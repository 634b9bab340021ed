"""Each page of the back office, full of hostile names, under axe: light and dark, on a tablet and on a phone."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from tests.e2e.test_files import PETS, page_that_asks, send, text_of
from tests.server import Gunicorn

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>' + "W" * 225,
    "\u202eevil",
    "\N{PAW PRINTS}" * 255,
]
"""Names that are more than text if a page lets them, or wider than it."""

LEFT = [
    "/admin/account/",
    "/admin/account/password/",
    "/admin/activity/?kind=deletion",
    "/admin/activity/team/",
    "/admin/request_desk/requestrecord/desk/?request_id=nobody-sent-this",
    "/admin/request_desk/requestrecord/desk/?request_id=axe",
    "/admin/auth/group/1/change/",
    "/admin/auth/group/add/?start=1",
    "/admin/nowhere/",
    f"/admin/search/?q={'W' * 100}",
]
WINDOWS: dict[int, Any] = {1440: None, 1024: "light", 820: None, 768: None, 390: "dark"}
"""Widths in which nothing may be wider → the colours in which axe looks there."""

EXCEPTIONS = [
    ".selector",  # Django's script names the labels of its two lists by aria-label, which a label must not have
]


LOOK = """async ([exclude, only]) => (await axe.run(
    {include: ['html'], exclude}, {preload: false, resultTypes: ['violations'], ...(only && {runOnly: only})}
)).violations"""
"""It may load no styles, and nobody reads what it found right."""

OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules to look by where nothing but the colours has changed since all rules were looked by."""

FURNISH = """
from django.contrib.auth.models import Group, User
from changes import additions, bulk
from pets.models import ImportRun, Pet
name = '"><img src=x onerror=alert(1)>' + 'W' * 120
Group.objects.create(name=name)
user = User.objects.create_user('W' * 150, first_name=name, last_name=name, is_staff=True)
ImportRun.objects.create(who=f'staff {name}', file_name=name, state='rejected', outcome=f'{name} is no table.', options={})
additions.gather()
for _ in range(2):
    Pet.objects.create(name=name, category_id=1)
bulk.delete(dict(Pet.history.order_by('-history_id').values_list('id', 'history_id')[:2]), user=user)
"""

KINDS = ["added", "deletion", "undo"]
"""Of changes that have a page which the first of all activity has not."""


def links(page: Page, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    return found


def pages_of_the_office(page: Page) -> Iterator[str]:
    """Open the first page, every list and form that it leads to, and the pages of the first row of each list."""
    yield from opened(page, "/admin/")
    models = links(page, ".side .nav-link[href^='/admin/']:not([href='/admin/'])")
    yield from opened(page, "/admin/password_change/", "/admin/activity/?kind=import")
    yield from opened(page, *links(page, ".imports tbody th a")[:1])
    for address in models:
        yield from opened(page, address)
        nothing = [f"{address}?q=zzzzzz"] * page.locator("main [name=q]").count()
        added, rows = links(page, "a.addlink"), links(page, "#result_list tbody tr:first-child th a")[:1]
        yield from opened(page, *added, *nothing)
        for row in rows:
            yield from opened(page, row)
            of_row = links(page, ".object-tools a:not([href$='/rejects/']), a.deletelink")
            yield from opened(
                page, *(each if each.startswith("/") else row.replace("change/", each) for each in of_row)
            )


def opened(page: Page, *addresses: str) -> Iterator[str]:
    for address in addresses:
        page.goto(address)
        yield address


def steps_of_a_suppliers_sheet(page: Page, word: str) -> Iterator[str]:
    """Send a file whose columns are not clear, and let them be remembered; yield the name of each page."""
    delivery = page_that_asks(page, word)
    expect(page.get_by_role("heading", name=f"Match the columns of {delivery}")).to_be_visible()
    yield "which columns"
    page.get_by_role("button", name="Check the rows").click()
    expect(page.locator("#plan")).to_be_visible()
    page_that_asks(page, word, price="Net price")
    yield "a known supplier's new column"
    page.goto("/admin/pets/importrun/add/")
    page.get_by_role("button", name=f"Forget {word}").scroll_into_view_if_needed()
    yield "remembered columns"
    page.get_by_role("button", name=f"Forget {word}").click()
    expect(page.get_by_text(f"Columns of “{word}” forgotten.")).to_be_visible()


def steps_of_a_file(page: Page, word: str) -> Iterator[str]:
    """Send a file with values that are not ours, leave out their rows, and check the others."""
    send(
        page,
        [
            *([f"{word}-{number}", name, name, ""] for number, name in enumerate(HOSTILE)),
            [word, word, "Nobody's", "lost"],
            ["", "ZoÃ«", HOSTILE[0], ""],
            ["", "", HOSTILE[0], ""],
        ],
        name="axe.csv",
    )
    yield "which values"
    for foreign in ("Nobody's", "lost"):
        page.get_by_label(f"{foreign} becomes").select_option(label="Leave these rows out")
    page.get_by_role("button", name="Check the rows").click()
    expect(page.locator("#plan")).to_be_visible()
    yield "what a file would do"


def pages_of_the_change(page: Page, word: str) -> Iterator[str]:
    """Open the newest bulk change and what undoing it would do, the activity of an animal, and what a merge would do."""
    page.goto("/admin/activity/?kind=bulk+change")
    page.locator(".list .rows p a").first.click()
    page.wait_for_url("**/activity/*/")
    yield "a bulk change"
    page.get_by_role("link", name="Undo…").click()
    page.wait_for_url("**/undo/")
    yield "what an undo would do"
    page.goto(f"/admin/activity/?q={word}-1&day_from=2020-01-01")
    expect(page.locator(".list .rows li").first).to_be_visible()
    yield "the activity of an animal"
    page.goto("/admin/categories/category/merge/")
    page.get_by_label("Keep").select_option(index=1)
    page.get_by_label("Merge into it").select_option(index=2)
    page.get_by_role("button", name="Show preview").click()
    expect(page.get_by_role("link", name="Keep the other one")).to_be_visible()
    yield "what a merge would do"


def pages_of_changes(page: Page) -> Iterator[str]:
    """Open the pages of the newest change of these kinds, and of its undo, if it has one."""
    for kind in KINDS:
        page.goto(f"/admin/activity/?kind={kind}")
        page.locator(".list .rows p a").first.click()
        page.wait_for_url("**/activity/*/")
        yield page.url
        yield from opened(page, *links(page, "a[href$='/undo/']")[:1])


def pages_behind_forms(page: Page, word: str) -> Iterator[str]:
    """Do what leads to pages without an address of their own, to all of which `word` is new; yield the name of each."""
    yield from steps_of_a_suppliers_sheet(page, word)
    page.goto("/admin/pets/importrun/add/")
    page.get_by_role("button", name="Check the file").click()
    expect(page.locator(".errorlist")).to_be_visible()
    yield "a missing file"
    yield from steps_of_a_file(page, word)
    page.get_by_label("Import this name as it is in the file").check()
    page.get_by_role("button", name="Import 5 rows").click()
    page.locator("#file summary").click()
    record = page.url
    yield "an import"
    page.goto(f"{PETS}?q={word}-")
    page.locator("#action-toggle").check()
    page.locator("button[value=become_category]").click()
    expect(page.get_by_label("Move to category", exact=True)).to_be_visible()
    yield "which category"
    page.get_by_label("Move to category", exact=True).select_option(label="Dogs")
    page.get_by_role("button", name="Show what will change").click()
    expect(page.locator("#bulk-animals tbody tr")).to_have_count(4)
    yield "what a bulk change would do"
    page.get_by_role("button", name="Move 4 animals to Dogs").click()
    expect(page.locator(".messagelist")).to_contain_text("Moved 4 animals to Dogs.")
    yield "a list after a bulk change"
    undo_bulk_change = page.locator(".messagelist").get_by_role("link", name="Undo…").get_attribute("href") or ""
    yield from pages_of_the_change(page, word)
    page.goto(record)
    page.get_by_role("link", name="Undo…").click()
    page.wait_for_url("**/undo/")
    expect(page.locator("section:has(#stay) tbody tr")).to_have_count(4)  # as they were changed since
    yield "the undoing of an import"
    page.goto(undo_bulk_change)
    yield "the undoing of a bulk change"
    page.get_by_role("button", name="Undo: set back 4 animals").click()
    expect(page.locator(".messagelist")).to_contain_text("Undid “moved 4 animals to Dogs”.")
    page.goto(record)
    page.get_by_role("link", name="Undo…").click()
    page.get_by_role("button", name="Undo: delete 5 animals").click()
    expect(page.locator(".messagelist")).to_contain_text("Undid “imported axe.csv: 5 added”.")
    yield "an import undone"
    page.goto(record)
    yield "an import that was undone"
    yield from pages_of_forms(page, word)


def pages_of_forms(page: Page, word: str) -> Iterator[str]:
    """Send a form with mistakes, and one that issues a key."""
    page.goto(f"{PETS}add/")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".errornote")).to_be_visible()
    yield "a form with mistakes"
    page.goto("/admin/apikeys/apikey/add/")
    page.get_by_label("Program or partner").fill(word)
    page.get_by_role("button", name="Issue key").click()
    expect(page.locator("#issued-key")).to_be_visible()
    yield "an issued key"


def faults(page: Page, name: str) -> list[str]:
    """Return what is wrong with the page that is open, in each window: styles alone follow the width and the colours."""
    page.wait_for_load_state()  # what led here may have waited for a part of the page only
    page.evaluate(AXE_SCRIPT)  # a script tag would be stopped by the policy
    found = []
    for width, colours in WINDOWS.items():
        page.set_viewport_size({"width": width, "height": 844})
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [f"{name}: {wide} pixels too wide at {width}"] * (wide > 0)
        if colours:
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            found += faults_in_window(page, f"{name}, {colours}")
    return found


def faults_in_window(page: Page, name: str) -> list[str]:
    """Return a line each for what axe finds, for a wrong place, and for a name that became more than text."""
    violations: list[Any] = page.evaluate(LOOK, [EXCEPTIONS, None])
    low, made = page.evaluate(
        "[document.body.getBoundingClientRect().top + scrollY, document.querySelectorAll('img[src=x]').length]"
    )
    return [
        f"{name}: {violation['id']} {node['target']} {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ] + [*[f"{name}: {low} pixels too low"] * (low > 0), *[f"{name}: a name became an image"] * made]


@pytest.fixture(scope="package")
def _something_to_show(server: Gunicorn, tmp_path_factory: pytest.TempPathFactory) -> None:
    hostile = tmp_path_factory.mktemp("import") / f"{HOSTILE[1][:200]}.csv"
    hostile.write_text(text_of([[f"{'W' * 99}{at}", name, name, "sold"] for at, name in enumerate(HOSTILE)]))
    plain = hostile.with_name("plain.csv")
    plain.write_text("name,category\nAxe,Seen by axe\n")
    for file in (hostile, plain):
        server.manage("import_pets", str(file), "--create-categories")
    for name in (*HOSTILE[:3], "Seen by axe"):
        key = server.issue_key(name[:100], "--expires-in", "3d")
        assert [server.get(f"/v1/pets/{pet}", key).status for pet in (1, 0)] == [200, 404]
    for category in (1, 1, 0, 0):  # two are added, two are rejected; all are found by one ID
        server.post("/v1/pets", key, {"name": HOSTILE[1], "categoryId": category}, X_Request_ID="axe")
    server.shell(FURNISH)


@pytest.mark.usefixtures("_something_to_show")
def test_axe_finds_nothing(office: Page, complaints: list[str]) -> None:
    walks = (
        pages_behind_forms(office, "axe390"),
        pages_of_the_office(office),
        pages_of_changes(office),
        opened(office, *LEFT),
    )
    found: dict[str, list[str]] = {}
    for name in chain.from_iterable(walks):
        found[name] = found[name] if name in found else faults(office, name)
    assert len(found) > 60
    assert "\n".join(chain.from_iterable(found.values())) == ""
    expected = ("404", "400")  # of the page that is not there, and of the form without a file
    complaints[:] = [complaint for complaint in complaints if not any(status in complaint for status in expected)]
