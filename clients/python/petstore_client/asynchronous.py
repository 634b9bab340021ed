"""The API for `asyncio`: the same methods and retries as `PetStore`."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Self, cast

from petstore_client.client import ChangesPage, Feed, list_options, next_cursor
from petstore_client.generated.api.categories import get_category, list_categories
from petstore_client.generated.api.changes import list_changes
from petstore_client.generated.api.pets import create_pet, list_pets
from petstore_client.generated.models import Category, NewPet, Pet, PetStatus
from petstore_client.generated.types import UNSET, Response
from petstore_client.keys import KeyedClient, checked
from petstore_client.retrying import AsyncRetryingClient


class AsyncPetStore:
    """The Pet Store, seen with one API key. Errors are those of `PetStore`.

    `api` has the key, timeout and retries for the `asyncio` functions in `petstore_client.generated.api`.
    """

    def __init__(self, base_url: str, key: str, *, timeout: float = 10, retries: int = 4, max_wait: float = 60) -> None:
        """Call the API at `base_url`, which ends in `/v1`. `timeout` and `max_wait` are seconds, as for `PetStore`."""
        key = checked(key)
        self._http = AsyncRetryingClient(
            base_url=base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout,
            retries=retries,
            max_wait=max_wait,
        )
        self.api = KeyedClient(base_url=base_url, token=key).set_async_httpx_client(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def pets(
        self, *, status: PetStatus | None = None, category_id: int | None = None, page_size: int = 100
    ) -> AsyncIterator[Pet]:
        """Yield all animals with a status and in a category, newest first. Fetch the next page when it is needed."""
        options = list_options(status, category_id, page_size)
        return _every(partial(list_pets.asyncio_detailed, client=self.api, **options))

    async def add_pet(self, pet: NewPet, *, idempotency_key: str | None = None) -> Pet:
        """Add an animal once, whatever happens to the responses. Pass a key of your own to repeat it after a crash."""
        key = idempotency_key or str(uuid.uuid4())
        return cast("Pet", await create_pet.asyncio(client=self.api, body=pet, idempotency_key=key))

    def categories(self, *, page_size: int = 100) -> AsyncIterator[Category]:
        """Yield all categories, newest first: the valid values of `category_id`."""
        return _every(partial(list_categories.asyncio_detailed, client=self.api, limit=page_size))

    async def changes(
        self, cursor: str | None = None, *, page_size: int = 100, max_pause: float = 30
    ) -> AsyncIterator[ChangesPage]:
        """Follow the feed of changes without end, as `PetStore.changes`."""
        feed = Feed(cursor, page_size, max_pause)
        while True:
            if page := feed.read(await list_changes.asyncio_detailed(client=self.api, **feed.options())):
                yield page
            await asyncio.sleep(feed.pause())

    async def category(self, category_id: int) -> Category:
        """Return one category."""
        return cast("Category", await get_category.asyncio(category_id, client=self.api))


async def _every(fetch: Callable[..., Awaitable[Response[Any]]]) -> AsyncIterator[Any]:
    """Follow the pages to the end."""
    cursor: str | None = ""
    while cursor is not None:
        page = await fetch(cursor=cursor or UNSET)
        for item in page.parsed or []:
            yield item
        cursor = next_cursor(page)
