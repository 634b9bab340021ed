"""The cache in front of the table of keys: under load, one query a second for each key and process."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from django.conf import settings
from django.db import OperationalError
from django.db.models.expressions import RawSQL

from database.statements import Row, Statement, Steps, run
from petstore_site.apikeys import keys
from petstore_site.apikeys.models import APIKey

LIFETIME = 1.0
"""Seconds; a revocation takes effect within this time (docs/api-keys.md)."""

CAPACITY = 10_000
"""Digests; unknown ones are remembered too, so that guessing costs no more queries than knowing."""

Run = Callable[[Steps[list[Row]]], Awaitable[list[Row]]]
"""Runs the steps that look up a key."""


class CachedKey(NamedTuple):
    """What a request needs to know of its key; it becomes `request.auth`."""

    pk: int
    key_id: str
    name: str
    scope: str
    rate_limit: str
    expires_at: datetime | None
    revoked_at: datetime | None
    caller_id: int = 0
    """The first of the keys that it replaced one after the other, or itself: who retries is the same caller."""


class KeyQuery(NamedTuple):
    """A query that is under way or done, and the reading of the clock before it began."""

    asked_at: float
    answer: Future[CachedKey | None]


class KeyCache:
    """Remembers what `load` returned for a digest; threads that miss together share one call."""

    def __init__(self, load: Callable[[str], CachedKey | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, KeyQuery] = OrderedDict()

    def find(self, digest: str) -> CachedKey | None:
        """Return the key with this digest as it was at most `LIFETIME` ago, or None.

        What `load` raises goes to all who waited for it, and is not remembered.
        """
        entry, is_new = self._entry(digest)
        if is_new:
            with self._filling(digest, entry):
                entry.answer.set_result(self._load(digest))
        return entry.answer.result()

    async def find_async(self, digest: str, run: Run) -> CachedKey | None:
        """Return the same with the statement that `run` runs."""
        entry, is_new = self._entry(digest)
        if is_new:
            with self._filling(digest, entry):
                rows = await run(_one(digest))
                entry.answer.set_result(_key_of(rows))
        return entry.answer.result() if entry.answer.done() else await asyncio.wrap_future(entry.answer)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def _entry(self, digest: str) -> tuple[KeyQuery, bool]:
        now = self._clock()
        with self._lock:
            entry = self._entries.get(digest)
            is_fresh = entry is not None and now - entry.asked_at < LIFETIME
            if entry is None or not is_fresh:
                entry = self._entries[digest] = KeyQuery(now, Future())
                entry.answer.set_running_or_notify_cancel()  # no caller that is canceled cancels it for the others
            self._entries.move_to_end(digest)
            if len(self._entries) > CAPACITY:
                self._entries.popitem(last=False)
        return entry, not is_fresh

    @contextmanager
    def _filling(self, digest: str, entry: KeyQuery) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            with self._lock:
                if self._entries.get(digest) is entry:
                    del self._entries[digest]
            # Who waited for a caller that was canceled must not be canceled too.
            entry.answer.set_exception(error if isinstance(error, Exception) else OperationalError())
            raise


class Digests:
    """The digests of the keys that came in this second: making one takes three times as long as finding its key.

    All are forgotten with the first key of another second.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._digests: dict[tuple[str, str], str | None] = {}

    def of(self, text: str) -> str | None:
        """Return the digest of a key, or None if the text is not a well-formed one."""
        second, digests = int(self._clock()), self._digests
        if second != self._second or len(digests) >= CAPACITY:
            digests = self._digests = {}
            self._second = second
        sent = settings.API_KEY_PREFIX, text
        if sent not in digests:
            # A well-formed key is narrower than RFC 6750's b64token, and than its limit of 256 characters.
            digests[sent] = keys.digest(text) if keys.is_well_formed(text, prefix=settings.API_KEY_PREFIX) else None
        return digests[sent]

    def clear(self) -> None:
        self._digests = {}


CALLER = """
    WITH RECURSIVE "former" ("id") AS (
        SELECT "apikeys_apikey"."id" UNION
        SELECT "key"."id" FROM "apikeys_apikey" AS "key" JOIN "former" ON "key"."replaced_by_id" = "former"."id"
    ) SELECT min("id") FROM "former"
"""
"""The first key of those that were replaced by each other up to this one. It never changes: no key is deleted."""


@cache
def _statement() -> str:
    keys_with_caller = APIKey.objects.filter(digest="").annotate(caller_id=RawSQL(CALLER, ()))  # noqa: S611 - a constant
    return keys_with_caller.values_list(*CachedKey._fields).query.sql_with_params()[0] % "%(digest)s"


def _one(digest: str) -> Steps[list[Row]]:
    return (yield Statement(_statement(), {"digest": digest}))  # type: ignore[no-any-return]


def _key_of(rows: list[Row]) -> CachedKey | None:
    """Return the key in the row that no model has read, if there is one: SQLite's datetimes have no time zone."""
    return next((CachedKey._make(_in_utc(value) for value in row) for row in rows), None)


def _in_utc(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def _load(digest: str) -> CachedKey | None:
    return _key_of(run(_one(digest)))


_cache = KeyCache(_load)
_digests = Digests()
find = _cache.find
find_async = _cache.find_async
digest_of = _digests.of


def clear() -> None:
    """Forget everything."""
    _cache.clear()
    _digests.clear()
