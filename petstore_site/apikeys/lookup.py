"""The cache in front of the table of keys: one query a second for each key and process.

So a revocation takes effect within a second (docs/api-keys.md).
"""

import asyncio
import threading
import time
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

CAPACITY = 10_000
"""Texts; unknown ones are remembered too, so that guessing costs no more queries than knowing."""

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


class KeyCache:
    """The keys that came in this second. All are forgotten with the first key of another second.

    Threads and tasks that miss a key together share one call of `load`, or one statement.
    """

    def __init__(self, load: Callable[[str], CachedKey | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._second = 0
        self._answers: dict[str, Future[CachedKey | None]] = {}

    def find(self, text: str) -> CachedKey | None:
        """Return the key that is this text as it was in this second, or None.

        What `load` raises goes to all who waited for it, and is not remembered.
        """
        answer, is_new = self._answer(text)
        if is_new:
            with self._filling(text, answer):
                digest = _digest(text)
                answer.set_result(self._load(digest) if digest else None)
        return answer.result()

    async def find_async(self, text: str, run: Run) -> CachedKey | None:
        """Return the same with the statement that `run` runs."""
        answer, is_new = self._answer(text)
        if is_new:
            with self._filling(text, answer):
                digest = _digest(text)
                answer.set_result(_key_of(await run(_one(digest))) if digest else None)
        return answer.result() if answer.done() else await asyncio.wrap_future(answer)

    def clear(self) -> None:
        with self._lock:
            self._answers = {}

    def _answer(self, text: str) -> tuple[Future[CachedKey | None], bool]:
        """Return what is or becomes the key, and whether the caller is to look it up."""
        with self._lock:
            second = int(self._clock())
            if second != self._second or len(self._answers) >= CAPACITY:
                self._second, self._answers = second, {}
            answer = self._answers.get(text)
            if answer is not None:
                return answer, False
            answer = self._answers[text] = Future()
            answer.set_running_or_notify_cancel()  # no caller that is canceled cancels it for the others
        return answer, True

    @contextmanager
    def _filling(self, text: str, answer: Future[CachedKey | None]) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            with self._lock:
                if self._answers.get(text) is answer:
                    del self._answers[text]
            # Who waited for a caller that was canceled must not be canceled too.
            answer.set_exception(error if isinstance(error, Exception) else OperationalError())
            raise


def _digest(text: str) -> str | None:
    """Return the digest of a key, or None if the text is not a well-formed one, which is no question to the database.

    A well-formed key is narrower than RFC 6750's b64token, and than its limit of 256 characters.
    """
    return keys.digest(text) if keys.is_well_formed(text, prefix=settings.API_KEY_PREFIX) else None


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
find = _cache.find
find_async = _cache.find_async
clear = _cache.clear
