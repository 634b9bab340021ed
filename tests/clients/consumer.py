"""A consumer's program on the generated Python client; `test_python.py` type-checks it and runs it.

Its argument is JSON (`Service.arguments`); it prints step → [status, `Error.code`] and asserts the rest.
"""

import json
import sys
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from petstore_client import AuthenticatedClient
from petstore_client.api.categories import get_category, list_categories
from petstore_client.api.pets import create_pet, get_pet, list_pets
from petstore_client.models import Category, Error, NewPet, Pet, PetStatus
from petstore_client.types import UNSET, Response, Unset

TOLD: dict[str, Any] = json.loads(sys.argv[1])
CATEGORY: int = TOLD["category"]
LARGEST = 2**63 - 1
SEEN: dict[str, tuple[int, str | None]] = {}


def client(key: str) -> AuthenticatedClient:
    """Return a client with one of the keys; it raises for a response that the description does not have."""
    return AuthenticatedClient(base_url=TOLD["url"], token=TOLD.get(key, key), raise_on_unexpected_status=True)


CLIENT = client("write")


def saw(step: str, answer: Response[Any]) -> Any:
    """Record a response and return what was parsed."""
    parsed = answer.parsed
    code = None
    if isinstance(parsed, Error):
        assert parsed.status == answer.status_code
        code = str(getattr(parsed.code, "value", parsed.code))
    SEEN[step] = answer.status_code.value, code
    return parsed


def saw_raw(step: str, answer: httpx.Response) -> None:
    """Record the response to a request that the generated functions cannot send."""
    error = Error.from_dict(answer.json())
    saw(step, Response(HTTPStatus(answer.status_code), answer.content, answer.headers, error))


def next_cursor(answer: Response[Any]) -> str | None:
    link = httpx.Response(200, headers=answer.headers).links.get("next")
    return parse_qs(urlsplit(link["url"]).query)["cursor"][0] if link else None


def every_pet(*, limit: int) -> Iterator[Pet]:
    cursor: str | Unset | None = UNSET
    while cursor is not None:
        answer = list_pets.sync_detailed(client=CLIENT, limit=limit, cursor=cursor)
        assert isinstance(answer.parsed, list), answer
        yield from answer.parsed
        cursor = next_cursor(answer)
    SEEN["every page"] = 200, None


def categories() -> None:
    listed = saw("list categories", list_categories.sync_detailed(client=CLIENT, limit=100))
    assert listed == [Category(id=LARGEST, name="Dragons"), Category(id=CATEGORY, name="Dogs")]
    assert saw("get category", get_category.sync_detailed(LARGEST, client=CLIENT)) == listed[0]


def animals() -> Pet:
    body = NewPet(name="Rex ✓", category_id=LARGEST, status=PetStatus.PENDING)
    first = create_pet.sync_detailed(client=CLIENT, body=body, idempotency_key="one")
    rex: Pet = saw("create", first)
    assert (rex.name, rex.category_id, rex.status) == ("Rex ✓", LARGEST, PetStatus.PENDING)
    assert first.headers["Location"] == f"{TOLD['url']}/pets/{rex.id}"
    plain = NewPet(name="Ida", category_id=CATEGORY, status=UNSET)
    ida: Pet = saw("create without status", create_pet.sync_detailed(client=CLIENT, body=plain))
    assert ida.status is PetStatus.AVAILABLE
    again = create_pet.sync_detailed(client=CLIENT, body=body, idempotency_key="one")
    assert saw("replay", again) == rex
    assert again.headers["Idempotency-Replayed"] == "true"
    answer = get_pet.sync_detailed(rex.id, client=CLIENT, x_request_id="mine")
    assert saw("get", answer) == rex
    assert answer.headers["X-Request-ID"] == "mine"
    assert answer.headers["Sunset"] == "Thu, 05 Dec 2030 00:00:00 GMT"
    assert saw("list", list_pets.sync_detailed(client=CLIENT)) == [ida, rex]
    assert saw("list pending", list_pets.sync_detailed(client=CLIENT, status=PetStatus.PENDING)) == [rex]
    assert list(every_pet(limit=1)) == [ida, rex]
    return rex


def unchanged(pet: Pet) -> None:
    """Ask again for what is already here."""
    etag: str = list_pets.sync_detailed(client=CLIENT).headers["ETag"]
    assert saw("list unchanged", list_pets.sync_detailed(client=CLIENT, if_none_match=etag)) is None
    etag = get_pet.sync_detailed(pet.id, client=CLIENT).headers["ETag"]
    assert saw("get unchanged", get_pet.sync_detailed(pet.id, client=CLIENT, if_none_match=etag)) is None
    etag = list_categories.sync_detailed(client=CLIENT).headers["ETag"]
    answer = list_categories.sync_detailed(client=CLIENT, if_none_match=etag)
    assert saw("list categories unchanged", answer) is None
    etag = get_category.sync_detailed(CATEGORY, client=CLIENT).headers["ETag"]
    saw("get category unchanged", get_category.sync_detailed(CATEGORY, client=CLIENT, if_none_match=etag))


def invalid() -> None:
    """Send what is rejected with 400, one of each code."""
    http, as_json = CLIENT.get_httpx_client(), {"Content-Type": "application/json"}
    saw_raw("malformed", http.post("/pets", content=b'{"name": ', headers=as_json))
    body = NewPet(name="", category_id=CATEGORY)
    saw("empty name", create_pet.sync_detailed(client=CLIENT, body=body))
    body = NewPet(name="Rex", category_id=LARGEST - 1)
    saw("unknown category", create_pet.sync_detailed(client=CLIENT, body=body))
    saw("limit 0", list_pets.sync_detailed(client=CLIENT, limit=0))
    saw("damaged cursor", list_pets.sync_detailed(client=CLIENT, cursor="damaged"))
    saw("damaged cursor of categories", list_categories.sync_detailed(client=CLIENT, cursor="damaged"))
    body = NewPet(name="Rex", category_id=CATEGORY)
    answer = create_pet.sync_detailed(client=CLIENT, body=body, idempotency_key="two words")
    saw("idempotency key of two words", answer)


def keys() -> None:
    saw_raw("no key", httpx.get(f"{TOLD['url']}/pets"))
    unknown = list_pets.sync_detailed(client=client("pets_test_unknown"))
    saw("unknown key", unknown)
    assert unknown.headers["WWW-Authenticate"] == 'Bearer realm="petstore", error="invalid_token"'
    saw("expired key", list_pets.sync_detailed(client=client("expired")))
    saw("revoked key", get_category.sync_detailed(CATEGORY, client=client("revoked")))
    body = NewPet(name="Rex", category_id=CATEGORY)
    saw("create with a read key", create_pet.sync_detailed(client=client("read"), body=body))


def rejected() -> None:
    """Meet the other errors, by the generated functions where they can express the request."""
    http = CLIENT.get_httpx_client()
    saw("unknown pet", get_pet.sync_detailed(LARGEST, client=CLIENT))
    saw("unknown category id", get_category.sync_detailed(LARGEST - 1, client=CLIENT))
    saw_raw("unknown path", http.get("/dogs"))
    saw_raw("delete", http.delete("/pets"))
    body = NewPet(name="x" * 70_000, category_id=CATEGORY)
    saw("large body", create_pet.sync_detailed(client=CLIENT, body=body))
    saw_raw("text", http.post("/pets", content=b"Rex", headers={"Content-Type": "text/plain"}))
    body = NewPet(name="Other", category_id=CATEGORY)
    answer = create_pet.sync_detailed(client=CLIENT, body=body, idempotency_key="one")
    saw("other body, same idempotency key", answer)
    limited = client("limited")
    assert list_pets.sync_detailed(client=limited).status_code == HTTPStatus.OK
    answer_429 = list_pets.sync_detailed(client=limited)
    saw("over the limit", answer_429)
    assert 0 < int(answer_429.headers["Retry-After"]) <= 3600


def everything() -> None:
    categories()
    unchanged(animals())
    invalid()
    keys()
    rejected()


def in_progress() -> None:
    body = NewPet(name="Rex", category_id=CATEGORY)
    saw("in progress", create_pet.sync_detailed(client=CLIENT, body=body, idempotency_key=TOLD["idempotency_key"]))


def largest() -> None:
    smaug = Pet(id=LARGEST, name="Smaug", category_id=LARGEST, status=PetStatus.AVAILABLE)
    assert saw("get largest", get_pet.sync_detailed(LARGEST, client=CLIENT)) == smaug
    assert saw("list largest", list_pets.sync_detailed(client=CLIENT, limit=1)) == [smaug]


{"everything": everything, "in progress": in_progress, "largest": largest}[TOLD["walk"]]()
sys.stdout.write(json.dumps(SEEN))
