"""Keep records of requests in memory until the writer saves them (docs/decisions/0019)."""

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from petstore_site.apikeys.models import APIKey
from petstore_site.apikeys.usage import writer
from petstore_site.logs import on_one_line, redact
from petstore_site.request_desk.models import LONGEST_MESSAGE, LONGEST_METHOD, RecordGap, RequestRecord

logger = logging.getLogger(__name__)

MOST_WITHOUT_KEY = 20
MOST_OF_A_KEY = 100
MOST = 1_000
"""Records that one process keeps between two flushes: without a known key, of each key, in all."""

MOST_READS = MOST // 2
"""How many of them are successful reads: errors and writes of others always have room."""


class Record(NamedTuple):
    """A request and its response. `key` is the row's primary key, `message` can hold anything the caller sent."""

    request_id: str
    key: int | None
    at: datetime
    method: str
    route: str
    status: int
    code: str
    message: str
    milliseconds: int
    is_good_read: bool
    """Whether it is here only because each request with its key is recorded."""


class RecordBuffer:
    """What is not saved yet: some records, and by hour how many there was no room for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_writer = threading.Lock()
        self._empty()

    def note(self, record: Record) -> None:
        """Keep the record if there is room for it, else count it."""
        with self._lock:
            self._keep(record)
        writer.start()

    def flush(self) -> None:
        """Save what was kept, and delete some of what is too old. If that fails, keep everything for the next flush."""
        with self._one_writer:
            records, gaps = self._take()
            if not records and not gaps:
                return
            try:
                _write(records, gaps)
            except Exception:
                self._put_back(records, gaps)
                logger.warning("The records of requests were not saved. The next flush tries again.", exc_info=True)

    def clear(self) -> None:
        self._take()

    def _empty(self) -> None:
        self._records: list[Record] = []
        self._of_caller: Counter[int | None] = Counter()
        self._reads = 0
        self._gaps: Counter[datetime] = Counter()

    def _keep(self, record: Record) -> None:
        if len(self._records) < MOST and self._has_room(record):
            self._records.append(record)
            self._reads += record.is_good_read
            self._of_caller[record.key] += not record.is_good_read
        else:
            self._gaps[record.at.replace(minute=0, second=0, microsecond=0)] += 1

    def _has_room(self, record: Record) -> bool:
        if record.is_good_read:
            return self._reads < MOST_READS
        return self._of_caller[record.key] < (MOST_WITHOUT_KEY if record.key is None else MOST_OF_A_KEY)

    def _take(self) -> tuple[list[Record], Counter[datetime]]:
        with self._lock:
            taken = self._records, self._gaps
            self._empty()
        return taken

    def _put_back(self, records: list[Record], gaps: Counter[datetime]) -> None:
        with self._lock:
            newer, newer_gaps = self._records, self._gaps
            self._empty()
            self._gaps = gaps + newer_gaps
            for record in [*records, *newer]:
                self._keep(record)


def _write(records: list[Record], gaps: Counter[datetime]) -> None:
    with transaction.atomic():
        used = {record.key for record in records if record.key is not None}
        # Locked in one order, so that processes cannot block each other, and no key is deleted meanwhile.
        stored = APIKey.objects.locked().filter(pk__in=used).order_by("pk")
        reads_left = dict(stored.values_list("pk", "reads_left"))
        RequestRecord.objects.bulk_create(_rows(_within(reads_left, records), set(reads_left)))
        if gaps:
            RecordGap.objects.add_all(sorted(gaps.items()))
        RequestRecord.objects.purge()


def _within(reads_left: dict[int, int], records: Iterable[Record]) -> list[Record]:
    """Return the records without the reads that are too many, and count those that are not; the last one ends it."""
    kept, before = [], dict(reads_left)
    for record in records:
        if record.is_good_read:
            if record.key is None or not reads_left.get(record.key):
                continue
            reads_left[record.key] -= 1
        kept.append(record)
    for pk, left in reads_left.items():
        if left < before[pk]:
            APIKey.objects.filter(pk=pk).update(reads_left=left, **({} if left else {"recorded_until": timezone.now()}))
    return kept


def _rows(records: Iterable[Record], stored: set[int]) -> Iterator[RequestRecord]:
    for record in records:
        columns = record._asdict()
        del columns["is_good_read"]
        columns["key_id"] = record.key if columns.pop("key") in stored else None
        columns["method"] = _tidy(record.method)[:LONGEST_METHOD]
        columns["message"] = _tidy(record.message)[:LONGEST_MESSAGE]
        yield RequestRecord(**columns)


def _tidy(text: str) -> str:
    """Return what a caller sent as text that every database accepts, without the secret of a key."""
    return redact(on_one_line(text))


def purge_all() -> int:
    """Delete everything expired, and return how many records that were.

    In small steps, so that requests that write records do not wait.
    """
    RecordGap.objects.expired().delete()
    deleted = 0
    while step := RequestRecord.objects.purge():
        deleted += step
    return deleted


_buffer = RecordBuffer()
note = _buffer.note
clear = _buffer.clear
flush = writer.calls(_buffer.flush)
