"""Each page of the back office under axe, light and dark, at the size of a tablet."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.server import Gunicorn

GRAVE = {"serious", "critical"}
PUBLIC = ["/", "/docs/", "/admin/login/", "/admin/nowhere/"]
EXCEPTIONS = [
    "#swagger-ui",  # Swagger UI's own markup
    ".selector",  # Django's script names the labels of its two lists by aria-label, which a label may not have
]


def links(page: Page, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    return found


def pages_of_the_office(page: Page) -> Iterator[str]:
    """Yield the first page, every list and form that it leads to, and the pages of the first row of each list."""
    page.goto("/admin/")
    yield "/admin/"
    yield "/admin/password_change/"
    models = links(page, "#content-main th a[href]")
    yield from links(page, "#content-main caption a.section")
    yield from links(page, "#content-main a.addlink")
    for address in models:
        yield address
        yield f"{address}?q=zzzzzz"
        page.goto(address)
        for row in links(page, "#result_list tbody tr:first-child th a")[:1]:
            yield row
            page.goto(row)
            yield from (
                link if link.startswith("/") else row.replace("change/", link)
                for link in links(page, ".object-tools a, a.deletelink")
            )


def grave(page: Page, address: str) -> list[str]:
    """Return what axe finds on the page, in a line each."""
    page.goto(address)
    page.evaluate(AXE_SCRIPT)  # a script tag would be stopped by the policy
    found: dict[str, Any] = page.evaluate(
        "exclude => axe.run({include: ['html'], exclude}, {preload: false})",  # nor may it load styles
        EXCEPTIONS,
    )
    return [
        f"{address}: {violation['id']} {node['target']} {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]


@pytest.fixture(scope="package")
def _something_to_show(server: Gunicorn, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("import") / "accessible.csv"
    file.write_text("name,category\nAxe,Seen by axe\n")
    server.manage("import_pets", str(file), "--create-categories")
    key = server.manage_json("issue_api_key", "Seen by axe", "--expires-in", "3d")["key"]
    assert server.get("/v1/pets/1", key).status == 200


@pytest.mark.usefixtures("_something_to_show")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_grave(office: Page, complaints: list[str], colours: Any) -> None:
    office.emulate_media(color_scheme=colours)
    office.set_viewport_size({"width": 1024, "height": 768})
    addresses = list(dict.fromkeys([*pages_of_the_office(office), *PUBLIC]))
    assert len(addresses) > 25
    assert "\n".join(line for address in addresses for line in grave(office, address)) == ""
    complaints[:] = [complaint for complaint in complaints if "404" not in complaint]  # of the page that is not there
