"""Keyset paging, newest first, with RFC 8288 links (docs/decisions/0002)."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from django.core.signing import BadSignature
from django.db import connection
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from rest.cursors import CursorSigner, signer_for
from rest.errors import APIError, ErrorCode
from rest.ids import INT64_MAX
from rest.parameters import Filters, Query, filter_parameters, filter_readers
from rest.statements import Row, Shown, Statements, Steps, run

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too

DEFAULT_LIMIT = 20
MOST = 100


class Asked(NamedTuple):
    """Which page of a list a request asks for."""

    chosen: dict[str, str]
    """Filter → value."""
    limit: int
    given: dict[str, str]
    """`limit` as it was sent, if it was."""
    newest: int
    """The highest ID that the page can have."""
    signer: CursorSigner

    def steps(self, statements: Statements, vendor: str) -> Steps:
        """Return the statements of the page, which read one row more than it has."""
        return statements.page(vendor, self.chosen, self.newest, self.limit + 1)

    def cut(self, rows: list[Row], shown: Shown) -> tuple[list[dict[str, Any]], int | None]:
        """Return the page as the API shows it, and its last ID if there is more."""
        last_id: int | None = rows[self.limit - 1][0] if len(rows) > self.limit else None
        return [shown(row) for row in rows[: self.limit]], last_id

    def next_query(self, last_id: int) -> str:
        """Return the query of the page that follows this ID."""
        kept = self.given | self.chosen
        cursor = f"cursor={self.signer.sign_id(last_id)}"
        return f"{urlencode(kept)}&{cursor}" if kept else cursor


def asked(path: str, getlist: Callable[[str], list[str]], filters: Filters) -> Asked:
    """Read the parameters of a list; raises one `APIError` that names every wrong filter, `limit` and `cursor`."""
    query = Query(getlist, {"limit": _limit, **filter_readers(filters), "cursor": str})
    chosen = {name: value for name, value in query.values.items() if name in filters}
    signer = signer_for(path, chosen)
    newest = _newest(query, filters, signer)
    query.check()
    given = {"limit": getlist("limit")[0]} if "limit" in query.values else {}
    return Asked(chosen, query.values.get("limit", DEFAULT_LIMIT), given, newest, signer)


class KeysetPagination(BasePagination):
    """A page of a list, newest first. A view declares a subclass beside it.

    By keyset on the id: no OFFSET, no COUNT, one row more than `limit` shows whether
    there is more. The cursor is the last row's id, signed for its list and filters.
    """

    filters: ClassVar[Filters] = {}
    """Query parameter, which is also the field → the values it can have."""

    statements: ClassVar[Statements]

    shown: "ClassVar[staticmethod[[Row], dict[str, Any]]]"

    def respond(self, request: Request) -> Response:
        """Return the bare array, with the link to the next page if there is one."""
        wanted = asked(request.path, request.query_params.getlist, self.filters)
        rows = run(wanted.steps(self.statements, connection.vendor))
        data, last_id = wanted.cut(rows, self.shown)
        address = request.build_absolute_uri(request.path)
        headers = {"Link": link_to(address, wanted.next_query(last_id))} if last_id else None
        return Response(data, headers=headers)

    def get_paginated_response_schema(self, schema: Any) -> Any:
        """Return the schema of a page for the API description; of an example, drf-spectacular passes no dict."""
        return schema | {"maxItems": MOST} if isinstance(schema, dict) else schema

    def get_schema_operation_parameters(self, _view: "APIView") -> list[dict[str, Any]]:
        """Return the parameters for the API description."""
        return [
            *filter_parameters(self.filters),
            {
                "name": "limit",
                "in": "query",
                "required": False,
                "description": "The maximum number of items in the response.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT},
            },
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "Where the page starts. Opaque: copy it from the previous page's `next` link. "
                "Use it unchanged.",
                "schema": {"type": "string"},
            },
        ]


def link_to(address: str, query: str) -> str:
    """Return the `Link` to the next page."""
    return f'<{address}?{query}>; rel="next"'


def _newest(query: Query, filters: Filters, signer: CursorSigner) -> int:
    """Return the highest id of the page. A cursor belongs to its filters: a wrong filter leaves it unchecked."""
    if "cursor" not in query.values or filters.keys() & query.errors.keys():
        return INT64_MAX
    try:
        last = signer.unsign_id(query.values["cursor"])
    except BadSignature:
        if not query.errors:
            raise APIError(ErrorCode.INVALID_CURSOR) from None
        query.errors["cursor"] = "cursor is damaged or belongs to another list."
        return INT64_MAX
    return last - 1


def _limit(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]*", text) or len(text) > len(str(MOST)) or int(text) > MOST:
        message = f"must be a whole number from 1 to {MOST}."
        raise ValueError(message)
    return int(text)
