"""The cache in front of the table of keys: under load, one query a second for each key and process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from typing import NamedTuple

from petstore_site.apikeys.models import APIKey

LIFETIME = 1.0
"""Seconds; a revocation takes effect within this time (docs/api-keys.md)."""

CAPACITY = 10_000
"""Digests; unknown ones are remembered too, so that guessing costs no more queries than knowing."""


class CachedKey(NamedTuple):
    """What a request needs to know of its key; it becomes `request.auth`."""

    pk: int
    key_id: str
    name: str
    scope: str
    rate_limit: str
    expires_at: datetime | None
    revoked_at: datetime | None
    recorded_until: datetime | None = None


class Entry(NamedTuple):
    """A query that is under way or done, and the reading of the clock before it began."""

    asked_at: float
    answer: Future[CachedKey | None]


class KeyCache:
    """Remembers what `load` returned for a digest; threads that miss together share one call."""

    def __init__(self, load: Callable[[str], CachedKey | None], clock: Callable[[], float] = time.monotonic) -> None:
        """Take the function that asks the table, and a clock in seconds."""
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, Entry] = OrderedDict()

    def find(self, digest: str) -> CachedKey | None:
        """Return the key with this digest as it was at most `LIFETIME` ago, or None.

        What `load` raises goes to all who waited for it, and is not remembered.
        """
        entry, is_new = self._entry(digest)
        if is_new:
            self._fill(digest, entry)
        return entry.answer.result()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def _entry(self, digest: str) -> tuple[Entry, bool]:
        now = self._clock()
        with self._lock:
            entry = self._entries.get(digest)
            is_fresh = entry is not None and now - entry.asked_at < LIFETIME
            if entry is None or not is_fresh:
                entry = self._entries[digest] = Entry(now, Future())
            self._entries.move_to_end(digest)
            if len(self._entries) > CAPACITY:
                self._entries.popitem(last=False)
        return entry, not is_fresh

    def _fill(self, digest: str, entry: Entry) -> None:
        try:
            entry.answer.set_result(self._load(digest))
        except BaseException as error:
            with self._lock:
                if self._entries.get(digest) is entry:
                    del self._entries[digest]
            entry.answer.set_exception(error)
            raise


def _load(digest: str) -> CachedKey | None:
    row = APIKey.objects.filter(digest=digest).values_list(*CachedKey._fields).first()
    return row and CachedKey(*row)


_cache = KeyCache(_load)
find = _cache.find
clear = _cache.clear
