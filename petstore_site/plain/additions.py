"""Respond to a POST that adds an animal with a good key, a valid NewPet and no `Idempotency-Key`."""

import logging
from http import HTTPStatus
from typing import Any

from django.db import DatabaseError, InterfaceError
from rest_framework.exceptions import APIException, Throttled, ValidationError

from history.acting import identify
from pets.columns import SHOWN
from pets.rules import NO_SUCH_CATEGORY
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

        Raises `UnknownOutcomeError`. The body, which was read, can be read again.
        """
        if not _may_be_plain(environ):
            return None
        try:
            return await self._respond(environ)
        except (APIException, DatabaseError, InterfaceError):  # the viewset says what is wrong, or tries again
            environ["wsgi.input"].seek(0)
            return None

    async def _respond(self, environ: Environ) -> Response | None:
        sent = Sent(self._way, environ, self._heads, "pet-list")
        header = environ.get("HTTP_AUTHORIZATION")
        key = None if header is None else await self._way.find_key(header)
        if key is None:
            return sent.unauthorized(header)
        if not is_usable(key) or key.scope != Scope.WRITE:
            return None
        values = values_of(self._parser.parse(environ["wsgi.input"]))
        if not await sent.is_within_limit(key):
            raise Throttled
        identify(actor(key))
        pk = await self._add(sent, values, key)
        body = render_json(shown((pk, *(values[column.name] for column in SHOWN))))
        return sent.accepted(HTTPStatus.CREATED, {"Location": f"{sent.origin}{LIST}/{pk}"}, body, key)

    async def _add(self, sent: Sent, values: dict[str, Any], key: CachedKey) -> int:
        """Return the ID of the animal; raises `UnknownOutcomeError`, and whatever the viewset is to handle."""
        reset_commit_state()
        try:
            added = await self._way.run(adding(values), sent.environ)
        except (DatabaseError, InterfaceError) as error:
            if outcome_is_unknown():
                logger.error(  # noqa: TRY400 - without a traceback, as other errors of the database
                    "Database error while an animal was added, which may be done: %s", error.__cause__
                )
                raise UnknownOutcomeError(key) from error
            raise
        if outcome_is_unknown():
            raise UnknownOutcomeError(key)
        if not added:
            raise ValidationError(NO_SUCH_CATEGORY)
        return int(added[0][0])


def _may_be_plain(environ: Environ) -> bool:
    return (
        environ["REQUEST_METHOD"] == "POST"
        and environ["PATH_INFO"] == LIST
        and not environ["QUERY_STRING"]
        and environ.get("CONTENT_TYPE") in CONTENT_TYPES
        and "HTTP_IDEMPOTENCY_KEY" not in environ
        and is_usual(environ)
    )
