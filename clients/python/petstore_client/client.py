"""The API as Python objects, on top of the functions that openapi-python-client generates."""

import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple, Self, cast
from urllib.parse import parse_qs, urlsplit

import httpx

from petstore_client.generated.api.categories import get_category, list_categories
from petstore_client.generated.api.changes import list_changes
from petstore_client.generated.api.pets import create_pet, list_pets
from petstore_client.generated.models import Category, NewPet, Pet, PetChange, PetStatus
from petstore_client.generated.types import UNSET, Response
from petstore_client.keys import KeyedClient, checked
from petstore_client.retrying import RetryingClient, backoff


class ChangesPage(NamedTuple):
    """A page of the feed of changes."""

    changes: list[PetChange]
    """Each with `change`, `pet_id`, and `pet` if it was saved. None: what you have is complete."""
    cursor: str
    """Where to go on. Store it together with the changes."""


class Feed:
    """Where a follower of the feed of changes is, and how long it waits."""

    def __init__(self, cursor: str | None, page_size: int, max_pause: float) -> None:
        """Begin at the cursor, or now."""
        self._cursor, self._page_size, self._max_pause = cursor, page_size, max_pause
        self._etag: str | None = None
        self._empty = 0
        """How many times in a row there was nothing."""

    def options(self) -> dict[str, Any]:
        """Return what the generated function takes."""
        asked = {"cursor": self._cursor or UNSET, "if_none_match": self._etag or UNSET}
        return asked | {"limit": self._page_size}

    def read(self, response: Response[Any]) -> ChangesPage | None:
        """Return the page of a response, or None for a 304."""
        is_known = response.status_code == HTTPStatus.NOT_MODIFIED
        changes: list[PetChange] = response.parsed or []
        self._empty = 0 if changes or self._cursor is None else self._empty + 1
        self._etag = response.headers.get("ETag", self._etag) if self._empty else None
        self._cursor = next_cursor(response) or self._cursor or ""
        return None if is_known else ChangesPage(changes, self._cursor)

    def pause(self) -> float:
        """Return the seconds to wait: 0 after changes, then 1 to 2, 2 to 4 and so on."""
        return min(self._max_pause, backoff(min(self._empty, 20) + 1)) if self._empty else 0


class PetStore:
    """The Pet Store, seen with one API key.

    Errors raise `PetStoreError`. If no response comes at all, the last attempt raises `httpx.TransportError`.
    `api` has the key, timeout and retries for the functions in `petstore_client.generated.api`.
    """

    def __init__(self, base_url: str, key: str, *, timeout: float = 10, retries: int = 4, max_wait: float = 60) -> None:
        """Call the API at `base_url`, which ends in `/v1`. `timeout` and `max_wait` are seconds.

        A `key` that cannot be one raises `ValueError`. White space around it, such as a line end, is ignored.
        `timeout` is for the connection and for each part of a response, `max_wait` for the wait before another attempt.
        """
        key = checked(key)
        self._http = RetryingClient(
            base_url=base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout,
            retries=retries,
            max_wait=max_wait,
        )
        self.api = KeyedClient(base_url=base_url, token=key).set_httpx_client(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def pets(
        self, *, status: PetStatus | None = None, category_id: int | None = None, page_size: int = 100
    ) -> Iterator[Pet]:
        """Yield all animals with a status and in a category, newest first. Fetch the next page when it is needed."""
        options = list_options(status, category_id, page_size)
        return _every(partial(list_pets.sync_detailed, client=self.api, **options))

    def add_pet(self, pet: NewPet, *, idempotency_key: str | None = None) -> Pet:
        """Add an animal once, whatever happens to the responses.

        Pass a key of your own, and store it, to repeat the call after a crash of your program too.
        """
        key = idempotency_key or str(uuid.uuid4())
        return cast("Pet", create_pet.sync(client=self.api, body=pet, idempotency_key=key))

    def categories(self, *, page_size: int = 100) -> Iterator[Category]:
        """Yield all categories, newest first: the valid values of `category_id`."""
        return _every(partial(list_categories.sync_detailed, client=self.api, limit=page_size))

    def changes(
        self, cursor: str | None = None, *, page_size: int = 100, max_pause: float = 30
    ) -> Iterator[ChangesPage]:
        """Follow the feed of changes without end, from the cursor of a page, or from now. An empty page: no more yet.

        After an empty page, wait 1 s and up to `max_pause` seconds. Raise `CursorExpiredError` if you must begin again.
        """
        feed = Feed(cursor, page_size, max_pause)
        while True:
            if page := feed.read(list_changes.sync_detailed(client=self.api, **feed.options())):
                yield page
            time.sleep(feed.pause())

    def category(self, category_id: int) -> Category:
        """Return one category."""
        return cast("Category", get_category.sync(category_id, client=self.api))


def list_options(status: PetStatus | None, category_id: int | None, page_size: int) -> dict[str, Any]:
    """Return what the generated function takes. An ID of 0 is sent too: the API says what is wrong with it."""
    chosen = UNSET if category_id is None else category_id
    return {"status": status or UNSET, "category_id": chosen, "limit": page_size}


def _every(fetch: Callable[..., Response[Any]]) -> Iterator[Any]:
    """Follow the pages to the end."""
    cursor: str | None = ""
    while cursor is not None:
        page = fetch(cursor=cursor or UNSET)
        yield from page.parsed or []
        cursor = next_cursor(page)


def next_cursor(page: Response[Any]) -> str | None:
    """Return the cursor of the `next` link. The key goes to `base_url` only, whatever the link's host is."""
    link = httpx.Response(200, headers=page.headers).links.get("next")
    return parse_qs(urlsplit(link["url"]).query)["cursor"][0] if link else None
