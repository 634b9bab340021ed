"""Respond to a GET of a list or an animal with a good key and parameters that are plainly right."""

import re
from http import HTTPStatus
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from pets import statements
from pets.serializers import shown
from pets.views import PetPagination
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.plain.requests import LIST, ONE, Environ, Response, Sent, Way, heads, is_usable, is_usual
from rest.api import entity_tag, names
from rest.errors import APIError
from rest.ids import parse_id
from rest.media_type import render_json
from rest.paging import asked, link_to

QUERY = re.compile(r"(?:(?:limit|status|cursor)=[A-Za-z0-9._-]+(?:&(?=[lsc])|\Z))*")
"""A query that means the same to every reader."""


class PlainReads:
    """Respond to plain reads, in one way of waiting."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._vendor = connection.vendor
        self._heads = heads()

    async def respond(self, environ: Environ) -> Response | None:
        """Return the response to a plain read, or None: it is none, or the database fails."""
        if not _may_be_plain(environ):
            return None
        try:
            return await self._respond(environ)
        except (APIError, DatabaseError, InterfaceError):  # the viewset says what is wrong, or tries again
            return None

    async def _respond(self, environ: Environ) -> Response | None:
        route = "pet-list" if environ["PATH_INFO"] == LIST else "pet-detail"
        sent = Sent(self._way, environ, self._heads, route)
        header = environ.get("HTTP_AUTHORIZATION")
        key = None if header is None else await self._way.find_key(header)
        if key is None:
            return sent.unauthorized(header)
        if not is_usable(key):
            return None
        read = await (self._list(sent, key) if sent.route == "pet-list" else self._one(sent, key))
        if read is None:
            return None
        data, link = read
        body = render_json(data)
        tag = {"ETag": entity_tag(body, link)}
        if names(environ.get("HTTP_IF_NONE_MATCH", ""), tag["ETag"]):
            return sent.accepted(HTTPStatus.NOT_MODIFIED, tag, b"", key, link)
        return sent.accepted(HTTPStatus.OK, tag, body, key, link)

    async def _list(self, sent: Sent, key: CachedKey) -> tuple[list[dict[str, Any]], str] | None:
        """Return a page and its `Link`, empty on the last page."""
        query = sent.environ.get("QUERY_STRING", "")
        pairs = [pair.split("=", 1) for pair in query.split("&")] if query else []
        values = {name: [value] for name, value in pairs} if QUERY.fullmatch(query) else {}
        if len(values) < len(pairs):
            return None
        wanted = asked(LIST, lambda name: values.get(name, []), PetPagination.filters)
        if not await sent.is_within_limit(key):
            return None
        rows = await self._way.run(wanted.steps(statements, self._vendor), sent.environ)
        page, last_id = wanted.cut(rows, shown)
        return page, link_to(f"{sent.origin}{LIST}", wanted.next_query(last_id)) if last_id else ""

    async def _one(self, sent: Sent, key: CachedKey) -> tuple[dict[str, Any], str] | None:
        """Return the animal, which has no `Link` of its own."""
        pk = parse_id(sent.path.removeprefix(ONE))
        if not pk or not await sent.is_within_limit(key):
            return None
        found = await self._way.run(statements.one(pk), sent.environ)
        return (shown(found[0]), "") if found else None


def _may_be_plain(environ: Environ) -> bool:
    path = environ["PATH_INFO"]
    return (
        environ["REQUEST_METHOD"] in {"GET", "HEAD"}
        and (path == LIST or (path.startswith(ONE) and parse_id(path.removeprefix(ONE)) is not None))
        and environ.get("CONTENT_LENGTH", "") in {"", "0"}
        and is_usual(environ)
    )
