"""What the pages of the back office weigh on the wire."""

import gzip
import re

from playwright.sync_api import Page, Response

from tests.e2e.test_animals import PETS

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
