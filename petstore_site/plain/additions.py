"""Respond to a POST that adds an animal with a good key, a valid NewPet and no `Idempotency-Key`."""

import logging
from http import HTTPStatus
from typing import Any

from django.db import DatabaseError, InterfaceError
from rest_framework.exceptions import ParseError, ValidationError

from history.acting import identify
from pets.columns import SHOWN
from pets.serializers import adding, shown, values_of
from petstore_site.apikeys.authentication import actor
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.models import Scope
from petstore_site.plain.requests import LIST, Environ, Response, Sent, Way, heads, is_usable, is_usual
from rest.database_errors import outcome_is_unknown, reset_commit_state
from rest.media_type import MEDIA_TYPE, StrictJSONParser, render_json

logger = logging.getLogger(__name__)

CONTENT_TYPES = {MEDIA_TYPE, f"{MEDIA_TYPE}; charset=utf-8"}
"""As clients usually write them."""


class UnknownOutcomeError(Exception):
    """The connection broke after the addition was sent, or no standby confirmed it: it may be done."""

    def __init__(self, key: CachedKey) -> None:
        """Take the key of the request."""
        super().__init__()
        self.key = key


class PlainAdditions:
    """Respond to plain additions, in one way of waiting, whose connections commit what they run (`committing`)."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._heads = heads()
        self._parser = StrictJSONParser()

    async def respond(self, environ: Environ) -> Response | None:
        """Return the response to a plain addition, or None: it is none, or the database failed before it was done.

        Raises `UnknownOutcomeError`. The body was read, and can be read again if there is no response.
        """
        return await self._respond(environ) if _may_be_plain(environ) else None

    async def _respond(self, environ: Environ) -> Response | None:
        sent = Sent(environ, self._heads, "pet-list")
        header = environ.get("HTTP_AUTHORIZATION")
        try:
            key = None if header is None else await self._way.find_key(header)
        except (DatabaseError, InterfaceError):
            return None
        if key is None:
            return sent.unauthorized(header)
        values = self._values(environ)
        if not values or not is_usable(key) or key.scope != Scope.WRITE:
            return None
        if not await sent.is_within_limit(self._way, key):
            return None
        identify(actor(key))
        pk = await self._add(values, key)
        if pk is None:
            return None
        body = render_json(shown((pk, *(values[column.name] for column in SHOWN))))
        return sent.accepted(HTTPStatus.CREATED, {"Location": f"{sent.origin}{LIST}/{pk}"}, body, key)

    def _values(self, environ: Environ) -> dict[str, Any] | None:
        """Return the values of a valid NewPet's columns."""
        body = environ["wsgi.input"]
        try:
            return values_of(self._parser.parse(body))
        except (ParseError, ValidationError):
            return None
        finally:
            body.seek(0)

    async def _add(self, values: dict[str, Any], key: CachedKey) -> int | None:
        """Return the ID of the animal, or None if it was not added."""
        reset_commit_state()
        try:
            added = await self._way.run(adding(values))
        except (DatabaseError, InterfaceError) as error:
            if not outcome_is_unknown():
                return None
            logger.exception("The connection broke while an animal was added. The response is 503.")
            raise UnknownOutcomeError(key) from error
        if outcome_is_unknown():
            raise UnknownOutcomeError(key)
        return added[0][0] if added else None


def _may_be_plain(environ: Environ) -> bool:
    return (
        environ["REQUEST_METHOD"] == "POST"
        and environ["PATH_INFO"] == LIST
        and not environ["QUERY_STRING"]
        and environ.get("CONTENT_TYPE") in CONTENT_TYPES
        and "HTTP_IDEMPOTENCY_KEY" not in environ
        and is_usual(environ)
    )
