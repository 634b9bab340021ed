"""Keep records of requests in memory until the writer saves them (docs/decisions/0019)."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from petstore_site.apikeys.models import APIKey
from petstore_site.apikeys.usage import Buffer, writer
from petstore_site.back_office.request_desk.models import LONGEST_MESSAGE, LONGEST_METHOD, RequestRecord
from petstore_site.logs import on_one_line, redact

MOST_WITHOUT_KEY = 20
MOST_OF_A_KEY = 100
MOST = 1_000
"""Records that one process keeps between two flushes: without a known key, of each key, in all."""


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


@dataclass
class Records:
    """Some records."""

    records: list[Record] = field(default_factory=list)
    _of_caller: Counter[int | None] = field(default_factory=Counter)

    def keep(self, record: Record) -> None:
        """Keep the record if there is room for it."""
        most = MOST_WITHOUT_KEY if record.key is None else MOST_OF_A_KEY
        if len(self.records) < MOST and self._of_caller[record.key] < most:
            self.records.append(record)
            self._of_caller[record.key] += 1

    def add(self, newer: "Records") -> None:
        for record in newer.records:
            self.keep(record)

    def save(self) -> None:
        """Save them, and delete some of what is too old."""
        if not self.records:
            return
        with transaction.atomic():
            # Locked in one order, so that processes cannot block each other, and no key is deleted meanwhile.
            used = APIKey.objects.locked().filter(pk__in={record.key for record in self.records}).order_by("pk")
            stored = set(used.values_list("pk", flat=True))
            RequestRecord.objects.bulk_create(_row(record, stored) for record in self.records)
            RequestRecord.objects.purge()


def _row(record: Record, stored: set[int]) -> RequestRecord:
    columns = record._asdict()
    columns["key_id"] = record.key if columns.pop("key") in stored else None
    columns["method"] = _tidy(record.method)[:LONGEST_METHOD]
    columns["message"] = _tidy(record.message)[:LONGEST_MESSAGE]
    return RequestRecord(**columns)


def _tidy(text: str) -> str:
    """Return what a caller sent as text that every database accepts, without the secret of a key."""
    return redact(on_one_line(text))


def purge_all() -> int:
    """Delete everything expired, and return how many records that were.

    In small steps, so that requests that write records do not wait.
    """
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
