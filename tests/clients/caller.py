"""A program on the packed Python client; `test_packed.py` type-checks it and runs it.

Each line that it reads is JSON: what to do, with what, and the client's options. It prints the result or the error as JSON.
"""

import json
import logging
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

import httpx
from petstore_client import NewPet, PetStatus, PetStore, PetStoreError, ResponseInfo
from petstore_client.errors import NoResponseError
from petstore_client.generated.api.pets import get_pet

store: PetStore
log: list[str] = []


class Log(logging.Handler):
    """Keeps the lines that the client logs."""

    def emit(self, record: logging.LogRecord) -> None:
        log.append(f"{record.levelname} {record.getMessage()}")


logging.getLogger("petstore_client").addHandler(Log())
logging.getLogger("petstore_client").setLevel(logging.DEBUG)


def pets(status: str | None, category_id: int | None, page_size: int) -> Any:
    return [pet.to_dict() for pet in store.pets(status=status, category_id=category_id, page_size=page_size)]


def categories(page_size: int) -> Any:
    return [category.to_dict() for category in store.categories(page_size=page_size)]


def add_pet(pet: dict[str, Any], idempotency_key: str | None) -> Any:
    return store.add_pet(NewPet.from_dict(pet), idempotency_key=idempotency_key).to_dict()


def add_with_text(name: str, category_id: int, status: Any) -> Any:
    return store.add_pet(NewPet(name, category_id, status)).to_dict()


def add_without_key(pet: dict[str, Any]) -> Any:
    return store.api.get_httpx_client().post("/pets", json=pet).json()


def changes(cursor: str | None, count: int, max_pause: float = 1) -> Any:
    pages = islice(store.changes(cursor, page_size=2, max_pause=max_pause), count)
    return [[[change.to_dict() for change in page.changes], page.cursor] for page in pages]


def statuses() -> list[PetStatus]:
    return [pet.status for pet in store.pets()]


def closed_copy() -> Any:
    with store.with_options(timeout=5) as copy:
        copy.category(1)
    return store.category(1).to_dict()


def error() -> Any:
    try:
        return store.category(1).to_dict()
    except PetStoreError as raised:
        status = raised.response and raised.response.status_code
        return [raised.is_temporary, raised.retry_after, raised.headers.get("X-Request-ID"), status]


OPERATIONS: dict[str, Callable[..., Any]] = {
    "pets": pets,
    "add_pet": add_pet,
    "add_with_text": add_with_text,
    "add_without_key": add_without_key,
    "categories": categories,
    "changes": changes,
    "statuses": statuses,
    "closed_copy": closed_copy,
    "error": error,
    "category": lambda category_id: store.category(category_id).to_dict(),
    "pet": lambda pet_id: getattr(get_pet.sync(pet_id, client=store.api), "name", None),
    "shown": lambda: repr(store.api),
    "parents": lambda: [kind.__name__ for kind in NoResponseError.__mro__],
    "codes": lambda: sorted({kind.__name__ for kind in PetStoreError.__subclasses__()}),
}


def answer(given: dict[str, Any]) -> Any:
    global store
    responses: list[ResponseInfo] = []
    sent: list[str] = []
    log.clear()
    hooks = {"request": [lambda request: sent.append(f"{request.method} {request.url.path}")]}
    try:
        with (
            httpx.Client(event_hooks=hooks, follow_redirects=True, auth=("other", "password")) as own,
            PetStore(
                given["url"],
                given["key"],
                http_client=own if given["own"] else None,
                on_response=responses.append,
                **given["options"],
            ) as first,
            first.with_options(**given["changed"]) as store,
        ):
            seen = {"result": OPERATIONS[given["do"]](*given["with"])}
            store.close()
            first.close()
            assert not own.is_closed
    except (PetStoreError, ValueError) as error:
        seen = seen_of(error)
    return noted(responses, sent) if given["noted"] else seen


def seen_of(error: PetStoreError | ValueError) -> dict[str, Any]:
    if isinstance(error, PetStoreError):
        return {"error": [type(error).__name__, error.code, error.status, error.message, error.request_id]}
    return {"wrong": str(error)}


def noted(responses: list[ResponseInfo], sent: list[str]) -> dict[str, Any]:
    told = [[one.status, one.request_id, one.rate_limit, one.response.json()] for one in responses]
    return {"responses": told, "sent": sent, "log": log}


def answer_lines(answer: Callable[[dict[str, Any]], Any]) -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    answer_lines(answer)
