"""What breaks in the trial, and how often it does by default."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lab.trial.clocks import Clocked
from lab.trial.cluster import Cluster
from lab.trial.programs import send_to_all

FROZEN_SECONDS = 40
"""Longer than the 20 s after which another primary is elected."""
JUMP_SECONDS = 60

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


class Kind(NamedTuple):
    """An option of the trial: how often each of these breaks happens. They alternate."""

    breaks: list[Break]
    times: int
    help: str


KINDS = {
    "kills": Kind([kill_machine, kill_postgresql], 2, "How often the primary is killed"),
    "machines": Kind([kill_machine], 0, "How often its machine is killed, besides"),
    "freezes": Kind([freeze], 0, "How often its machine is frozen for 40 s"),
    "forgets": Kind([forget], 0, "The same, and etcd forgets the leader at its end"),
    "switchovers": Kind([switch_over], 0, "How often another one takes over as planned"),
    "patronis": Kind([kill_patroni, freeze_patroni], 0, "How often Patroni alone is killed or frozen"),
    "clocks": Kind(
        [primary_ahead, standby_behind, primary_behind, standby_ahead], 0,
        "How often the clock of a machine jumps by 60 s, and back (needs libfaketime)",
    ),
}  # fmt: skip
