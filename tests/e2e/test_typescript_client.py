"""The TypeScript client in a browser, on a page of another origin."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from clients.build import build_typescript
from clients.tools import node_tools, run
from tests.clients.conftest import or_skip, package
from tests.server import Gunicorn, running_server

PAGE = """<!doctype html><script type="importmap">{"imports":
{"petstore-client": "./petstore-client/dist/index.js", "openapi-fetch": "./openapi-fetch/dist/index.mjs"}}</script>"""

CALL = """async ([options, body]) => {
    const { PetStore, PetStoreError } = await import("petstore-client");
    const seen = [];
    const onResponse = ({ status, requestId }) => seen.push([status, requestId !== null]);
    try {
        const store = new PetStore({ ...options, onResponse });
        return { result: await new Function("store", "seen", `return (async () => { ${body} })()`)(store, seen), seen };
    } catch (error) {
        const { name, code, status, message } = error;
        return error instanceof PetStoreError ? { error: [code, status, message] } : { thrown: [name, message], seen };
    }
}"""


class Shop(SimpleHTTPRequestHandler):
    """A shop's own server: its pages, and an address of the API that has moved."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def do_GET(self) -> None:
        if not self.path.startswith("/moved/"):
            super().do_GET()
            return
        self.send_response(307)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    do_POST = do_GET  # noqa: N815 (http.server's name)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Shop, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page that can import the client as it is packed."""
    folder, pages = tmp_path_factory.mktemp("packed"), tmp_path_factory.mktemp("pages")
    with or_skip():
        modules = node_tools()
    run("tar", "-xzf", package(tmp_path_factory, build_typescript, modules), cwd=folder)
    (folder / "package").rename(pages / "petstore-client")
    (pages / "openapi-fetch").symlink_to(modules / "openapi-fetch")
    (pages / "index.html").write_text(PAGE)
    with serving(pages) as address:
        yield address


@pytest.fixture(scope="module")
def api(shop: str) -> Iterator[Gunicorn]:
    """A service that lets the pages of the shop call it."""
    with running_server(workers=1, CORS_ALLOWED_ORIGINS=shop) as server:
        server.command("load_demo_data")
        yield server


@pytest.fixture
def tab(browser: Browser, shop: str) -> Iterator[Page]:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(shop)
        yield page


def call(tab: Page, body: str, **options: Any) -> Any:
    """Run the body of a function with a `store` and what it has `seen`, and return its result or its error."""
    return tab.evaluate(CALL, [options, body])


def given(api: Gunicorn) -> dict[str, str]:
    return {"baseUrl": f"{api.url}/v1", "key": api.issue_key()}


ALL = "const ids = []; for await (const pet of store.pets({ pageSize: 100 })) ids.push(pet.id); return ids;"
ADD = 'return store.addPet({ name: "Maple", categoryId: 1 }, { idempotencyKey: "once" });'
FOLLOW = """
const pages = [];
for await (const page of store.changes({ maxPause: 50 })) {
    if (pages.length === 0) await store.addPet({ name: "Juniper", categoryId: 1 });
    if (pages.push(page.changes.map(({ change, pet }) => [change, pet.name])) === 3) return pages;
}
"""
STOP = """
const control = new AbortController();
const pages = [];
setInterval(() => seen.some(([status]) => status === 304) && control.abort(), 20);
for await (const page of store.changes({ signal: control.signal, maxPause: 50 })) pages.push(page);
"""


def test_every_page_of_the_list(tab: Page, api: Gunicorn) -> None:
    count = api.shell("from pets.models import Pet; print(Pet.objects.count())")
    returned = call(tab, ALL, **given(api))
    assert returned["result"] == sorted(set(returned["result"]), reverse=True)
    assert len(returned["result"]) == int(count)
    assert returned["seen"] == [[200, True]] * (int(count) // 100 + 1)


def test_the_feed_of_changes(tab: Page, api: Gunicorn) -> None:
    assert call(tab, FOLLOW, **given(api))["result"] == [[], [["saved", "Juniper"]], []]


@pytest.mark.parametrize("body", ["return store.category(1);", ADD])
def test_a_redirect_of_which_a_browser_shows_nothing(tab: Page, shop: str, body: str) -> None:
    returned = call(tab, body, baseUrl=f"{shop}/moved/v1", key="k")
    message = "The address redirects to another one. Check the base URL."
    assert returned == {"error": ["unexpected_response", 0, message]}


def test_a_signal_ends_the_wait_for_changes(tab: Page, api: Gunicorn) -> None:
    stopped = call(tab, STOP, **given(api))
    assert stopped["thrown"][0] == "AbortError"
    assert [304, True] in stopped["seen"]


def test_a_browser_has_no_environment(tab: Page) -> None:
    name, message = call(tab, "", key="k")["thrown"]
    assert name == "TypeError"
    assert message.startswith("baseUrl must be an address")
