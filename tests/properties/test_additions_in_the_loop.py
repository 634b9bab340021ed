"""The event loop adds animals exactly as Django REST framework does.

api: the same request has the same status, headers and bytes, and leaves the same rows, through both adapters.
"""

import json
import re
from contextlib import nullcontext
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import OperationalError
from hypothesis import example, given
from hypothesis import strategies as st

from categories.models import Category
from database import errors as database_errors
from pets.models import Pet
from petstore_site.apikeys.models import APIKey, Scope
from petstore_site.errors import UnknownOutcomeError
from rest.limits import build_limiter
from rest.request import DjangoRequest
from tests.in_loop import AdapterFirst, InThisThread
from tests.properties.examples import SITES, rolled_back, site
from tests.recorded.wsgi import exchange

NAMES = st.sampled_from(["Rex", "", " ", "Zoë", "a\u0000b", "x" * 255, "x" * 256, "\ud800"]) | st.text(max_size=5)
JSON = st.none() | st.booleans() | st.integers(-1, 2**64) | st.floats(allow_nan=False) | st.text(max_size=3)
BODIES = st.fixed_dictionaries(
    {"name": NAMES | JSON, "categoryId": st.just("CATEGORY") | JSON},
    optional={"status": st.sampled_from(["available", "pending", "sold", "lost"]) | JSON, "id": JSON, "colour": JSON},
).map(lambda fields: json.dumps(fields).encode())
NEW_PET = b'{"name": "Rex", "categoryId": "CATEGORY"}'
ANY_BODY = st.one_of(BODIES, BODIES, BODIES, st.sampled_from([b"", b"{}", b"[]", b"{", b'"x"', b"\xff", b"[" * 40]))
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "Host": st.sampled_from(["localhost:8000", "evil.example", ""]),
        "Authorization": st.sampled_from(["Bearer READ", "Bearer OLD", "Bearer KEYx", "Basic x", ""]),
        "Content-Type": st.sampled_from(
            ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;charset=utf-16", "text/plain", ""]
        ),
        "Idempotency-Key": st.sampled_from(["one", "", "a b"]),
        "Content-Encoding": st.sampled_from(["identity", "gzip", ""]),
        "If-None-Match": st.just("*"),
        "If-Match": st.just('"x"'),
        "Origin": st.just("https://shop.example"),
        "X-Forwarded-Proto": st.sampled_from(["https", "http"]),
        "Transfer-Encoding": st.just("chunked"),
        "Cookie": st.just("sessionid=x"),
    },
)
TARGETS = st.sampled_from(["/v1/pets"] * 4 + ["/v1/pets?x=1", "/v1/pets/", "/v1/pets/1", "/v1/categories"])


class Service:
    """The service with both adapters, and with Django's only."""

    def __init__(self, category: Category) -> None:
        self.words = {"CATEGORY": str(category.pk)}
        for word, scope in {"READ": Scope.READ, "KEY": Scope.WRITE, "OLD": Scope.WRITE}.items():
            key, self.words[word] = APIKey.objects.issue(name=word, scope=scope, rate_limit="100/day")
            if word == "OLD":
                key.revoke()
        self.renew()

    def renew(self, driver: Any = None) -> None:
        self.django = WSGIHandler()
        self.django.request_class = DjangoRequest
        self.loop = AdapterFirst(self.django, driver)

    def both(self, target: str, headers: dict[str, str], body: bytes, method: str = "POST") -> list[Any]:
        """Return what each responds and stores, with ID for the number of a new animal."""
        sent = {"Host": "localhost", "X-Request-ID": "mine", "Authorization": "Bearer KEY"}
        sent |= {"Content-Type": "application/json"} | headers
        for word, meant in self.words.items():
            body = body.replace(f'"{word}"'.encode(), meant.encode())
            sent = {name: value.replace(word, meant) for name, value in sent.items()}
        ways = (self.loop, self.django)
        return [self._exchange(application, method, target, sent, body) for application in ways]

    def add(self, body: bytes = NEW_PET) -> int:
        headers = {"Host": "localhost", "Authorization": f"Bearer {self.words['KEY']}"}
        body = body.replace(b'"CATEGORY"', self.words["CATEGORY"].encode())
        return exchange(self.loop, "POST", "/v1/pets", headers | {"Content-Type": "application/json"}, body)[0]

    def _exchange(self, application: Any, method: str, target: str, headers: dict[str, str], body: bytes) -> Any:
        build_limiter.cache_clear()
        with rolled_back():
            status, shown, got = exchange(application, method, target, headers, body)
            assert shown.pop("Content-Length", None) == (None if status == 204 else str(len(got)))
            pets = [_row(model) for model in (Pet, Pet.history.model)]
        number = str(pets[0].pop("id", "none"))
        shown = {name: re.sub(rf"/{number}\Z", "/ID", value) for name, value in shown.items()}
        return status, shown, got.replace(f'{{"id":{number},'.encode(), b'{"id":ID,'), pets


def _row(model: Any) -> dict[str, Any]:
    """Return the newest row without its times and what it refers to."""
    row: dict[str, Any] = model.objects.order_by("-pk").values().first() or {}
    left_out = {"created_at", "updated_at", "history_id", "history_date"} | ({"id"} if "history_id" in row else set())
    return {name: value for name, value in row.items() if name not in left_out}


@pytest.fixture
def service(db: None, category: Category, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr("time.time", lambda: 0.0)  # or a pause between the two would show in RateLimit
    settings.ALLOWED_HOSTS = ["localhost"]
    return Service(category)


def test_the_same_response_and_rows_for_any_request(service: Service) -> None:
    @given(TARGETS, HEADERS, ANY_BODY, SITES)
    @example("/v1/pets", {}, NEW_PET, (False, False))
    @example("/v1/pets", {}, b'{"name": "Rex", "categoryId": 999999}', (False, False))
    @example("/v1/pets", {"Authorization": "Bearer READ"}, NEW_PET, (False, False))
    @example("/v1/pets", {"Authorization": "Bearer OLD"}, NEW_PET, (True, False))
    def same(target: str, headers: dict[str, str], body: bytes, where: tuple[bool, bool]) -> None:
        with site(*where):
            service.renew()
            got, wanted = service.both(target, headers, body)
        assert got == wanted

    same()


@pytest.mark.parametrize(
    ("target", "headers", "declined"),
    [
        ("POST /v1/pets", {}, 0),
        ("POST /v1/pets", {"Idempotency-Key": "one"}, 0),
        ("POST /v1/pets", {"Content-Type": "text/plain"}, 0),
        ("POST /v1/pets", {"Transfer-Encoding": "chunked"}, 0),
        ("POST /v1/pets?limit=1", {}, 0),
        ("PUT /v1/pets", {}, 0),
        ("POST /v1/pets", {"Host": "evil.example"}, 1),
        ("POST /v1/pets", {"Origin": "https://shop.example"}, 1),
        ("OPTIONS /v1/pets", {}, 1),
    ],
)
def test_what_is_declined(service: Service, settings: Any, target: str, headers: dict[str, str], declined: int) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["https://shop.example"]
    service.renew()
    method, _, path = target.partition(" ")
    got, wanted = service.both(path, headers, NEW_PET, method)
    assert (got, service.loop.behind) == (wanted, declined)


def test_an_exhausted_limit_is_counted_once(service: Service) -> None:
    service.words["KEY"] = APIKey.objects.issue(name="Limited", rate_limit="2/day")[1]
    assert [service.add(), service.add(b"{"), service.add(), service.add()] == [201, 400, 429, 429]


def failure(sqlstate: str | None) -> OperationalError:
    error = OperationalError()
    error.__cause__ = Exception()
    error.__cause__.sqlstate = sqlstate  # type: ignore[attr-defined]
    return error


class Failing(InThisThread):
    """A driver that fails with this error, after a COMMIT was sent if `commits`."""

    def __init__(self, error: OperationalError, *, commits: bool) -> None:
        self.error = error
        self.commits = commits

    async def run(self, _steps: Any, _latest: float, /, **_options: bool) -> Any:
        with database_errors.committing() if self.commits else nullcontext():
            raise self.error


@pytest.mark.parametrize(
    ("sqlstate", "commits"),
    [("40001", True), ("23503", True), (None, False)],
    ids=["lost to another transaction", "its category was deleted", "the connection broke before"],
)
def test_what_failed_is_tried_again(service: Service, sqlstate: str | None, commits: bool) -> None:
    service.renew(Failing(failure(sqlstate), commits=commits))
    assert (service.add(), service.loop.behind) == (201, 1)


def test_what_the_database_has_no_time_for_is_not_tried_again(service: Service) -> None:
    service.renew(Failing(failure("57014"), commits=True))
    with pytest.raises(OperationalError):
        service.add()


@pytest.mark.parametrize("sqlstate", [None, "57P01"], ids=["the connection broke", "the server ended the connection"])
def test_what_may_be_done_is_not_tried_again(service: Service, sqlstate: str | None) -> None:
    service.renew(Failing(failure(sqlstate), commits=True))
    with pytest.raises(UnknownOutcomeError):
        service.add()
    assert Pet.objects.count() == 0
