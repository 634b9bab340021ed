"""What breaks in the trial, and how often it does by default."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lab.trial.clocks import Clocked
from lab.trial.cluster import Cluster
from lab.trial.programs import send_to_all, wait_until
from lab.trial.service import ROOT, databases

FROZEN_SECONDS = 40
"""Longer than the 20 s after which another primary is elected."""
JUMP_SECONDS = 60

IMPORTED = 100_000
WRITES = """
SELECT EXISTS (SELECT FROM pg_stat_activity
               WHERE state = 'active' AND query LIKE '%INSERT INTO pets_pet%r.line%' AND pid <> pg_backend_pid())"""
"""Whether the rows of an import are being written. Before, they are in a temporary table, which is not replicated."""

Break = Callable[[Cluster, int], contextlib.AbstractContextManager[None]]
"""Breaks the primary, whose number it gets, when it is entered, and repairs it when it is left."""


@contextlib.contextmanager
def kill_machine(cluster: Cluster, number: int) -> Iterator[None]:
    """Kill etcd, Patroni and PostgreSQL, and start them again when another machine has taken over."""
    cluster.signal(number, signal.SIGKILL)
    yield
    cluster.start(number)


@contextlib.contextmanager
def kill_postgresql(cluster: Cluster, number: int) -> Iterator[None]:
    """Kill all processes of PostgreSQL. Patroni does the rest."""
    send_to_all(cluster.postgresql(number), signal.SIGKILL)
    yield


@contextlib.contextmanager
def kill_patroni(cluster: Cluster, number: int) -> Iterator[None]:
    """Kill Patroni alone, and start it again after a second, as systemd does."""
    patroni = cluster.machines[number].patroni
    patroni.kill()
    time.sleep(1)
    patroni.start()
    yield


@contextlib.contextmanager
def kill_amid_import(cluster: Cluster, number: int) -> Iterator[None]:
    """Kill the machine while it writes an import."""
    with importing(cluster), kill_machine(cluster, number):
        yield


@contextlib.contextmanager
def kill_postgresql_amid_import(cluster: Cluster, number: int) -> Iterator[None]:
    """Kill all processes of PostgreSQL while it writes an import."""
    with importing(cluster), kill_postgresql(cluster, number):
        yield


@contextlib.contextmanager
def freeze_amid_import(cluster: Cluster, number: int) -> Iterator[None]:
    """Freeze the machine while it writes an import."""
    with importing(cluster), freeze(cluster, number):
        yield


@contextlib.contextmanager
def freeze_postgresql(cluster: Cluster, number: int) -> Iterator[None]:
    """Freeze all processes of PostgreSQL, and leave Patroni alone."""
    processes = cluster.postgresql(number)
    with _frozen(lambda sent: send_to_all(processes, sent)):
        yield


@contextlib.contextmanager
def freeze_patroni(cluster: Cluster, number: int) -> Iterator[None]:
    """Freeze Patroni alone."""
    with _frozen(lambda sent: send_to_all([cluster.machines[number].patroni.pid], sent)):
        yield


@contextlib.contextmanager
def freeze(cluster: Cluster, number: int) -> Iterator[None]:
    """Freeze the machine, which is cut off while it has all its connections, and then believes to be the primary."""
    with _frozen(lambda sent: cluster.signal(number, sent)):
        yield


@contextlib.contextmanager
def forget(cluster: Cluster, number: int) -> Iterator[None]:
    """Freeze it, and let the leader's key vanish when it continues, as an etcd does that led before it was frozen."""
    with freeze(cluster, number):
        yield
        time.sleep(FROZEN_SECONDS)
        cluster.forget_leader()


@contextlib.contextmanager
def switch_over(cluster: Cluster, number: int) -> Iterator[None]:
    """Let Patroni choose another primary."""
    status, body = cluster.ask(number, "POST", "/switchover", {"leader": f"db{number}"})
    if status != 200:
        raise SystemExit(f"No switchover: {status} {body!r}")
    yield


@contextlib.contextmanager
def primary_ahead(cluster: Cluster, number: int) -> Iterator[None]:
    """Let the clock of the primary jump ahead, and back."""
    with _jump(cluster, number, JUMP_SECONDS):
        yield


@contextlib.contextmanager
def primary_behind(cluster: Cluster, number: int) -> Iterator[None]:
    """Let it jump back, and ahead."""
    with _jump(cluster, number, -JUMP_SECONDS):
        yield


@contextlib.contextmanager
def standby_ahead(cluster: Cluster, _number: int) -> Iterator[None]:
    """Do the same to the synchronous standby."""
    with _jump(cluster, cluster.synchronous_standby(), JUMP_SECONDS):
        yield


@contextlib.contextmanager
def standby_behind(cluster: Cluster, _number: int) -> Iterator[None]:
    """Let its clock jump back, and ahead."""
    with _jump(cluster, cluster.synchronous_standby(), -JUMP_SECONDS):
        yield


@contextlib.contextmanager
def _frozen(send: Callable[[signal.Signals], None]) -> Iterator[None]:
    until = time.monotonic() + FROZEN_SECONDS
    send(signal.SIGSTOP)
    try:
        yield
        time.sleep(max(0.0, until - time.monotonic()))
    finally:
        send(signal.SIGCONT)


@contextlib.contextmanager
def _jump(cluster: Cluster, number: int, seconds: int) -> Iterator[None]:
    assert isinstance(cluster, Clocked)
    cluster.set_clock(number, seconds)
    try:
        yield
        time.sleep(FROZEN_SECONDS)
    finally:
        cluster.set_clock(number, 0)


@contextlib.contextmanager
def importing(cluster: Cluster) -> Iterator[None]:
    """Enter the block when the primary writes the rows of an import; it may fail."""
    file = cluster.folder / "import.csv"
    rows = (f"import {time.time()} {number},Dogs\n" for number in range(IMPORTED))
    file.write_text("".join(["name,category\n", *rows]), encoding="utf-8")
    environment = databases(cluster) | {"PATH": os.environ["PATH"]}
    command = [sys.executable, str(ROOT / "manage.py"), "import_pets", str(file), "--create-categories"]
    log = (cluster.folder / "import.log").open("ab")
    with log, subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
        try:
            wait_until(lambda: cluster.query(WRITES)[0][0] or process.poll() is not None)
            time.sleep(random.uniform(0, 1))
            print(" (the import is over)" if process.poll() is not None else "", end="")
            yield
        finally:
            process.kill()


class Kind(NamedTuple):
    """An option of the trial: how often each of these breaks happens. They alternate."""

    breaks: list[Break]
    times: int
    help: str


KINDS = {
    "kills": Kind([kill_machine, kill_postgresql], 2, "How often the primary is killed"),
    "machines": Kind([kill_machine], 0, "How often its machine is killed, besides"),
    "imports": Kind(
        [kill_amid_import, kill_postgresql_amid_import, freeze_amid_import], 0,
        "How often it is killed or frozen while it writes an import",
    ),
    "postgresqls": Kind([freeze_postgresql], 0, "How often PostgreSQL alone is frozen"),
    "freezes": Kind([freeze], 0, "How often its machine is frozen for 40 s"),
    "forgets": Kind([forget], 0, "The same, and etcd forgets the leader at its end"),
    "switchovers": Kind([switch_over], 0, "How often another one takes over as planned"),
    "patronis": Kind([kill_patroni, freeze_patroni], 0, "How often Patroni alone is killed or frozen"),
    "clocks": Kind(
        [primary_ahead, standby_behind, primary_behind, standby_ahead], 0,
        "How often the clock of a machine jumps by 60 s, and back (needs libfaketime)",
    ),
}  # fmt: skip
