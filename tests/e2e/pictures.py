"""Take the pictures of the back office and of the portal's reference, of a fresh store: `make screenshots`.

    python -m tests.e2e.pictures [FOLDER] [--only NAME] [--widths 1024,820]

The animals, the work done on them, and the order of the pictures are always the same. Times, keys and IDs are not.
"""

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.conftest import BROWSERS, PASSWORD, STAFF, sign_in, sign_out
from tests.e2e.test_files import IMPORTS, PETS, send
from tests.server import ROOT, Gunicorn, running_server

KEYS = "/admin/apikeys/apikey/"
DESK = "/admin/request_desk/requestrecord/"
LOST = "3f9a1c52e8b74d06a1e5c0d9b2f47a83"
ADDED = "c5da4ddbc01b4e7d87378132bd5b7a15"
"""The X-Request-IDs of the requests that the desk shows: one was rejected, one added an animal."""

DARK = {"overview", "animals", "animal", "animal-history", "key", "request", "sign-in"}
HEIGHTS = {1440: 900, 1024: 768, 820: 1180, 768: 1024, 390: 844}

LAST_WEEKS = """
from datetime import timedelta
from django.utils import timezone
from pets.models import Pet
from petstore_site.apikeys.models import APIKey, KeyUsage
now = timezone.now()
APIKey.objects.filter(replaced_by=None).update(created_at=now - timedelta(days=8))
for pet in Pet.objects.order_by("id"):
    Pet.objects.filter(pk=pet.pk).update(created_at=now - timedelta(days=(pet.pk * pet.pk) % 59, minutes=pet.pk))
    Pet.history.filter(id=pet.pk).update(history_date=now - timedelta(days=(pet.pk * pet.pk) % 59, minutes=pet.pk))
for pet in Pet.objects.filter(status="sold"):
    Pet.objects.filter(pk=pet.pk).update(sold_on=now - timedelta(days=(pet.pk * 7) % 29))
for number, key in enumerate(APIKey.objects.order_by("pk")):
    KeyUsage.objects.bulk_create(
        KeyUsage(key=key, day=(now - timedelta(days=back)).date(), route=route, status_class=status, count=count)
        for back in range(1, 30)
        for route, status, count in [
            ("pet-list", 2, 90 * (5 - number) + back * 37 % 60 + (29 - back) * 4),
            ("pet-detail", 2, 1 + back * 11 % 25),
            ("pet-list POST", 2, 1 + back * 5 % 9),
            ("pet-list POST", 4, 1 + back * 3 % 4),
        ]
    )
"""
"""What happened in the weeks before: a service that was just started has no past."""


class Keys(NamedTuple):
    shop: str
    partner: str
    old: str
    new: str


def furnish(server: Gunicorn) -> Keys:
    """Give the store animals, staff, callers and a past."""
    server.command("load_demo_data")
    who = ("--username", STAFF, "--email", "keeper@petstore.example")
    server.manage("createsuperuser", "--noinput", *who, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    server.manage("create_admin", "tomasz", "--password-only")
    shop = server.issue_key("Web shop")
    partner = server.issue_key("Partner shop Málaga", "--expires-in", "3d")
    old = server.issue_key("Till in Lyon")
    new = server.manage("rotate_api_key", old[10:18], "--grace", "9d", "--secret-only").strip()
    server.shell(LAST_WEEKS)
    server.manage("recount_stock")
    return Keys(shop, partner, old, new)


def call(server: Gunicorn, keys: Keys) -> None:
    """Send what callers send: animals, a wrong one, and reads by both keys of a rotation."""
    for name, status in (("Señor Bigotes", "available"), ("Мурка", "available"), ("Żółwik", "pending")):
        request_id = {"X_Request_ID": ADDED} if name == "Мурка" else {}
        server.post("/v1/pets", keys.partner, {"name": name, "categoryId": 3, "status": status}, **request_id)
    for request_id in ({}, {}, {"X_Request_ID": LOST}, {}):
        server.post("/v1/pets", keys.shop, {"name": "Rex", "categoryId": 999}, **request_id)
    for key in (keys.old, keys.new, keys.shop, keys.partner) * 3:
        server.get("/v1/pets?limit=3", key)
        server.get("/v1/pets/1", key)
    time.sleep(12)  # the use of keys and the requests are saved every ten seconds


FILE = [
    ["FRIDAY-10", "Maple", "Rabbits", "pending"],
    ["FRIDAY-11", "Clover", "Rabbits", ""],
    ["FRIDAY-12", "", "Rabbits", "available"],
    ["FRIDAY-14", "Pepper", "Rabbits", "available"],
    ["FRIDAY-11", "Jalapeño", "Rabbits", "sold"],
]


def select(page: Page, needle: str, action: str = "") -> None:
    page.goto(f"{PETS}?q={needle}")
    page.locator("#action-toggle").check()
    if action:
        page.locator(f"button[value={action}]").click()


def work(page: Page) -> None:
    """Do a morning's work, so that every page has something to show."""
    send(page, [["FRIDAY-10", "Maple", "Rabbits", "available"]], name="thursday.csv")
    page.get_by_role("button", name="Import 1 row").first.click()
    page.wait_for_url("**/activity/*/")
    early = [["FRIDAY-10", "Maple", "Rabbits", "sold"], FILE[1]]
    send(page, early, name="friday morning.csv")
    page.get_by_role("button", name="Import 2 rows").first.click()
    page.wait_for_url("**/activity/*/")
    select(page, "be", "become_pending")
    page.get_by_role("button", name=re.compile("Change .+ animals")).click()
    page.locator(".messagelist").wait_for()
    for name, status in (("Señor Bigotes", "pending"), ("Señor Bigotes", "available"), ("Мурка", "sold")):
        page.goto(f"{PETS}?q={name}")
        page.locator("#result_list tbody th a").first.click()
        page.get_by_role("button", name=f"Mark {status}").click()
        page.locator(".messagelist").wait_for()
    page.goto(f"{PETS}?q=Żółwik")
    page.locator("#result_list tbody th a").first.click()
    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.goto(f"{PETS}?status__exact=pending&category__id__exact=3")
    page.locator("summary", has_text="Views").click()
    page.get_by_label("Save this view as").fill("Pending cats")
    page.get_by_role("button", name="Save view").click()
    page.locator(".messagelist").wait_for()


def at(address: str) -> Callable[[Page], None]:
    def go(page: Page) -> None:
        page.goto(address)

    return go


def first_of(address: str, *links: str) -> Callable[[Page], None]:
    """Return what opens the first row of a list, and then each of the links."""

    def go(page: Page) -> None:
        page.goto(address)
        page.locator("#result_list tbody th a").first.click()
        for link in links:
            page.get_by_role("link", name=link, exact=True).first.click()

    return go


def _filters(page: Page) -> None:
    page.goto(f"{PETS}?status__exact=pending&category__id__exact=3")
    page.get_by_text("More filters").click()


def _status(page: Page) -> None:
    page.goto(PETS)
    page.locator("#result_list .field-status summary").first.click()


def _conflict(page: Page) -> None:
    first_of(f"{PETS}?q=Bigotes")(page)
    second = page.context.new_page()
    second.goto(page.url)
    second.get_by_role("button", name=re.compile("^Mark (sold|available)$")).click()
    second.locator(".messagelist").wait_for()
    second.close()
    page.get_by_label("Name").fill("Señor Bigotes II")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").wait_for()


def _mistakes(page: Page) -> None:
    page.goto(f"{PETS}add/")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".errornote").wait_for()


def _preview(page: Page) -> None:
    send(page, FILE, name="friday.csv")


def _key(page: Page) -> None:
    page.goto(f"{KEYS}?q=Lyon")
    page.locator("#result_list tbody th a").last.click()


def _issued(page: Page) -> None:
    page.goto(f"{KEYS}add/")
    page.get_by_label("Program or partner").fill("Price comparison")
    page.get_by_role("button", name="Issue key").click()
    page.locator("#issued-key").wait_for()


def _drawer(page: Page) -> None:
    page.goto(PETS)
    if (menu := page.get_by_label("Menu", exact=True)).is_visible():
        menu.click()
        page.wait_for_timeout(400)


def _reference(page: Page, key: str = "") -> None:
    page.goto("/docs/#listPets")
    operation = page.locator("#listPets")
    operation.locator("details.try").evaluate("form => { form.open = true }")
    operation.get_by_label("API key").fill(key)
    operation.get_by_label("status").select_option("available")
    operation.get_by_label("limit").fill("3")
    operation.get_by_role("button", name="Send request").click()
    operation.locator(".try-status").wait_for()
    operation.locator(".try-url").evaluate("line => scrollTo(0, line.getBoundingClientRect().top + scrollY - 380)")


def _sign_in(page: Page) -> None:
    page.goto("/admin/")
    if page.get_by_text("your account").count():
        sign_out(page)
        page.goto("/admin/")


def _reset(page: Page) -> None:
    page.goto("/admin/auth/user/?q=tomasz")
    page.locator("#result_list tbody th a").first.click()
    page.get_by_role("link", name="Reset password").click()


def _import(page: Page, then: str = "") -> None:
    page.goto("/admin/activity/?kind=import&q=morning")
    page.locator(".imports tbody th a").first.click()
    if then:
        page.get_by_role("link", name=then).first.click()


def _change(page: Page, then: str = "") -> None:
    page.goto("/admin/activity/?kind=bulk+change")
    page.locator(".list .rows p a", has_text=" animals ").first.click()
    if then:
        page.get_by_role("link", name=then).click()


PAGES: dict[str, Callable[[Page], None]] = {
    "overview": at("/admin/"),
    "search": at("/admin/search/?q=Ma"),
    "animals": at(PETS),
    "animals-filters": _filters,
    "animals-status": _status,
    "animals-selected": lambda page: select(page, "be"),
    "animals-none": at(f"{PETS}?q=zzzz"),
    "animal": first_of(f"{PETS}?q=Bigotes"),
    "animal-conflict": _conflict,
    "animal-mistakes": _mistakes,
    "animal-history": first_of(f"{PETS}?q=Bigotes", "History"),
    "animal-delete": first_of(f"{PETS}?q=Bigotes", "Delete"),
    "bulk-preview": lambda page: select(page, "ma", "become_sold"),
    "bulk-category": lambda page: select(page, "ma", "become_category"),
    "activity": at("/admin/activity/"),
    "change": _change,
    "undo-preview": partial(_change, then="Undo…"),
    "imports": at("/admin/activity/?kind=import"),
    "import-upload": at(f"{IMPORTS}add/"),
    "import-preview": _preview,
    "import": _import,
    "import-undo": partial(_import, then="Undo…"),
    "categories": at("/admin/categories/category/"),
    "category": first_of("/admin/categories/category/"),
    "category-merge": at("/admin/categories/category/merge/?keep=1&merge=2"),
    "keys": at(KEYS),
    "key": _key,
    "key-issued": _issued,
    "key-rotate": first_of(f"{KEYS}?q=Web", "Rotate"),
    "key-revoke": first_of(f"{KEYS}?q=Web", "Revoke…"),
    "requests": at(DESK),
    "request": at(f"{DESK}desk/?request_id={LOST}"),
    "request-added": at(f"{DESK}desk/?request_id={ADDED}"),
    "request-missing": at(f"{DESK}desk/?request_id=nobody-sent-this"),
    "usage": at("/admin/apikeys/keyusage/"),
    "staff": at("/admin/auth/user/"),
    "staff-member": first_of("/admin/auth/user/?q=tomasz"),
    "staff-reset": _reset,
    "roles": at("/admin/auth/group/"),
    "role": at("/admin/auth/group/1/change/"),
    "role-add": at("/admin/auth/group/add/?start=1"),
    "your-sign-in": at("/admin/account/"),
    "password": at("/admin/account/password/"),
    "navigation": _drawer,
    "error-404": at("/admin/nowhere/"),
    "reference": _reference,
    "sign-in": _sign_in,
}
"""What opens each page. The last one signs out."""


def take(page: Page, file: Path) -> None:
    page.evaluate("document.fonts.ready")
    page.screenshot(path=file, animations="disabled", caret="hide")


def looks(name: str, widths: list[int]) -> Iterator[tuple[int, Any, str]]:
    """Yield the width and colours of each picture of a page, and what its file is called."""
    for width in widths:
        short = {1440: name, 390: f"{name}-phone"}.get(width, f"{name}-{width}")
        yield width, "light", f"{short}.png"
        if name in DARK:
            yield width, "dark", f"{short}-dark.png"


def take_all(browser: Browser, server: Gunicorn, folder: Path, *, names: list[str], widths: list[int]) -> None:
    """Furnish the store, work in it, and take the pictures of these pages."""
    keys = furnish(server)
    call(server, keys)
    pages = PAGES | {"reference": partial(_reference, key=keys.shop)}
    options: dict[str, Any] = {"base_url": server.url, "locale": "en-GB", "timezone_id": "UTC"}
    page = browser.new_context(**options, viewport={"width": 1440, "height": 900}).new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    sign_in(page)
    work(page)
    for name in (name for name in pages if name in names):
        for width, colours, file in looks(name, widths):
            page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
            page.emulate_media(color_scheme=colours)
            pages[name](page)
            page.wait_for_load_state("networkidle")
            assert not page.get_by_role("heading", name="Something went wrong", level=1).count(), name
            take(page, folder / file)


def main() -> None:
    """Start a service and a browser, take the pictures, and say where they are."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.pictures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "var" / "screenshots")
    parser.add_argument("--only", action="append", choices=PAGES, help="Take this page. Can be repeated.")
    parser.add_argument("--widths", default="1440,390", help="Set the widths of the window.")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)))
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright, running_server() as server:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        widths = [int(width) for width in given.widths.split(",")]
        take_all(browser, server, given.folder, names=given.only or [*PAGES], widths=widths)
    sys.stdout.write(f"{len([*given.folder.glob('*.png')])} pictures in {given.folder}\n")


if __name__ == "__main__":
    main()
