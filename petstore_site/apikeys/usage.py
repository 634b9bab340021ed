"""Counts the use of keys in memory. A thread saves it, and what else requests left there, so that none waits for it."""

import atexit
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from traceback import clear_frames
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.models import APIKey, KeyUsage, Use


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


class Buffer:
    """Keeps what requests leave until the writer saves it."""

    def __init__(self, empty: Callable[[], Any], failed: str) -> None:
        """Take what begins empty, can `save` itself and `add` a newer one, and what the log says if it is not saved."""
        self.lock = threading.Lock()
        self.kept: Any = empty()
        self._empty, self._failed = empty, failed
        self._one_writer = threading.Lock()

    def flush(self) -> None:
        """Save what is kept. If that fails, keep it for the next flush."""
        with self._one_writer:
            taken = self._take()
            try:
                taken.save()
            except Exception as error:
                with self.lock:
                    taken.add(self.kept)
                    self.kept = taken
                logging.getLogger(self._empty.__module__).warning(self._failed, exc_info=True)
                clear_frames(error.__traceback__)  # frees SQLite's cursor, as serving/threads.py explains

    def clear(self) -> None:
        self._take()

    def _take(self) -> Any:
        with self.lock:
            taken, self.kept = self.kept, self._empty()
        return taken


@dataclass
class Uses:
    """How often keys were used, and when last."""

    counts: Counter[Use] = field(default_factory=Counter)
    last_used_at: dict[int, datetime] = field(default_factory=dict)

    def add(self, newer: "Uses") -> None:
        self.counts.update(newer.counts)
        self.last_used_at |= newer.last_used_at

    def save(self) -> None:
        if not self.counts:
            return
        with transaction.atomic():
            # Locked in one order, so that processes cannot block each other, and no key is deleted meanwhile.
            used = APIKey.objects.locked().filter(pk__in=self.last_used_at).order_by("pk")
            stored = set(used.values_list("pk", flat=True))
            KeyUsage.objects.add_all(sorted((use, count) for use, count in self.counts.items() if use.key in stored))
            for pk in sorted(stored):
                used_before = Q(last_used_at=None) | Q(last_used_at__lt=self.last_used_at[pk])
                APIKey.objects.filter(used_before, pk=pk).update(last_used_at=self.last_used_at[pk])


_buffer = Buffer(Uses, "The use of API keys was not written down; it is tried again.")
clear = _buffer.clear
flush = writer.calls(_buffer.flush)


def count(key: CachedKey, *, route: str, status: int) -> None:
    """Count one request that the key made just now and its response's `status`."""
    now = timezone.now()
    with _buffer.lock:
        _buffer.kept.counts[Use(key.pk, now.date(), route, status // 100)] += 1
        _buffer.kept.last_used_at[key.pk] = now
    writer.start()
