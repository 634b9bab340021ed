"""The API for `asyncio`: the same methods and retries as `PetStore`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self, Unpack, cast

import httpx

from petstore_client.client import ChangesPage, Feed, addition, list_options, next_cursor, understood
from petstore_client.configuration import KeyedClient, checked_key, checked_url
from petstore_client.errors import PetStoreError
from petstore_client.generated.api.categories import get_category, list_categories
from petstore_client.generated.api.changes import list_changes
from petstore_client.generated.api.pets import create_pet, list_pets
from petstore_client.generated.models import Category, NewPet, Pet, PetStatus
from petstore_client.generated.types import UNSET, Response
from petstore_client.retrying import AsyncRetryingClient, Options, with_headers


class AsyncPetStore:
    """The Pet Store, seen with one API key. Errors are those of `PetStore`.

    `api` has the key, timeout and retries for the `asyncio` functions in `petstore_client.generated.api`.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        http_client: httpx.AsyncClient | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Call the API at `base_url`. All arguments are as for `PetStore`."""
        self._url, key = checked_url(base_url), checked_key(key)
        self._options = options
        self._http = AsyncRetryingClient(http_client, self._url, key, options)
        self.api = KeyedClient(base_url=self._url, token=key).set_async_httpx_client(self._http)

    def with_options(self, **options: Unpack[Options]) -> Self:
        """Return the store with other options for some calls, as `PetStore.with_options`."""
        changed = with_headers(self._options, options)
        return type(self)(self._url, self.api.token, http_client=self._http.via, **changed)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def pets(
        self, *, status: PetStatus | str | None = None, category_id: int | None = None, page_size: int = 100
    ) -> AsyncIterator[Pet]:
        """Yield all animals with a status and in a category, newest first. Fetch the next page when it is needed."""
        return self._every(list_pets, **list_options(status, category_id, page_size))

    async def add_pet(self, pet: NewPet, *, idempotency_key: str | None = None) -> Pet:
        """Add an animal once, whatever happens to the responses. Pass a key of your own to repeat it after a crash."""
        return cast("Pet", (await self._call(create_pet, **addition(pet, idempotency_key))).parsed)

    def categories(self, *, page_size: int = 100) -> AsyncIterator[Category]:
        """Yield all categories, newest first: the valid values of `category_id`."""
        return self._every(list_categories, limit=page_size)

    async def changes(
        self, cursor: str | None = None, *, page_size: int = 100, max_pause: float = 30
    ) -> AsyncIterator[ChangesPage]:
        """Follow the feed of changes without end, as `PetStore.changes`."""
        feed = Feed(cursor, page_size, max_pause)
        while True:
            try:
                response = await self._call(list_changes, **feed.options())
            except PetStoreError as error:
                await asyncio.sleep(feed.pause_after(error))
                continue
            if page := feed.read(response):
                yield page
            await asyncio.sleep(feed.pause())

    async def category(self, category_id: int) -> Category:
        """Return one category."""
        return cast("Category", (await self._call(get_category, category_id=category_id)).parsed)

    async def _call(self, operation: Any, **options: Any) -> Response[Any]:
        return understood(operation, self.api, await self._http.request(**operation._get_kwargs(**options)))

    async def _every(self, operation: Any, **options: Any) -> AsyncIterator[Any]:
        """Follow the pages to the end."""
        cursor: str | None = ""
        while cursor is not None:
            page = await self._call(operation, cursor=cursor or UNSET, **options)
            for item in page.parsed or []:
                yield item
            cursor = next_cursor(page)
