"""Keyset paging, newest first, with RFC 8288 links (docs/decisions/0002).

By keyset on the ID: no OFFSET, no COUNT, one row more than `limit` shows whether there is more. The cursor is the last
row's ID, signed for its list and filters.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from django.core.signing import BadSignature
from rest_framework.pagination import BasePagination

from database.statements import Shown, Statements
from rest.cursors import CursorSigner, signer_for
from rest.errors import APIError, ErrorCode
from rest.ids import INT64_MAX
from rest.parameters import Filters, Query

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too

DEFAULT_LIMIT = 20
MOST = 100


class ListParameters(NamedTuple):
    """Which page of a list a request asks for."""

    chosen: dict[str, Any]
    """Filter → value."""
    limit: int
    given: dict[str, str]
    """`limit` as it was sent, if it was."""
    newest: int
    """The highest ID that the page can have."""
    signer: CursorSigner

    def next_query(self, last_id: int) -> str:
        """Return the query of the page that follows this ID."""
        kept = self.given | self.chosen
        cursor = f"cursor={self.signer.sign_id(last_id)}"
        return f"{urlencode(kept)}&{cursor}" if kept else cursor


class Listing:
    """A list: its statements, how it shows a row, and its filters."""

    def __init__(self, statements: Statements, shown: Shown, filters: Filters | None = None) -> None:
        """Take what differs between lists."""
        self.statements = statements
        self.shown = shown
        self.filters: Filters = filters or {}
        self._readers: Mapping[str, Callable[[str], Any]] = {
            "limit": _limit,
            **{name: each.read for name, each in self.filters.items()},
            "cursor": str,
        }

    def read(self, path: str, sent: Mapping[str, list[str]]) -> ListParameters:
        """Read the query of the list at this path; raises one `APIError` that names every wrong parameter."""
        query = Query(sent, self._readers)
        chosen = {name: query.values[name] for name in self.filters if name in query.values}
        signer = signer_for(path, chosen)
        newest = self._newest(query, signer)
        query.check()
        given = {"limit": sent["limit"][0]} if "limit" in query.values else {}
        return ListParameters(chosen, query.values.get("limit", DEFAULT_LIMIT), given, newest, signer)

    def _newest(self, query: Query, signer: CursorSigner) -> int:
        """Return the highest ID of the page. A cursor belongs to its filters: a wrong filter leaves it unchecked."""
        if "cursor" not in query.values or self.filters.keys() & query.errors.keys():
            return INT64_MAX
        try:
            last = signer.unsign_id(query.values["cursor"])
        except BadSignature:
            if not query.errors:
                raise APIError(ErrorCode.INVALID_CURSOR) from None
            query.errors["cursor"] = "cursor is damaged or belongs to another list."
            return INT64_MAX
        return last - 1


class KeysetPagination(BasePagination):
    """Describes the parameters of the list that a view declares as its `listing`."""

    def get_paginated_response_schema(self, schema: Any) -> Any:
        """Return the schema of a page for the API description; of an example, drf-spectacular passes no dict."""
        return schema | {"maxItems": MOST} if isinstance(schema, dict) else schema

    def get_schema_operation_parameters(self, view: "APIView") -> list[dict[str, Any]]:
        """Return the parameters for the API description."""
        listing: Listing = view.listing  # type: ignore[attr-defined]  # of `OperationViewSet`
        return [
            *(
                {"name": name, "in": "query", "required": False, "description": each.description, "schema": each.schema}
                for name, each in listing.filters.items()
            ),
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
                "schema": {"type": "string", "minLength": 1},
            },
        ]


def link_to(address: str, query: str) -> str:
    """Return the `Link` to the next page."""
    return f'<{address}?{query}>; rel="next"'


def _limit(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]*", text) or len(text) > len(str(MOST)) or int(text) > MOST:
        message = f"must be a whole number from 1 to {MOST}."
        raise ValueError(message)
    return int(text)
