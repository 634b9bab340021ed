"""What the shop takes of the machine, every few seconds, as rows of a CSV file."""

import csv
import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Event

import psycopg
import redis

from lab.soak.instances import Instance, Shop

SECONDS = 5
FROM_DATABASE = {
    "connections": "SELECT count(*) FROM pg_stat_activity WHERE usename = 'petstore'",
    "wal written": "SELECT pg_current_wal_lsn() - '0/0'",
    "database bytes": "SELECT pg_database_size(current_database())",
    "animals": "SELECT max(id) FROM pets_pet",
    "dead rows": "SELECT sum(n_dead_tup) FROM pg_stat_user_tables",
}
COLUMNS = [
    "seconds",
    *(f"{name} {of}" for name in ("steady", "broken") for of in ("memory", "workers", "descriptors", "threads", "log")),
    "wal files",
    "redis memory",
    *FROM_DATABASE,
]
"""Bytes, numbers, and seconds since the beginning. A cell is empty while its server does not respond."""

Sample = dict[str, float | None]


def watch(shop: Shop, file: Path, over: Event) -> None:
    """Write a row every few seconds until the event."""
    begun = time.monotonic()
    with file.open("w", newline="") as output:
        rows = csv.DictWriter(output, COLUMNS)
        rows.writeheader()
        while not over.wait(SECONDS):
            rows.writerow({"seconds": round(time.monotonic() - begun, 1)} | _sample(shop))
            output.flush()


def _sample(shop: Shop) -> Sample:
    sample = _of_instance("steady", shop.steady) | _of_instance("broken", shop.broken) | _of_database(shop)
    sample["wal files"] = _bytes_below(shop.postgresql.folder / "data" / "pg_wal")
    sample["redis memory"] = None
    with suppress(redis.RedisError):
        client = redis.Redis.from_url(shop.cache, socket_timeout=1)
        sample["redis memory"] = client.info("memory")["used_memory"]  # type: ignore[index]  # typed for both clients
        client.close()
    return sample


def _of_instance(name: str, instance: Instance) -> Sample:
    """Return what its master and workers have; a page that they share counts once."""
    pids = [instance.service.process.pid, *instance.workers]
    try:
        return {
            f"{name} memory": sum(map(_memory, pids)),
            f"{name} workers": len(pids) - 1,
            f"{name} descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),  # noqa: PTH208 - only their number
            f"{name} threads": sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids),  # noqa: PTH208 - only their number
            f"{name} log": _bytes_below(instance.service.log.parent.parent),
        }
    except (OSError, StopIteration):  # one of them has just ended
        return {}


def _memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _of_database(shop: Shop) -> Sample:
    query = f"SELECT {', '.join(f'({each})' for each in FROM_DATABASE.values())}"
    try:
        with psycopg.connect(shop.postgresql.url, connect_timeout=2) as connection:
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        return {}
    return dict(zip(FROM_DATABASE, map(float, row), strict=True)) if row else {}


def _bytes_below(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with suppress(OSError):  # it was just removed
            total += file.stat().st_size
    return total
