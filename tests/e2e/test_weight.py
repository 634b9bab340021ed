"""What the pages of the back office weigh on the wire, and that nothing in them makes them wider than the window."""

import gzip
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Response, expect

from tests.e2e.test_animals import PETS
from tests.e2e.test_request_desk import wait_until_saved
from tests.server import ROOT, Gunicorn

STYLES = ROOT / "petstore_site" / "static" / "petstore" / "back-office.css"
FIRST, LATER = 150_000, 20_000
"""Bytes of the first page of a visit with all it loads, and of each list after it, but for letters of other scripts."""

OTHER_SCRIPTS = re.compile(r"inter-(latin-ext|greek|cyrillic)")
"""Fonts that a browser loads once, when it meets a name that needs them."""

LISTS = [
    PETS,
    "/admin/activity/?kind=import",
    "/admin/apikeys/apikey/",
    "/admin/request_desk/requestrecord/",
    "/admin/search/",
]


WINDOWS = [(1440, 900), (1024, 768), (820, 1180), (768, 1024), (390, 844)]


def weight_of(page: Page, address: str) -> int:
    """Return the bytes that a page loads; what the browser has weighs nothing.

    The service compresses pages. Styles and scripts it compresses only where they are collected, so they are compressed here.
    """
    seen: list[Response] = []

    def note(response: Response) -> None:
        seen.append(response)

    page.on("response", note)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", note)
    sizes = {each.url: each.request.sizes()["responseBodySize"] for each in seen if each.status == 200}
    loaded = {url: size for url, size in sizes.items() if size > 0}  # less than none: from the browser's own cache
    return sum(_compressed(page, url, size) for url, size in loaded.items() if not OTHER_SCRIPTS.search(url))


def _compressed(page: Page, url: str, size: int) -> int:
    is_text = url.partition("?")[0].endswith((".css", ".js", ".svg"))
    return min(size, len(gzip.compress(page.request.get(url).body()))) if is_text else size


def test_pages_are_light(office: Page) -> None:
    assert weight_of(office, "/admin/") <= FIRST
    weights = {address: weight_of(office, address) for address in LISTS}
    assert {address: weight for address, weight in weights.items() if weight > LATER} == {}


def test_the_styles_are_one_short_file() -> None:
    assert len(STYLES.read_text().splitlines()) < 1_000


NO_TABLE = """
from pets.models import ImportRun
ImportRun.objects.create(
    who="staff anna", file_name="{name}", state="rejected", outcome="The file {name} is no table.", options={{}}
)
"""


def test_a_name_of_255_characters_makes_no_page_wider(office: Page, server: Gunicorn, tmp_path: Path) -> None:
    """Styles alone make a page narrow, so each is loaded once."""
    name = "W" * 255
    file = tmp_path / "long.csv"
    file.write_text(f"name,category,external_reference\n{name},{name},{name[:100]}\n")
    run = server.manage_json("import_pets", str(file), "--create-categories")
    server.manage("shell", "--verbosity=0", "--command", NO_TABLE.format(name=name))
    key = server.issue_key(name[:100])
    pet = server.get("/v1/pets?limit=1", key).json()[0]
    rejected = server.get("/v1/categories/0", key)
    wait_until_saved(server, rejected.headers["X-Request-ID"])
    wide: dict[tuple[str, int], Any] = {}
    for address in (
        "/docs/",
        "/admin/",
        PETS,
        f"{PETS}add/",
        f"{PETS}{pet['id']}/change/",
        f"{PETS}{pet['id']}/history/",
        f"{PETS}{pet['id']}/delete/",
        "/admin/activity/?kind=import",
        "/admin/pets/importrun/add/",
        f"/admin/activity/i{run['import']}/",
        "/admin/activity/",
        "/admin/categories/category/",
        f"/admin/categories/category/{pet['categoryId']}/change/",
        f"/admin/categories/category/{pet['categoryId']}/delete/",
        "/admin/apikeys/apikey/",
        "/admin/apikeys/apikey/add/",
        "/admin/apikeys/keyusage/",
        "/admin/request_desk/requestrecord/",
        "/admin/auth/user/1/change/",
        "/admin/auth/group/add/",
        "/admin/account/",
        f"/admin/search/?q={name[:100]}",
    ):
        office.goto(address)
        expect(office.get_by_role("heading", level=1)).to_be_visible()
        for width, height in WINDOWS:
            office.set_viewport_size({"width": width, "height": height})
            if (beyond := office.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
                wide[address, width] = beyond
    assert wide == {}
    for width, height in WINDOWS:
        office.set_viewport_size({"width": width, "height": height})
        office.goto(f"{PETS}{pet['id']}/change/")
        expect(office.get_by_role("button", name="Mark sold")).to_be_in_viewport()
