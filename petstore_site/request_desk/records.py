"""Keep records of requests in memory until the writer saves them (docs/decisions/0019)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from petstore_site.apikeys.models import APIKey
from petstore_site.apikeys.usage import Buffer, writer
from petstore_site.logs import on_one_line, redact
from petstore_site.request_desk.models import LONGEST_MESSAGE, LONGEST_METHOD, RecordGap, RequestRecord

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


@dataclass
class Records:
    """Some records, and by hour how many there was no room for."""

    records: list[Record] = field(default_factory=list)
    gaps: Counter[datetime] = field(default_factory=Counter)
    _of_caller: Counter[int | None] = field(default_factory=Counter)
    _reads: int = 0

    def keep(self, record: Record) -> None:
        """Keep the record if there is room for it, else count it."""
        if len(self.records) < MOST and self._has_room(record):
            self.records.append(record)
            self._reads += record.is_good_read
            self._of_caller[record.key] += not record.is_good_read
        else:
            self.gaps[record.at.replace(minute=0, second=0, microsecond=0)] += 1

    def _has_room(self, record: Record) -> bool:
        if record.is_good_read:
            return self._reads < MOST_READS
        return self._of_caller[record.key] < (MOST_WITHOUT_KEY if record.key is None else MOST_OF_A_KEY)

    def add(self, newer: "Records") -> None:
        self.gaps.update(newer.gaps)
        for record in newer.records:
            self.keep(record)

    def save(self) -> None:
        """Save them, and delete some of what is too old."""
        if not self.records and not self.gaps:
            return
        with transaction.atomic():
            used = {record.key for record in self.records if record.key is not None}
            # Locked in one order, so that processes cannot block each other, and no key is deleted meanwhile.
            stored = APIKey.objects.locked().filter(pk__in=used).order_by("pk")
            reads_left = dict(stored.values_list("pk", "reads_left"))
            RequestRecord.objects.bulk_create(_rows(_within(reads_left, self.records), set(reads_left)))
            if self.gaps:
                RecordGap.objects.add_all(sorted(self.gaps.items()))
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


_buffer = Buffer(Records, "The records of requests were not saved. The next flush tries again.")
clear = _buffer.clear
flush = writer.calls(_buffer.flush)


def note(record: Record) -> None:
    """Keep the record until the next flush, if there is room for it."""
    with _buffer.lock:
        _buffer.kept.keep(record)
    writer.start()
