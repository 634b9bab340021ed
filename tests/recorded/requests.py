"""Requests to the API whose responses are recorded, and the catalogue that they are about.

The requests are read in order: some of the additions depend on those before them.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.utils import timezone

from categories.models import Category
from pets.models import Pet, PetStatus
from petstore_site.apikeys.models import APIKey

SECRET_KEY = "a secret that signs the recorded cursors " * 2
FIRST_ID = 1_000_001
ORIGIN = "https://shop.example"


class Sent(NamedTuple):
    """One request; `key` names the key of `fill` that it is sent with, or is the whole header after `=`."""

    method: str
    path: str
    key: str = "writer"
    headers: Mapping[str, str] = {}
    body: bytes = b""

    @property
    def line(self) -> str:
        """What the request is called in the record."""
        more = [f"{name}: {value}" for name, value in self.headers.items()] + (
            [repr(self.body[:200])] if self.body else []
        )
        return " | ".join([f"{self.method} {self.path}", self.key or "no key", *more])


def fill() -> dict[str, str]:
    """Store 250 animals in three categories and the keys; return the keys by name."""
    categories = Category.objects.bulk_create(
        Category(pk=FIRST_ID + number, name=name) for number, name in enumerate(("Dogs", "Cats", "Vögel"))
    )
    statuses = PetStatus.values
    Pet.objects.bulk_create(
        Pet(
            pk=FIRST_ID + number,
            name=f"Animal {number} \N{DOG FACE}" if number % 7 else f'"{number}" <b>\\',
            category=categories[number % 3],
            status=statuses[number % 3 if number % 5 else 0],
        )
        for number in range(250)
    )
    soon = timezone.now() + timedelta(days=3)
    issued: dict[str, dict[str, Any]] = {
        "writer": {},
        "reader": {"scope": "read"},
        "limited": {"rate_limit": "3/day"},
        "expiring": {"expires_at": soon},
        "expired": {},
        "revoked": {},
    }
    keys = {name: APIKey.objects.issue(name=name, **columns) for name, columns in issued.items()}
    APIKey.objects.filter(name="expired").update(expires_at=timezone.now() - timedelta(days=1))
    APIKey.objects.filter(name="revoked").update(revoked_at=timezone.now())
    return {name: text for name, (_, text) in keys.items()}


LISTS = [
    "", "?limit=1", "?limit=2", "?limit=20", "?limit=100", "?limit=83", "?status=available", "?status=pending",
    "?status=sold", "?status=sold&limit=1", "?limit=5&status=pending", "?status=available&limit=100",
    "?limit=0", "?limit=101", "?limit=-1", "?limit=", "?limit=01", "?limit=+1", "?limit=1.0", "?limit=1e1", "?limit=abc",
    "?limit=%31", "?limit=1%20", "?limit=%D9%A1", "?limit=999999999999999999999", "?limit=1&limit=1", "?limit=1&limit=2",
    "?status=", "?status=Sold", "?status=lost", "?status=sold&status=sold", "?status=sold&status=pending", "?status=so%6Cd",
    "?limit=0&status=lost", "?status=lost&limit=0", "?limit=0&status=lost&cursor=x", "?limit=1&limit=2&status=",
    "?unknown=1", "?unknown", "?", "?&&", "?limit=3&unknown=%FF", "?LIMIT=1", "?limit[]=1", "?limit=3;status=sold",
    "?cursor=", "?cursor=x", "?cursor=x.y", "?cursor=1.2.3&limit=3", "?cursor=x&cursor=x", "?cursor=x&status=sold",
    "?offset=10&page=2", "?limit=3&format=api", "?status=sold%00", "?a=%00", "?limit=%00", "?\xe4=1",
]  # fmt: skip
"""Queries of `GET /v1/pets`."""

BODIES = [
    b'{"name": "Rex", "categoryId": 1000001}',
    b'{"name": "Rex", "categoryId": 1000001, "status": "sold"}',
    b'{"name": "Rex", "categoryId": 1000001.0, "status": "pending", "id": 7, "more": [1]}',
    '{"name": "\N{DOG FACE} Bär", "categoryId": 1000003}'.encode(),
    b'{"name": "Rex"}', b'{"categoryId": 1000001}', b"{}", b"[]", b"null", b"1", b'"x"', b"", b" ", b"{", b'{"name": "x",}',
    b'{"name": "", "categoryId": 1000001}', b'{"name": " ", "categoryId": 1000001}', b'{"name": 1, "categoryId": "1"}',
    b'{"name": "Rex", "categoryId": 1}', b'{"name": "Rex", "categoryId": null}', b'{"name": "Rex", "categoryId": true}',
    b'{"name": "Rex", "categoryId": 1.5}', b'{"name": "Rex", "categoryId": 99999999999999999999}',
    b'{"name": "Rex", "categoryId": -1}', b'{"name": "Rex", "categoryId": 1000001, "status": "lost"}',
    b'{"name": "Rex", "categoryId": 1000001, "status": null}', b'{"name": "a\\u0000b", "categoryId": 1000001}',
    b'{"name": "\\ud800", "categoryId": 1000001}', b"\xff\xfe", b"\xef\xbb\xbf{}", b'{"name": NaN}', b"[" * 40,
    b'{"a":' * 40 + b"1" + b"}" * 40, b'{"name": "' + b"a" * 255 + b'", "categoryId": 1000001}',
    b'{"name": "' + b"a" * 256 + b'", "categoryId": 1000001}', b" " * 65_537,
]  # fmt: skip
"""Bodies of `POST /v1/pets`."""

PATHS = [
    "/v1", "/v1/", "/v1/nowhere", "/v1/pets/", "/v1//pets", "/v1/pets/1/", "/v1/Pets", "/v1/pets.json", "/v1/pets%0A",
    "/v1/%00", "/v1/%FF", "/v1/pets/1%2F", "/v1/categories/", "/v1x", "/V1/pets",
]  # fmt: skip

IDS = [
    "1000001",
    "1000250",
    "1000251",
    "1",
    "0",
    "01",
    "-1",
    "1.0",
    "abc",
    "9223372036854775807",
    "9223372036854775808",
    "1%2031",
]

PET = BODIES[0]
OTHER_PET = BODIES[1]
REPEATED = b'{"name": "", "categoryId": "x", "name": "Rex", "categoryId": 1000001}'


def requests(next_page: Callable[[], str]) -> Iterator[Sent]:
    """Yield the requests; `next_page` returns the query of the link in the response before."""
    yield from (Sent("GET", f"/v1/pets{query}") for query in LISTS)
    yield from _walks(next_page)
    yield from (Sent("GET", f"/v1/pets/{pk}") for pk in IDS)
    yield from (Sent("GET", f"/v1/categories/{pk}") for pk in IDS[:7])
    yield from (
        Sent("GET", f"/v1/categories{query}") for query in ("", "?limit=2", "?limit=0", "?status=sold", "?cursor=x")
    )
    yield from (Sent("GET", path, key) for path in PATHS for key in ("writer", ""))
    yield from _methods()
    yield from _keys()
    yield from _conditions()
    yield from _origins()
    yield from (Sent("POST", "/v1/pets", body=body, headers=_json()) for body in BODIES)
    yield from _additions()


def _walks(next_page: Callable[[], str]) -> Iterator[Sent]:
    for start in ("/v1/pets?limit=90", "/v1/pets?status=sold&limit=30", "/v1/categories?limit=1"):
        yield Sent("GET", start)
        while query := next_page():
            yield Sent("GET", f"{start.partition('?')[0]}?{query}")
        yield Sent("GET", start)
        yield Sent("GET", f"/v1/pets?{next_page()}&status=pending")
        yield Sent("GET", start)
        yield Sent("GET", f"/v1/pets?{next_page()}x")


def _methods() -> Iterator[Sent]:
    for path in (
        "/v1/pets",
        "/v1/pets/1000001",
        "/v1/pets/1",
        "/v1/categories",
        "/v1/categories/1000001",
        "/v1/nowhere",
    ):
        for method in ("HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "BREW"):
            yield Sent(method, path)
            yield Sent(method, path, "")
    yield Sent("POST", "/v1/pets/1000001", headers=_json(), body=b"{}")
    yield Sent("HEAD", "/v1/pets?limit=2")
    yield Sent("HEAD", "/v1/pets?limit=0")


def _keys() -> Iterator[Sent]:
    for path in ("/v1/pets?limit=1", "/v1/pets/1000001", "/v1/pets?limit=0", "/v1/categories"):
        yield from (Sent("GET", path, key) for key in ("reader", "expiring", "expired", "revoked", ""))
    wrong = [
        "", "Bearer", "Bearer ", "Basic abc", "Bearer x", "Bearer pets_test_" + "0" * 46, "Token x", "Bearer \xe4",
        "Bearer pets_live_" + "0" * 46, "bearer x y",
    ]  # fmt: skip
    yield from (Sent("GET", "/v1/pets", f"={header}") for header in wrong)
    yield Sent("POST", "/v1/pets", "reader", _json(), PET)
    yield Sent("POST", "/v1/pets", "", _json(), PET)
    yield Sent("DELETE", "/v1/pets", "reader")
    yield from (Sent("GET", "/v1/pets?limit=1", "limited") for _ in range(3))
    yield Sent("GET", "/v1/pets?limit=0", "limited")
    yield Sent("HEAD", "/v1/pets", "limited")
    yield Sent("POST", "/v1/pets", "limited", _json(), PET)
    yield from (Sent("GET", "/v1/pets?limit=1", headers={"X-Request-ID": name}) for name in ("abc", "A" * 129, "a b"))
    yield from (
        Sent("GET", "/v1/pets?limit=1", headers={"Host": name}) for name in ("evil.example", "localhost:1", "a b")
    )
    yield Sent("GET", "/v1/pets?limit=1", headers={"Accept": "text/html", "Cookie": "sessionid=x"})
    yield Sent("GET", "/v1/pets?limit=1", headers={"X-Forwarded-Proto": "https"})


def _conditions() -> Iterator[Sent]:
    tag = {
        "/v1/pets?limit=1": '"%(list)s"',
        "/v1/pets/1000001": '"%(pet)s"',
    }
    for path, good in tag.items():
        forms = (good, f"W/{good}", f'"x", {good}', "*", '"x"', "x", good.strip('"'), f"{good}x")
        yield from (Sent(method, path, headers={"If-None-Match": form}) for form in forms for method in ("GET", "HEAD"))
    yield Sent("GET", "/v1/pets/1", headers={"If-None-Match": "*"})
    yield Sent("GET", "/v1/pets?limit=0", headers={"If-None-Match": "*"})
    yield Sent("GET", "/v1/pets", "expiring", {"If-None-Match": "*"})
    others = {"If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT", "If-Match": '"x"'}
    yield from (Sent("GET", "/v1/pets?limit=1", headers={name: value}) for name, value in others.items())


def _origins() -> Iterator[Sent]:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for origin in (ORIGIN, "https://evil.example", "null"):
        yield Sent("GET", "/v1/pets?limit=1", headers={"Origin": origin})
        yield Sent("GET", "/v1/pets", "", {"Origin": origin})
        yield Sent("GET", "/v1/pets/1", headers={"Origin": origin})
        yield Sent("GET", "/v1/pets/1000001", headers={"Origin": origin, "If-None-Match": "*"})
        yield Sent("OPTIONS", "/v1/pets", "", {"Origin": origin} | asked)
        yield Sent("OPTIONS", "/v1/nowhere", "", {"Origin": origin} | asked)


def _additions() -> Iterator[Sent]:
    types = (
        "text/plain", "application/json; charset=utf-8", "application/json; charset=latin-1", "application/json;x",
        "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "APPLICATION/JSON", "",
    )  # fmt: skip
    yield from (Sent("POST", "/v1/pets", body=PET, headers={"Content-Type": each}) for each in types)
    for name in ("one", '"one"', "a" * 255, "a" * 256, "", '""', "a b", "\xe4"):
        yield Sent("POST", "/v1/pets", body=PET, headers=_json() | {"Idempotency-Key": name})
    yield Sent("POST", "/v1/pets", body=PET + b"  ", headers=_json() | {"Idempotency-Key": "one"})
    yield Sent("POST", "/v1/pets", body=OTHER_PET, headers=_json() | {"Idempotency-Key": "one"})
    yield Sent("POST", "/v1/pets", body=b"{}", headers=_json() | {"Idempotency-Key": "two"})
    yield Sent("POST", "/v1/pets", body=PET, headers=_json() | {"Idempotency-Key": "two"})
    yield Sent("POST", "/v1/pets", "expiring", _json() | {"Idempotency-Key": "one", "Origin": ORIGIN}, PET)
    yield Sent("POST", "/v1/pets?limit=0", body=PET, headers=_json())
    yield from (
        Sent("POST", "/v1/pets", body=PET, headers=_json() | {"Content-Encoding": each})
        for each in ("gzip", "GZIP", "br", "identity, gzip", "identity", "Identity", "")
    )
    yield Sent("POST", "/v1/pets", body=PET, headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"})
    yield Sent("POST", "/v1/pets", body=b"", headers=_json() | {"Content-Encoding": "gzip"})
    yield Sent("POST", "/v1/pets", body=REPEATED, headers=_json() | {"Idempotency-Key": "repeated"})
    yield Sent("POST", "/v1/pets", body=PET, headers=_json() | {"Idempotency-Key": "repeated"})
    yield Sent("POST", "/v1/pets", body=PET, headers=_json() | {"If-Match": '"x"', "If-None-Match": "*"})


def _json() -> dict[str, str]:
    return {"Content-Type": "application/json"}
