"""What an operation is: a function from a request to a result, which knows neither how it waits nor who calls it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from database.statements import Steps, vendor
from rest.errors import APIError, ErrorCode
from rest.ids import parse_id
from rest.paging import Listing, link_to
from rest.requests import Request, parameters
from rest.results import Result

Operation = Callable[[Request], Steps[Result]]


def page(request: Request, listing: Listing) -> Steps[Result]:
    """Return the page of a list that the query asks for, as a bare array, with the link to the next one."""
    wanted = listing.read(request.path, parameters(request.query))
    rows = yield from listing.statements.page(vendor(), wanted.chosen, wanted.newest, wanted.limit + 1)
    shown = [listing.shown(row) for row in rows[: wanted.limit]]
    if len(rows) <= wanted.limit:
        return Result(shown)
    return Result(shown, headers={"Link": link_to(request.url, wanted.next_query(rows[wanted.limit - 1][0]))})


def one(request: Request, listing: Listing, *, missing: ErrorCode) -> Steps[Result]:
    """Return the row of a list whose ID the path has; raises `APIError` with the code `missing`.

    `0`, `01`, `1.0` and `abc` are never IDs, so they give the same error as an ID that does not exist.
    """
    pk = parse_id(request.argument)
    rows = (yield from listing.statements.one(pk)) if pk else []
    if not rows:
        raise APIError(missing)
    return Result(listing.shown(rows[0]))


def created(request: Request, pk: int, data: Any) -> Result:
    """Return the result of an operation that created an object in the list which the path names."""
    return Result(data, int(HTTPStatus.CREATED), {"Location": f"{request.url}/{pk}"})
