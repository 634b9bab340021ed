"""The API as Python objects, on top of the functions that openapi-python-client generates."""

import time
import uuid
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, NamedTuple, Self, Unpack, cast
from urllib.parse import parse_qs, urlsplit

import httpx
from attrs import evolve

from petstore_client.configuration import KeyedClient, checked_key, checked_url
from petstore_client.errors import PetStoreError, UnexpectedResponseError
from petstore_client.generated.api.categories import get_category, list_categories
from petstore_client.generated.api.changes import list_changes
from petstore_client.generated.api.pets import create_pet, list_pets
from petstore_client.generated.models import Category, NewPet, Pet, PetChange, PetStatus
from petstore_client.generated.types import UNSET, Response
from petstore_client.responses import next_url
from petstore_client.retrying import Options, RetryingClient, backoff, with_headers


class ChangesPage(NamedTuple):
    """A page of the feed of changes."""

    changes: list[PetChange]
    """Each with `change`, `pet_id`, and `pet` if it was saved. None: nothing more can be listed now."""
    cursor: str
    """Where to go on. Store it together with the changes."""


class Feed:
    """Where a follower of the feed of changes is, and how long it waits."""

    def __init__(self, cursor: str | None, page_size: int, max_pause: float) -> None:
        """Begin at the cursor, or now."""
        self._cursor, self._page_size, self._max_pause = cursor, page_size, max_pause
        self._etag: str | None = None
        self._empty = self._failed = 0
        """How many times in a row there was nothing, or no response of the feed."""

    def options(self) -> dict[str, Any]:
        """Return what the generated function takes."""
        asked = {"cursor": self._cursor or UNSET, "if_none_match": self._etag or UNSET}
        return asked | {"limit": self._page_size}

    def read(self, response: Response[Any]) -> ChangesPage | None:
        """Return the page of a response, or None for a 304."""
        self._failed = 0
        is_known = response.status_code == HTTPStatus.NOT_MODIFIED
        changes: list[PetChange] = response.parsed or []
        self._empty = 0 if changes or self._cursor is None else self._empty + 1
        self._etag = response.headers.get("ETag", self._etag) if self._empty else None
        self._cursor = next_cursor(response) or self._cursor or ""
        return None if is_known else ChangesPage(changes, self._cursor)

    def pause(self) -> float:
        """Return the seconds to wait: 0 after changes, then 1 to 2, 2 to 4 and so on."""
        return self._backoff(self._empty) if self._empty else 0

    def pause_after(self, error: PetStoreError) -> float:
        """Return the seconds to wait after an error. Raise it if waiting is of no use, or there was no page yet."""
        if not (error.is_temporary and self._cursor):
            raise error
        self._failed += 1
        return max(self._backoff(self._failed), error.retry_after or 0)

    def _backoff(self, times: int) -> float:
        return min(self._max_pause, backoff(min(times, 20) + 1))


class PetStore:
    """The Pet Store, seen with one API key.

    Whatever goes wrong with a request raises `PetStoreError`.
    `api` has the key, timeout and retries for the functions in `petstore_client.generated.api`.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        http_client: httpx.Client | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Call the API at `base_url`, which ends in `/v1`. Without it or `key`, read PETSTORE_URL or PETSTORE_API_KEY.

        One that is missing or cannot be one raises `ValueError`. White space around both is ignored.
        `http_client` sends the requests, with its proxies, certificates and hooks; you close it.
        """
        self._url, key = checked_url(base_url), checked_key(key)
        self._options = options
        self._http = RetryingClient(http_client, self._url, key, options)
        self.api = KeyedClient(base_url=self._url, token=key).set_httpx_client(self._http)

    def with_options(self, **options: Unpack[Options]) -> Self:
        """Return the store with other options for some calls: `store.with_options(timeout=2).category(1)`.

        What you leave out stays, and `headers` are added. It uses the connections of this store: close only this one.
        """
        changed = with_headers(self._options, options)
        return type(self)(self._url, self.api.token, http_client=self._http.via, **changed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def pets(
        self, *, status: PetStatus | str | None = None, category_id: int | None = None, page_size: int = 100
    ) -> Iterator[Pet]:
        """Yield all animals with a status and in a category, newest first. Fetch the next page when it is needed."""
        return self._every(list_pets, **list_options(status, category_id, page_size))

    def add_pet(self, pet: NewPet, *, idempotency_key: str | None = None) -> Pet:
        """Add an animal once, whatever happens to the responses.

        Pass a key of your own, and store it, to repeat the call after a crash of your program too.
        """
        return cast("Pet", self._call(create_pet, **addition(pet, idempotency_key)).parsed)

    def categories(self, *, page_size: int = 100) -> Iterator[Category]:
        """Yield all categories, newest first: the valid values of `category_id`."""
        return self._every(list_categories, limit=page_size)

    def changes(
        self, cursor: str | None = None, *, page_size: int = 100, max_pause: float = 30
    ) -> Iterator[ChangesPage]:
        """Follow the feed of changes without end, from the cursor of a page, or from now. An empty page: no more yet.

        After an empty page, wait 1 s and up to `max_pause` seconds. With a cursor, an outage is waited out as well,
        however long it is. Raise `CursorExpiredError` if you must begin again.
        """
        feed = Feed(cursor, page_size, max_pause)
        while True:
            try:
                response = self._call(list_changes, **feed.options())
            except PetStoreError as error:
                time.sleep(feed.pause_after(error))
                continue
            if page := feed.read(response):
                yield page
            time.sleep(feed.pause())

    def category(self, category_id: int) -> Category:
        """Return one category."""
        return cast("Category", self._call(get_category, category_id=category_id).parsed)

    def _call(self, operation: Any, **options: Any) -> Response[Any]:
        return understood(operation, self.api, self._http.request(**operation._get_kwargs(**options)))

    def _every(self, operation: Any, **options: Any) -> Iterator[Any]:
        """Follow the pages to the end."""
        cursor: str | None = ""
        while cursor is not None:
            page = self._call(operation, cursor=cursor or UNSET, **options)
            yield from page.parsed or []
            cursor = next_cursor(page)


def list_options(status: PetStatus | str | None, category_id: int | None, page_size: int) -> dict[str, Any]:
    """Return what the generated function takes. An ID of 0 is sent too: the API says what is wrong with it."""
    chosen = UNSET if category_id is None else category_id
    return {"status": PetStatus(status) if status else UNSET, "category_id": chosen, "limit": page_size}


def addition(pet: NewPet, idempotency_key: str | None) -> dict[str, Any]:
    """Return what the generated function takes. A status can be a string."""
    body = evolve(pet, status=PetStatus(pet.status)) if pet.status else pet
    return {"body": body, "idempotency_key": idempotency_key or str(uuid.uuid4())}


def understood(operation: Any, api: KeyedClient, response: httpx.Response) -> Response[Any]:
    """Return what the response says. Raise `UnexpectedResponseError` if it does not have the form of the API's."""
    try:
        built = cast("Response[Any]", operation._build_response(client=api, response=response))
        if built.parsed != [] or response.json() == []:  # `{}` has no animals either
            return built
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnexpectedResponseError.of(response) from error
    raise UnexpectedResponseError.of(response)


def next_cursor(page: Response[Any]) -> str | None:
    """Return the cursor of the `next` link. The key goes to `base_url` only, whatever the link's host is."""
    response = httpx.Response(page.status_code, headers=page.headers)
    url = next_url(", ".join(response.headers.get_list("Link")))
    if url is None:
        return None
    cursors = parse_qs(urlsplit(url).query).get("cursor")
    if not cursors:
        raise UnexpectedResponseError.of(response)
    return cursors[0]
