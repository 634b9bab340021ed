"""As `caller.py`, on the asynchronous client."""

import asyncio
from typing import Any

import httpx
from caller import answer_lines, log, noted, seen_of
from petstore_client import AsyncPetStore, NewPet, PetStatus, PetStoreError, ResponseInfo
from petstore_client.generated.api.pets import get_pet


async def pets(store: AsyncPetStore, status: str | None, category_id: int | None, page_size: int) -> Any:
    found = store.pets(status=status, category_id=category_id, page_size=page_size)
    return [pet.to_dict() async for pet in found]


async def categories(store: AsyncPetStore, page_size: int) -> Any:
    return [category.to_dict() async for category in store.categories(page_size=page_size)]


async def add_pet(store: AsyncPetStore, pet: dict[str, Any], idempotency_key: str | None) -> Any:
    return (await store.add_pet(NewPet.from_dict(pet), idempotency_key=idempotency_key)).to_dict()


async def add_with_text(store: AsyncPetStore, name: str, category_id: int, status: Any) -> Any:
    return (await store.add_pet(NewPet(name, category_id, status))).to_dict()


async def add_without_key(store: AsyncPetStore, pet: dict[str, Any]) -> Any:
    return (await store.api.get_async_httpx_client().post("/pets", json=pet)).json()


async def changes(store: AsyncPetStore, cursor: str | None, count: int, max_pause: float = 1) -> Any:
    found: list[Any] = []
    async for page in store.changes(cursor, page_size=2, max_pause=max_pause):
        found.append([[change.to_dict() for change in page.changes], page.cursor])
        if len(found) == count:
            break
    return found


async def statuses(store: AsyncPetStore) -> list[PetStatus]:
    return [pet.status async for pet in store.pets()]


async def closed_copy(store: AsyncPetStore) -> Any:
    async with store.with_options(timeout=5) as copy:
        await copy.category(1)
    return (await store.category(1)).to_dict()


async def error(store: AsyncPetStore) -> Any:
    try:
        return (await store.category(1)).to_dict()
    except PetStoreError as raised:
        status = raised.response and raised.response.status_code
        return [raised.is_temporary, raised.retry_after, raised.headers.get("X-Request-ID"), status]


async def category(store: AsyncPetStore, category_id: int) -> Any:
    return (await store.category(category_id)).to_dict()


async def pet(store: AsyncPetStore, pet_id: int) -> Any:
    return getattr(await get_pet.asyncio(pet_id, client=store.api), "name", None)


async def shown(store: AsyncPetStore) -> Any:
    return repr(store.api)


async def stopped(store: AsyncPetStore) -> Any:
    try:
        async with asyncio.timeout(2):
            return (await store.category(1)).to_dict()
    except TimeoutError:
        return "stopped"


async def codes(_store: AsyncPetStore) -> Any:
    return sorted({kind.__name__ for kind in PetStoreError.__subclasses__()})


OPERATIONS = {
    one.__name__: one
    for one in (
        pets,
        categories,
        changes,
        statuses,
        error,
        add_pet,
        add_with_text,
        add_without_key,
        category,
        pet,
        closed_copy,
        shown,
        stopped,
        codes,
    )
}


async def answer(given: dict[str, Any]) -> Any:
    responses: list[ResponseInfo] = []
    sent: list[str] = []
    log.clear()

    async def note(request: httpx.Request) -> None:
        sent.append(f"{request.method} {request.url.path}")

    try:
        async with (
            httpx.AsyncClient(
                event_hooks={"request": [note]}, follow_redirects=True, auth=("other", "password")
            ) as own,
            AsyncPetStore(
                given["url"],
                given["key"],
                http_client=own if given["own"] else None,
                on_response=responses.append,
                **given["options"],
            ) as first,
            first.with_options(**given["changed"]) as store,
        ):
            seen = {"result": await OPERATIONS[given["do"]](store, *given["with"])}
            await store.aclose()
            await first.aclose()
            assert not own.is_closed
    except (PetStoreError, ValueError) as error:
        seen = seen_of(error)
    return noted(responses, sent) if given["noted"] else seen


answer_lines(lambda given: asyncio.run(answer(given)))
