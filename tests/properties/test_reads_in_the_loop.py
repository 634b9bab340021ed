"""The event loop responds to reads exactly as Django REST framework does.

api: the same request has the same status, headers in the same order and bytes through both adapters.
"""

from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import OperationalError
from hypothesis import given
from hypothesis import strategies as st

from categories.models import Category
from pets.models import ImportRun, Pet, PetStatus
from petstore_site.apikeys.models import APIKey
from rest.limits import build_limiter
from rest.request import DjangoRequest
from tests.factories import PetFactory
from tests.in_loop import AdapterFirst, InThisThread
from tests.properties.examples import SITES, site
from tests.recorded.wsgi import Exchanged, exchange

NAMES = ("limit", "status", "cursor", "colour")
VALUES = st.one_of(
    st.sampled_from(["1", "3", "20", "100", "0", "101", "", "sold", "available", "pending", "lost", "%31", "a+b"]),
    st.text(alphabet="019adls.-_%&=+;", max_size=6),
)
QUERIES = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=3).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)
PATHS = st.sampled_from(
    ["/v1/pets", "/v1/pets/FIRST", "/v1/pets/LAST", "/v1/pets/999999999", "/v1/pets/0", "/v1/pets/01", "/v1/pets/"]
)
METHODS = st.sampled_from(["GET", "GET", "GET", "HEAD", "POST", "OPTIONS"])

HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "Host": st.sampled_from(["localhost", "localhost:8000", "LOCALHOST", "evil.example", "a b", ""]),
        "If-None-Match": st.sampled_from(["*", '"x"', "TAG", "W/TAG", '"x", TAG', ""]),
        "Authorization": st.sampled_from(["Bearer KEY", "bearer  KEY", "Bearer KEYx", "Basic x", ""]),
        "Origin": st.sampled_from(["https://shop.example", "null"]),
        "X-Forwarded-Proto": st.sampled_from(["https", "http", "https, http", ""]),
        "X-Request-ID": st.just("mine"),
        "Cookie": st.just("sessionid=x"),
        "Content-Type": st.sampled_from(["application/json", "text/plain; charset=utf-16"]),
        "Transfer-Encoding": st.just("chunked"),
        "Accept": st.just("text/html"),
    },
)


InOrder = tuple[int, list[tuple[str, str]], bytes]


def in_order(exchanged: Exchanged) -> InOrder:
    """Return a response whose headers are compared in their order, too."""
    status, headers, body = exchanged
    return status, list(headers.items()), body


class Service:
    """The service with both adapters, and with Django's only."""

    def __init__(self, key: str, ids: dict[str, int]) -> None:
        self.key = key
        self.ids = ids
        self.sent = 0
        self.renew()

    def renew(self, driver: Any = None) -> None:
        self.django = WSGIHandler()
        self.django.request_class = DjangoRequest
        self.loop = AdapterFirst(self.django, driver)

    def both(self, method: str, target: str, headers: dict[str, str]) -> tuple[InOrder, InOrder]:
        """Return the responses with both adapters, and with Django's only."""
        for word, pk in self.ids.items():
            target = target.replace(word, str(pk))
        sent = {"Host": "localhost", "X-Request-ID": "mine", "Authorization": "Bearer KEY"} | headers
        tag = exchange(self.django, "GET", target, sent | {"If-None-Match": "", "Authorization": f"Bearer {self.key}"})[
            1
        ]
        sent = {
            name: value.replace("KEY", self.key).replace("TAG", tag.get("ETag", '"none"'))
            for name, value in sent.items()
        }
        self.sent += 1
        build_limiter.cache_clear()
        by_loop = exchange(self.loop, method, target, sent)
        build_limiter.cache_clear()
        return in_order(by_loop), in_order(exchange(self.django, method, target, sent))


@pytest.fixture
def service(db: None, category: Category, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr("time.time", lambda: 0.0)  # or a pause between the two would show in RateLimit
    settings.ALLOWED_HOSTS = ["localhost"]
    pets = [PetFactory(category=category, status=PetStatus.values[number % 3]) for number in range(30)]
    key = APIKey.objects.issue(name="Test", rate_limit="100/day")[1]
    return Service(key, {"FIRST": pets[0].pk, "LAST": pets[-1].pk})


def test_more_parameters_than_allowed_are_left_to_django(service: Service) -> None:
    got, wanted = service.both("GET", f"/v1/pets?{'a=1&' * 1001}", {})
    assert (got, got[0], service.loop.behind) == (wanted, 400, 1)


def test_the_same_response_to_any_request(service: Service) -> None:
    @given(METHODS, PATHS, QUERIES, HEADERS, SITES)
    def same(method: str, path: str, query: str, headers: dict[str, str], where: tuple[bool, bool]) -> None:
        with site(*where):
            service.renew()
            got, wanted = service.both(method, f"{path}?{query}", headers)
        assert got == wanted

    same()
    assert service.loop.behind < service.sent


def test_while_an_import_writes(service: Service) -> None:
    ids = sorted(Pet.objects.values_list("pk", flat=True))
    ImportRun.objects.create(
        who="anna", file_name="a.csv", sha256="0" * 64, options={}, first_id=ids[10], last_id=ids[20]
    )
    for query in ("", "?limit=5", "?limit=100", "?status=sold&limit=4"):
        got, wanted = service.both("GET", f"/v1/pets{query}", {})
        assert got == wanted
    assert service.loop.behind == 0


class Broken(InThisThread):
    """A driver whose connections break."""

    async def run(self, _steps: Any, _latest: float, /, **_options: bool) -> Any:
        raise OperationalError


def test_a_broken_connection_is_left_to_django(service: Service) -> None:
    service.renew(Broken())
    got, wanted = service.both("GET", "/v1/pets", {})
    assert got == wanted
    assert (got[0], service.loop.behind) == (200, 1)
