"""The network between service and database is cut: packets vanish, and nothing says so."""

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.chaos.callers import Callers
from lab.chaos.database import LONGEST, probing, recovery
from lab.chaos.ledger import Ledger
from lab.chaos.store import SETTINGS, Store, copied_server, key, running_service, short_folder
from lab.chaos.table import Row, slowest, statuses

SPACE = "petstore-chaos"
OUR_END, THEIR_END = "petstore-c0", "petstore-c1"
OURS, THEIRS = "198.18.13.1", "198.18.13.2"
"""Addresses for tests of networks (RFC 2544)."""

NOBODY = "02:00:00:00:00:00"
"""What packets are addressed to while the network is cut."""

NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of setns(2), which Python has from 3.12 on."""


def network_cut(*, long: bool) -> Iterator[Row]:
    """Cut it under load, several times."""
    times, seconds = (10, 20) if long else (2, 8)
    ledger = Ledger("cut")
    with _store_behind_a_wire() as store:
        for _ in range(times):
            tried = f"the network cut for {seconds} s, 20 callers"
            with Callers(store.port, store.key, ledger, writers=8, readers=12) as callers:
                time.sleep(2)
                with _cut(), probing(store) as probes:
                    time.sleep(seconds)
            yield slowest(f"every request gets a response within {LONGEST} s", tried, callers.calls, LONGEST)
            only = {call.answer.status for call in callers.calls} <= {200, 201, 503}
            yield Row("only 503 fails", tried, statuses(callers.calls), only)
            yield from probes.rows(tried)
            yield recovery(store, tried)
        yield ledger.row(store.postgresql.url, f"cut {times} times for {seconds} s, 8 writers, 12 readers")


@contextmanager
def _store_behind_a_wire() -> Iterator[Store]:
    with _wire(), short_folder() as folder:
        postgresql = copied_server(folder)
        postgresql.settings = {**SETTINGS, "listen_addresses": THEIRS}
        with (folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {OURS}/32 trust\n")
        with _inside():
            postgresql.start()
        try:
            with running_service(f"postgres://petstore@{THEIRS}/petstore") as service:
                yield Store(postgresql, service, key())
        finally:
            postgresql.stop()


@contextmanager
def _wire() -> Iterator[None]:
    """Lay a wire between us and a network namespace for the block."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("a network to cut needs root and ip (Debian: iproute2)")
    try:
        _ip("netns", "add", SPACE)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine makes no network namespace: {error.stderr.decode().strip()}")
    try:
        _ip("link", "add", OUR_END, "type", "veth", "peer", "name", THEIR_END, "netns", SPACE)
        _ip("address", "add", f"{OURS}/30", "dev", OUR_END)
        _ip("link", "set", OUR_END, "up")
        _ip("-n", SPACE, "address", "add", f"{THEIRS}/30", "dev", THEIR_END)
        _ip("-n", SPACE, "link", "set", THEIR_END, "up")
        yield
    finally:
        # Sockets keep a deleted namespace for a while, and with it the wire.
        subprocess.run(["ip", "link", "delete", OUR_END], check=False, capture_output=True)
        _ip("netns", "delete", SPACE)


@contextmanager
def _cut() -> Iterator[None]:
    """Let all packets vanish in the block, in both directions."""
    ends = (("neighbour", THEIRS, OUR_END), ("-n", SPACE, "neighbour", OURS, THEIR_END))
    for *options, address, end in ends:
        _ip(*options, "replace", address, "lladdr", NOBODY, "dev", end, "nud", "permanent")
    try:
        yield
    finally:
        for *options, address, end in ends:
            _ip(*options, "delete", address, "dev", end)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def _inside() -> Iterator[None]:
    """Start processes inside the namespace in the block."""
    with Path("/proc/thread-self/ns/net").open() as ours, Path(f"/run/netns/{SPACE}").open() as theirs:
        _enter(theirs.fileno())
        try:
            yield
        finally:
            _enter(ours.fileno())


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")
