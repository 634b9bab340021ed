"""PostgreSQL is restarted, stopped, frozen, without its standby, and without space."""

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pytest
from tests.meanwhile import meanwhile
from tests.outages import frozen, standby_lost
from tests.server import until
from tests.timed import Timed, at_once, timed

from lab.chaos.callers import Callers
from lab.chaos.ledger import Ledger
from lab.chaos.store import Store, copied_server, key, running_service, running_store, short_folder, started
from lab.chaos.table import Row, slowest, statuses

LONGEST = 7
"""Seconds that any request may take."""

BACK = 2
"""Seconds after which all is well again."""


def restarted(*, long: bool) -> Iterator[Row]:
    """Restart it under load, in both ways."""
    for name, how in (("fast", signal.SIGINT), ("immediate", signal.SIGQUIT)):
        times = 20 if long else 3
        ledger = Ledger(name)
        with running_store() as store:
            back = []
            with Callers(store.port, store.key, ledger) as callers:
                for _ in range(times):
                    time.sleep(2)
                    stopped_at = time.monotonic()
                    store.postgresql.stop(how)
                    store.postgresql.start()
                    back.append((stopped_at, time.monotonic()))
                time.sleep(BACK + 1)
            tried = f"{name} restart, {times} times, 12 callers"
            failed = [call for call in callers.calls if call.answer.status not in {200, 201}]
            bare = [call for call in failed if call.answer.status != 503 or not call.answer.headers["Retry-After"]]
            late = [
                call
                for call in failed
                if all(call.begun > end + BACK or call.begun + call.seconds < begin for begin, end in back)
            ]
            seen = f"{statuses(callers.calls)}; {len(bare)} without `Retry-After`"
            yield Row("a restart of PostgreSQL: only 503 with `Retry-After`", tried, seen, not bare)
            seen = f"{len(late)} of {len(failed):,} failures later than that"
            yield Row(f"0 failures from {BACK} s after it is back", tried, seen, not late)
            yield slowest("no request hangs for more than 5 s", tried, callers.calls, 5)
            yield ledger.row(store.postgresql.url, tried)


class Probes(NamedTuple):
    """What was asked again and again meanwhile."""

    alive: list[Timed]
    ready: list[Timed]

    def rows(self, tried: str, *, ready: int = 503) -> Iterator[Row]:
        """Judge them; `ready` is what `/readyz` must say."""
        right = all(call.answer.status == 200 for call in self.alive)
        row = slowest("`/livez` is 200 within 0.2 s", tried, self.alive, 0.2)
        yield row._replace(seen=f"{statuses(self.alive)}; {row.seen}", kept=row.kept and right)
        right = all(call.answer.status == ready for call in self.ready)
        row = slowest(f"`/readyz` is {ready} within 1 s", tried, self.ready, 1)
        yield row._replace(seen=f"{statuses(self.ready)}; {row.seen}", kept=row.kept and right)


@contextmanager
def probing(store: Store) -> Iterator[Probes]:
    """Ask for the health of the service in the block."""
    probes = Probes([], [])

    def ask(over: Event) -> None:
        while not over.is_set():
            probes.alive.append(timed(lambda: store.service.send("GET", "/livez")))
            probes.ready.append(timed(lambda: store.service.send("GET", "/readyz")))
            over.wait(0.1)

    with meanwhile(ask):
        yield probes


def get(store: Store) -> Timed:
    """List animals."""
    return timed(lambda: store.service.get("/v1/pets", store.key))


def post(store: Store) -> Timed:
    """Add an animal."""
    return timed(lambda: store.service.post("/v1/pets", store.key, {"name": "Rex", "categoryId": 1}))


def recovery(store: Store, tried: str) -> Row:
    """Judge how long it takes until every thread reads and writes again."""
    begun = time.monotonic()
    until(lambda: post(store).answer.status == 201)
    until(
        lambda: {call.answer.status for call in at_once(*[lambda: post(store), lambda: get(store)] * 8)} == {200, 201}
    )
    back = Timed(post(store).answer, time.monotonic() - begun, begun)
    return slowest(f"recovery within {BACK} s", tried, [back], BACK)


def stopped(*, long: bool) -> Iterator[Row]:
    """Stop it, while many callers wait."""
    with running_store() as store:
        for callers in (32, 60):
            tried = f"PostgreSQL stopped, {callers} callers"
            recovery(store, tried)
            store.postgresql.stop()
            with probing(store) as probes:
                first = at_once(
                    *[lambda: get(store), lambda: get(store), lambda: get(store), lambda: post(store)] * (callers // 4)
                )
                then = [ask(store) for _ in range(100) for ask in (get, post)]
            yield slowest("the first failures within 2.5 s", tried, first, 2.5)
            yield slowest("the next at once (0.2 s)", tried, then, 0.2)
            only = {call.answer.status for call in first + then} == {503}
            yield Row("only 503", tried, statuses(first + then), only)
            yield from probes.rows(tried)
            store.postgresql.start()
            yield recovery(store, tried)


def frozen_database(*, long: bool) -> Iterator[Row]:
    """Freeze it, as a machine that hangs would."""
    callers, seconds = (60, 60) if long else (30, 10)
    tried = f"PostgreSQL frozen for {seconds} s, {callers} callers again and again"
    ledger = Ledger("frozen")
    with running_store() as store:
        with Callers(store.port, store.key, ledger, writers=callers // 3, readers=callers * 2 // 3) as asking:
            time.sleep(1)
            with frozen(store.postgresql), probing(store) as probes:
                time.sleep(1)
                del probes.alive[:], probes.ready[:]
                time.sleep(seconds)
        yield slowest(f"every request gets a response within {LONGEST} s", tried, asking.calls, LONGEST)
        yield from probes.rows(tried)
        yield recovery(store, tried)
        yield ledger.row(store.postgresql.url, tried)


def lost_standby(*, long: bool) -> Iterator[Row]:
    """Let COMMITs wait for a synchronous standby that is not there."""
    with running_store(workers=1) as store:
        recovery(store, "")
        for _ in range(5 if long else 1):
            tried = "the synchronous standby is dead, 8 POSTs to one worker with 4 threads"
            with standby_lost(store.postgresql), ThreadPoolExecutor(1) as pool, probing(store) as probes:
                writing = pool.submit(at_once, *[lambda: post(store)] * 8)
                time.sleep(0.2)
                reads = []
                while not writing.done():
                    reads.append(get(store))
                    time.sleep(0.1)
            writes = writing.result()
            outcomes = Counter(call.answer.headers["Request-Outcome"] for call in writes)
            seen = f"{statuses(writes)}; {', '.join(f'{name}: {count}' for name, count in sorted(outcomes.items()))}"
            right = {call.answer.status for call in writes} == {503} and outcomes["unknown"] == 3
            yield Row("each POST in COMMIT is 503 `unknown`; those that found no thread `not-done`", tried, seen, right)
            yield slowest(f"each POST gets its response within {LONGEST} s", tried, writes, LONGEST)
            right = {call.answer.status for call in reads} == {200}
            row = slowest("each GET meanwhile is 200 within 1 s", tried, reads, 1)
            yield row._replace(seen=f"{statuses(reads)}; {row.seen}", kept=row.kept and right)
            yield from probes.rows(tried, ready=200)
            yield recovery(store, tried)


DISK = 96 * 1024**2
"""Bytes of the disk that is filled."""


def disk_full(*, long: bool) -> Iterator[Row]:
    """Fill the disk of the tables. The write-ahead log is on another one."""
    with _small_disk() as disk, short_folder() as elsewhere:
        postgresql = copied_server(disk)
        _move_log(disk / "data", elsewhere)
        with started(postgresql), running_service(postgresql.url, workers=1) as service:
            for number in range(5 if long else 1):
                yield from _fill_and_free(Store(postgresql, service, key()), disk / "ballast", Ledger(f"disk{number}"))


def _fill_and_free(store: Store, ballast: Path, ledger: Ledger) -> Iterator[Row]:
    tried = f"a full disk of {DISK // 1024**2} MB"
    recovery(store, tried)
    with ballast.open("wb") as file:
        try:
            while file.write(bytes(65536)):
                file.flush()
        except OSError:
            pass
    with Callers(store.port, store.key, ledger, writers=4, readers=2) as callers:
        until(lambda: sum(call.answer.status == 503 for call in callers.writes) > 20)
        full = time.monotonic()
        time.sleep(2)
        ballast.unlink()
        freed = time.monotonic()
        until(lambda: any(call.answer.status == 201 and call.begun > freed for call in callers.writes))
        row = recovery(store, tried)
    writes = [call for call in callers.writes if full < call.begun < freed - 1]
    rejected = [call for call in writes if call.answer.status == 503]
    right = {call.answer.headers["Retry-After"] for call in rejected} == {"30"}
    others = {call.answer.status for call in writes} - {201, 503}  # an animal may still fit into a page of the table
    yield Row("a POST that fails is 503 with `Retry-After: 30`", tried, statuses(writes), right and not others)
    reads = [call for call in callers.reads if full < call.begun < freed]
    yield Row("GET is 200 meanwhile", tried, statuses(reads), {call.answer.status for call in reads} == {200})
    yield row._replace(promise=f"{row.promise} by itself")
    yield ledger.row(store.postgresql.url, tried)


@contextmanager
def _small_disk() -> Iterator[Path]:
    with short_folder() as folder:
        mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("a small disk needs root, who can mount a tmpfs")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def _move_log(data: Path, elsewhere: Path) -> None:
    shutil.chown(elsewhere, data.owner(), data.group())
    target = elsewhere / "pg_wal"
    subprocess.run(["cp", "-a", str(data / "pg_wal"), str(target)], check=True)
    shutil.rmtree(data / "pg_wal")
    (data / "pg_wal").symlink_to(target)
