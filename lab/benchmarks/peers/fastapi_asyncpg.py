"""Peer: FastAPI with asyncpg."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any

import asyncpg
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

KEY = "SELECT id FROM shop_key WHERE digest = $1 AND revoked_at IS NULL"
COLUMNS = 'id, name, category_id AS "categoryId", status'
GET = f"SELECT {COLUMNS} FROM shop_pet WHERE id = $1"
ALL = f"SELECT {COLUMNS} FROM shop_pet WHERE id < $2 ORDER BY id DESC LIMIT $1"
BY_STATUS = f"SELECT {COLUMNS} FROM shop_pet WHERE status = $3 AND id < $2 ORDER BY id DESC LIMIT $1"
ADD = f"INSERT INTO shop_pet (name, category_id, status) VALUES ($1, $2, $3) RETURNING {COLUMNS}"
NEWEST = 2**63 - 1


class PetStatus(StrEnum):
    available = "available"
    pending = "pending"
    sold = "sold"


class NewPet(BaseModel):
    name: str = Field(min_length=1, max_length=255)
    categoryId: int
    status: PetStatus = PetStatus.available


class Pet(NewPet):
    id: int


class ETagRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def conditional(request: Request) -> Response:
            response = await handle(request)
            if request.method != "GET":
                return response
            etag = f'"{sha256(response.body).hexdigest()[:32]}"'
            if request.headers.get("if-none-match") == etag:
                return Response(status_code=304, headers={"ETag": etag})
            response.headers["ETag"] = etag
            return response

        return conditional


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool() as app.state.pool:
        yield


async def database(request: Request) -> asyncpg.Pool:
    return request.app.state.pool


Database = Annotated[asyncpg.Pool, Depends(database)]


async def check_key(database: Database, given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> None:
    if await database.fetchval(KEY, sha256(given.credentials.encode()).hexdigest()) is None:
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})


router = APIRouter(prefix="/v1", route_class=ETagRoute, dependencies=[Depends(check_key)])


@router.get("/pets", response_model=list[Pet])
async def list_pets(
    request: Request,
    response: Response,
    database: Database,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    status: PetStatus | None = None,
    before: int = NEWEST,
) -> Any:
    filtered = (BY_STATUS, limit + 1, before, status) if status else (ALL, limit + 1, before)
    rows = [dict(row) for row in await database.fetch(*filtered)]
    if len(rows) > limit:
        following = request.url.include_query_params(before=rows[limit - 1]["id"])
        response.headers["Link"] = f'<{following}>; rel="next"'
    return rows[:limit]


@router.get("/pets/{pet_id}", response_model=Pet)
async def get_pet(pet_id: int, database: Database) -> Any:
    row = await database.fetchrow(GET, pet_id)
    if row is None:
        raise HTTPException(404)
    return dict(row)


@router.post("/pets", response_model=Pet, status_code=201)
async def create_pet(new: NewPet, request: Request, response: Response, database: Database) -> Any:
    try:
        row = await database.fetchrow(ADD, new.name, new.categoryId, new.status)
    except asyncpg.ForeignKeyViolationError:
        raise HTTPException(400, "categoryId names no category.") from None
    response.headers["Location"] = str(request.url_for("get_pet", pet_id=row["id"]))
    return dict(row)


app = FastAPI(lifespan=lifespan, openapi_url=None)
app.include_router(router)
