"""Counts the use of keys in memory. A thread saves it, and what else requests left there, so that none waits for it."""

import atexit
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.models import APIKey, KeyUsage, Use

logger = logging.getLogger(__name__)


class Writer:
    """Calls the flushes that were given to it, every `settings.API_KEY_USE_FLUSH_SECONDS` and when the process ends."""

    def __init__(self) -> None:
        """Start without a thread: a server may fork before there is anything to write."""
        self._lock = threading.Lock()
        self._flushes: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def calls(self, flush: Callable[[], None]) -> Callable[[], None]:
        """Call `flush` too from now on, and return it; it must not raise."""
        self._flushes.append(flush)
        return flush

    def start(self) -> None:
        """Start the thread unless it runs; to be called whenever there is something to write."""
        if settings.API_KEY_USE_FLUSH_SECONDS is None or self._is_running():
            return
        with self._lock:
            if not self._is_running():
                self._thread = threading.Thread(target=self._write_on, name="api-key-use", daemon=True)
                self._thread.start()
                atexit.register(self._flush_and_close)

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _write_on(self) -> None:
        while (seconds := settings.API_KEY_USE_FLUSH_SECONDS) is not None:
            time.sleep(seconds)
            self._flush_and_close()

    def _flush_and_close(self) -> None:
        for flush in self._flushes:
            flush()
        connection.close()


writer = Writer()


class UseCounter:
    """What is counted and not saved yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_writer = threading.Lock()
        self._counts: Counter[Use] = Counter()
        self._last_used_at: dict[int, datetime] = {}

    def count(self, key: CachedKey, *, route: str, status: int) -> None:
        """Count one request that the key made just now and its response's `status`."""
        now = timezone.now()
        with self._lock:
            self._counts[Use(key.pk, now.date(), route, status // 100)] += 1
            self._last_used_at[key.pk] = now
        writer.start()

    def flush(self) -> None:
        """Save what was counted. If that fails, keep it for the next flush."""
        with self._one_writer:
            counts, last_used_at = self._take()
            try:
                _write(counts, last_used_at)
            except Exception:
                self._put_back(counts, last_used_at)
                logger.warning("The use of API keys was not written down; it is tried again.", exc_info=True)

    def clear(self) -> None:
        self._take()

    def _take(self) -> tuple[Counter[Use], dict[int, datetime]]:
        with self._lock:
            taken = self._counts, self._last_used_at
            self._counts, self._last_used_at = Counter(), {}
        return taken

    def _put_back(self, counts: Counter[Use], last_used_at: dict[int, datetime]) -> None:
        with self._lock:
            self._counts.update(counts)
            self._last_used_at = last_used_at | self._last_used_at


def _write(counts: Counter[Use], last_used_at: dict[int, datetime]) -> None:
    if not counts:
        return
    with transaction.atomic():
        # Locked in one order, so that processes cannot block each other, and no key is deleted meanwhile.
        stored = set(APIKey.objects.locked().filter(pk__in=last_used_at).order_by("pk").values_list("pk", flat=True))
        KeyUsage.objects.add_all(sorted((use, count) for use, count in counts.items() if use.key in stored))
        for pk in sorted(stored):
            used_before = Q(last_used_at=None) | Q(last_used_at__lt=last_used_at[pk])
            APIKey.objects.filter(used_before, pk=pk).update(last_used_at=last_used_at[pk])


_counter = UseCounter()
count = _counter.count
clear = _counter.clear
flush = writer.calls(_counter.flush)
