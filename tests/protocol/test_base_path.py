"""A service that lives under a path, behind a proxy that removes all of the path, a part of it, or nothing."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.protocol.nginx import Nginx, running_nginx
from tests.server import Answer, Gunicorn, bearer, free_port, patiently, running_server, send

BASE = "/shop/animals"
HOST = "petstore.example"
PROXIES = """
    server {{
        listen 127.0.0.1:{port};
        location {base}/ {{
            proxy_pass http://127.0.0.1:{upstream}{left};
            proxy_set_header Host {host};
            proxy_set_header X-Forwarded-Proto https;
        }}
    }}
"""
"""What someone else's proxy has: `left` is what it puts in the place of the path."""

LEFT = {"everything": "/", "a part": "/animals/", "nothing": ""}
"""What the proxy removes → `left`."""


in_both = pytest.mark.parametrize("more", [{}, {"Origin": "https://shop.example"}], ids=["loop", "thread"])
"""Headers of requests under /v1 that are served in the event loop, and in a thread: the one of a web page."""


@pytest.fixture(scope="module")
def server() -> Iterator[Gunicorn]:
    variables: dict[str, Any] = {
        "PRODUCTION_URL": f"https://{HOST}{BASE}/v1",
        "ALLOWED_HOSTS": f"127.0.0.1,{HOST}",
        "BEHIND_TLS_PROXY": "true",
        "CORS_ALLOWED_ORIGINS": "https://shop.example",
    }
    with running_server(workers=1, **variables) as server:
        server.command("load_demo_data")
        yield server


@pytest.fixture(scope="module")
def key(server: Gunicorn) -> str:
    return server.issue_key()


class Proxies:
    """The shipped nginx, and the ports of proxies by what they remove."""

    def __init__(self, nginx: Nginx, ports: dict[str, int]) -> None:
        self.nginx = nginx
        self.ports = ports


@pytest.fixture(scope="module")
def proxies(server: Gunicorn) -> Iterator[Proxies]:
    ports = {removed: free_port() for removed in LEFT}
    texts = [
        PROXIES.format(port=ports[removed], base=BASE, upstream=server.port, left=left, host=HOST)
        for removed, left in LEFT.items()
    ]
    with running_nginx(server.port, base=BASE, more="".join(texts)) as nginx:
        yield Proxies(nginx, ports | {"shipped": nginx.plain})


@pytest.fixture(params=[*LEFT, "shipped"])
def port(request: pytest.FixtureRequest, proxies: Proxies) -> int:
    return proxies.ports[request.param]


def origin(port: int, proxies: Proxies) -> str:
    """Return the scheme and host that the service sees."""
    return f"http://127.0.0.1:{port}" if port == proxies.nginx.plain else f"https://{HOST}"


def get(port: int, path: str, key: str = "", **headers: str) -> Answer:
    return patiently(lambda: send(port, "GET", path, headers=(bearer(key) if key else {}) | headers))


@in_both
def test_links_and_locations_have_the_path(port: int, proxies: Proxies, key: str, more: dict[str, str]) -> None:
    v1 = f"{origin(port, proxies)}{BASE}/v1"
    listed = get(port, f"{BASE}/v1/pets?limit=2&status=sold", key, **more)
    link = re.fullmatch(
        rf'<{re.escape(v1)}/pets(\?limit=2&status=sold&cursor=\S+)>; rel="next"', listed.headers["Link"]
    )
    assert link, listed.headers["Link"]
    assert get(port, f"{BASE}/v1/pets{link[1]}", key, **more).json()[0]["id"] < listed.json()[-1]["id"]

    body = b'{"name": "Maple", "categoryId": 1}'
    sent = bearer(key) | more | {"Content-Type": "application/json", "Idempotency-Key": f"key-{port}-{len(more)}"}
    added, again = (send(port, "POST", f"{BASE}/v1/pets", body=body, headers=sent) for _ in range(2))
    assert (added.status, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert added.headers["Location"] == again.headers["Location"] == f"{v1}/pets/{added.json()['id']}"

    one = get(port, f"{BASE}/v1/pets/{added.json()['id']}", key, **more)
    assert (one.json(), one.headers["Link"]) == (added.json(), f'<{v1}/pets>; rel="successor-version"')
    categories = get(port, f"{BASE}/v1/categories?limit=1", key, **more)
    assert categories.headers["Link"].startswith(f"<{v1}/categories?limit=1&cursor=")


@in_both
@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/pets", 401, "api_key_missing"),
        ("/v1/nowhere", 401, "api_key_missing"),
        (f"/v1{BASE}/v1/pets", 401, "api_key_missing"),
        ("/nowhere", 404, "route_not_found"),
    ],
)
def test_errors_link_to_their_pages(port: int, path: str, status: int, code: str, more: dict[str, str]) -> None:
    answer = get(port, f"{BASE}{path}", **more)
    assert (answer.status, answer.json()["code"]) == (status, code)
    assert answer.headers["Link"] == f'<{BASE}/docs/errors/{code}>; rel="help"'
    assert get(port, f"{BASE}/docs/errors/{code}").status == 200


@in_both
def test_deprecated_operations_link_to_both(port: int, proxies: Proxies, key: str, more: dict[str, str]) -> None:
    successor = f'<{origin(port, proxies)}{BASE}/v1/pets>; rel="successor-version"'
    answer = get(port, f"{BASE}/v1/pets/abc", key, **more)
    assert answer.headers["Link"] == f'{successor}, <{BASE}/docs/errors/pet_not_found>; rel="help"'


def test_the_errors_of_nginx_have_the_path(proxies: Proxies) -> None:
    answer = get(proxies.nginx.plain, f"{BASE}/v1/%00")
    assert (answer.status, answer.headers["Link"]) == (404, f'<{BASE}/docs/errors/route_not_found>; rel="help"')
    in_the_clear = get(proxies.nginx.http, f"{BASE}/v1/pets", Host=HOST)
    assert (in_the_clear.status, in_the_clear.json()["code"]) == (404, "route_not_found")
    other = get(proxies.nginx.plain, "/v1/pets")
    assert (other.status, other.headers["Link"]) == (404, f'<{BASE}/docs/errors/route_not_found>; rel="help"')


def followed(page: Answer) -> list[str]:
    """Return the paths that a browser would ask for next."""
    found = re.findall(r'(?:href|src|action|data-address|data-index)="([^"]+)"', page.body.decode())
    paths = [urlsplit(one) for one in found if not one.startswith(("#", "data:", "?"))]
    return sorted({one.path for one in paths if one.hostname in {None, "127.0.0.1", HOST}})


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/guide/", "/docs/clients/", "/docs/changelog/"])
def test_every_link_of_the_portal_leads_somewhere(port: int, path: str) -> None:
    page = get(port, BASE + path)
    assert page.status == 200
    paths = followed(page)
    assert [one for one in paths if not one.startswith(f"{BASE}/")] == []
    assert {one: status for one in paths if (status := get(port, one).status) not in {200, 302}} == {}
    assert len(paths) > 10


def test_what_the_portal_shows_can_be_called(port: int, proxies: Proxies) -> None:
    base = f"{origin(port, proxies)}{BASE}"
    assert f"<code>{base}/v1</code>" in get(port, f"{BASE}/").body.decode()
    reference = get(port, f"{BASE}/docs/").body.decode()
    assert f'data-path="{BASE}/v1/pets"' in reference
    assert f"{base}/v1/pets?limit=3" in reference
    guide = unescape(re.sub("<[^>]+>", "", get(port, f"{BASE}/docs/guide/").body.decode()))
    assert f"https://{HOST}{BASE}/v1" in guide
    assert f'Link: <{BASE}/docs/errors/validation_failed>; rel="help"' in guide
    assert f"{base}/docs/clients/petstore_client-" in get(port, f"{BASE}/docs/clients/").body.decode()


def test_the_description_says_where_the_api_is(port: int) -> None:
    description: dict[str, Any] = get(port, f"{BASE}/openapi.json").json()
    assert description["servers"][0] == {"url": f"https://{HOST}{BASE}/v1", "description": "Production"}
    assert f"`<{BASE}/docs/errors/CODE>; " in description["components"]["headers"]["Help"]["description"]


PASSWORD = "correct-horse-battery-staple"
CREATE = "from django.contrib.auth.models import User; User.objects.create_superuser"


@pytest.fixture(scope="module")
def password(server: Gunicorn) -> str:
    server.shell(f"{CREATE}('anna', password={PASSWORD!r})")
    return PASSWORD


class Browser:
    """Keeps cookies, each under the path that it has."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, fields: dict[str, str] | None = None) -> Answer:
        assert path.startswith(f"{BASE}/"), path
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies, "Referer": f"https://{HOST}{BASE}/", "Host": HOST}
        headers |= {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode(fields).encode() if fields else None
        answer = patiently(lambda: send(self.port, method, path, body=body, headers=headers))
        for line in answer.headers.get_all("Set-Cookie", []):
            name, value, cookie_path = re.match(r"(\w+)=([^;]*).*Path=([^;]+)", line).groups()  # type: ignore[union-attr]
            assert cookie_path == f"{BASE}/"
            self.cookies[name] = value
        return answer


def test_the_back_office_can_be_used(port: int, password: str) -> None:
    browser = Browser(port)
    redirected = browser.send("GET", f"{BASE}/admin/")
    assert redirected.headers["Location"] == f"{BASE}/admin/login/?next={BASE}/admin/"
    form = browser.send("GET", f"{BASE}/admin/account/sign-in/").body.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
    assert token
    fields = {"csrfmiddlewaretoken": token[1], "login": "anna", "password": password}
    signed_in = browser.send("POST", f"{BASE}/admin/account/sign-in/", fields)
    assert (signed_in.status, urlsplit(signed_in.headers["Location"]).path) == (302, f"{BASE}/admin/")

    seen = {f"{BASE}/admin/"}
    for page in (
        "",
        "pets/pet/",
        "pets/pet/1/change/",
        "categories/category/",
        "apikeys/apikey/",
        "pets/importrun/add/",
    ):
        answer = browser.send("GET", f"{BASE}/admin/{page}")
        assert answer.status == 200, page
        seen |= set(followed(answer))
    assert [one for one in seen if not one.startswith(f"{BASE}/")] == []
    assert len(seen) > 50
    assert {one: status for one in seen if (status := browser.send("GET", one).status) not in {200, 302, 405}} == {}


def test_health_is_found_with_and_without_the_path(server: Gunicorn) -> None:
    for path in ("/livez", f"{BASE}/livez", "/animals/readyz"):
        assert get(server.port, path).status == 200
