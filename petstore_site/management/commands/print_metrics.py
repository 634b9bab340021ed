"""`manage.py print_metrics`: what Prometheus should know about the data, for node_exporter's textfile collector."""

import os
import time
from collections.abc import Iterator
from datetime import timedelta
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import CommandParser
from django.db import connection
from django.db.models import Max

from commands.base import StoreCommand
from commands.exits import Exit, ExitError
from pets.importing.lock import ADVISORY_LOCK
from pets.models import ImportRun, ImportState
from petstore_site.apikeys.models import APIKey

PERIODS = {"1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
BACKUPS = {"base": ("base", "[0-9]*Z"), "dump": ("dump", "*.dump"), "sqlite": (".", "petstore-*Z.sqlite3")}
"""Kind of backup → its folder in the folder of backups, and the names in it."""

TABLES = """
SELECT relname, pg_total_relation_size(oid), greatest(reltuples, 0) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname
"""
ARCHIVING_FAILS = """
SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)::int FROM pg_stat_archiver
"""
FEED_DELAY = """
SELECT extract(epoch FROM now() - history_date), coalesce(
    (SELECT 'import ' || max(id) FROM pets_importrun WHERE state = 'running' AND EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = %s
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))),
    (SELECT 'process ' || pid || ' in ' || datname FROM pg_stat_activity WHERE backend_xid = oldest::xid),
    (SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts WHERE transaction = oldest::xid),
    'unknown')
FROM pets_petchange, pg_snapshot_xmin(pg_current_snapshot()) AS oldest
WHERE transaction_id >= oldest AND transaction_id < pg_snapshot_xmax(pg_current_snapshot())
ORDER BY transaction_id, history_id LIMIT 1
"""
"""How long a change waits for the oldest transaction that runs, and what that is. Without a change, no row."""

HELP = {
    "petstore_api_keys_expiring": "Keys that expire within the period and that no rotation has replaced.",
    "petstore_last_import_timestamp_seconds": "When the last import with this state ended.",
    "petstore_feed_delay_seconds": "How long the oldest change waits to be in the feed of changes, and for what.",
    "petstore_last_backup_timestamp_seconds": "When the newest backup of this kind was made.",
    "petstore_wal_archive_failing": "1 if the last try to archive WAL failed.",
    "petstore_table_bytes": "Size of a table with its indexes.",
    "petstore_table_rows": "About how many rows a table has.",
    "petstore_database_bytes": "Size of the database.",
    "petstore_data_metrics_timestamp_seconds": "When these metrics were made.",
}


class Sample(NamedTuple):
    """One line of the output."""

    metric: str
    labels: dict[str, str]
    value: float

    def __str__(self) -> str:
        labels = ",".join(f'{name}="{value}"' for name, value in self.labels.items())
        return f"{self.metric}{{{labels}}} {self.value}" if labels else f"{self.metric} {self.value}"


class Command(StoreCommand):
    help = (
        "Print metrics about keys, imports, the feed of changes, backups and tables, in the text format of Prometheus."
    )
    examples = ("", "--backups /var/backups/petstore")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backups", type=Path, metavar="FOLDER", help="The folder of the backups.")

    def handle(self, *, backups: Path | None, **_options: Any) -> None:
        samples = [*_keys(), *_imports(), *(_backups(backups) if backups else ()), *_sizes()]
        samples.append(Sample("petstore_data_metrics_timestamp_seconds", {}, round(time.time())))
        self.show("\n".join(_lines(samples)), [sample._asdict() for sample in samples])


def _lines(samples: list[Sample]) -> Iterator[str]:
    for metric in dict.fromkeys(sample.metric for sample in samples):
        yield f"# HELP {metric} {HELP[metric]}"
        yield f"# TYPE {metric} gauge"
        yield from (str(sample) for sample in samples if sample.metric == metric)


def _keys() -> Iterator[Sample]:
    for name, period in PERIODS.items():
        keys = APIKey.objects.expiring_within(period).not_replaced()
        yield Sample("petstore_api_keys_expiring", {"within": name}, keys.count())


def _imports() -> Iterator[Sample]:
    ended = ImportRun.objects.exclude(state=ImportState.RUNNING).exclude(finished_at=None)
    for state, last in ended.values_list("state").annotate(last=Max("finished_at")).order_by("state"):
        yield Sample("petstore_last_import_timestamp_seconds", {"state": state}, round(last.timestamp()))


def _backups(folder: Path) -> Iterator[Sample]:
    for kind, (place, pattern) in BACKUPS.items():
        times = [entry.stat().st_mtime for entry in _entries(folder / place) if fnmatch(entry.name, pattern)]
        if times:
            yield Sample("petstore_last_backup_timestamp_seconds", {"kind": kind}, round(max(times)))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder. Only one that is not there is empty: `glob` would take any for empty."""
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        message = f"The backups in {folder} cannot be read: {error.strerror}."
        raise ExitError(message, status=Exit.FAILED) from None


def _sizes() -> Iterator[Sample]:
    if connection.vendor == "sqlite":
        yield Sample("petstore_database_bytes", {}, Path(connection.settings_dict["NAME"]).stat().st_size)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        yield Sample("petstore_database_bytes", {}, cursor.fetchone()[0])
        cursor.execute(ARCHIVING_FAILS)
        yield Sample("petstore_wal_archive_failing", {}, cursor.fetchone()[0])
        cursor.execute(FEED_DELAY, ADVISORY_LOCK)
        delay, holder = cursor.fetchone() or (0, "")
        yield Sample("petstore_feed_delay_seconds", {"by": holder}, round(delay, 1))
        cursor.execute(TABLES)
        tables = cursor.fetchall()
    yield from (Sample("petstore_table_bytes", {"table": name}, size) for name, size, _ in tables)
    yield from (Sample("petstore_table_rows", {"table": name}, round(rows)) for name, _, rows in tables)
