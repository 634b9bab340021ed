"""Which server may be read instead of a primary: a real one, its standby, and a standby of that."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import psycopg
import pytest

from database.fallback import ASK_PRIMARY, ASK_STANDBY, StandIn, UnprovenError
from database.fallback import Server as Asked
from database.statements import Statement
from tests.operating.standbys import ask, let_the_service_ask, parameters, standby_of
from tests.server import until
from tests.with_postgresql import Server, server

Servers = tuple[Server, Server, Server]
WRITE = "INSERT INTO animals VALUES ('Rex')"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("database.fallback.SECONDS", 60)


@pytest.fixture
def servers(postgresql: Server) -> Iterator[Servers]:
    """A primary of its own, its standby, and the standby of that one."""
    with server() as primary, standby_of(primary) as standby, standby_of(primary, behind=standby) as second:
        let_the_service_ask(primary)
        ask(primary, "CREATE TABLE animals (name text)", "GRANT SELECT ON animals TO petstore", WRITE)
        for each in (standby, second):
            until(lambda each=each: ask(each, "SELECT to_regclass('animals')") and animals(each))  # type: ignore[misc]
        yield primary, standby, second


COUNT = Statement("SELECT count(*) FROM animals", {})


def position_of(primary: Server) -> Any:
    """Return what a primary says of itself."""
    with closing(Asked(parameters(primary))) as asked:
        return asked.ask(ASK_PRIMARY, time.monotonic())


def read(server: Server, position: Any) -> int | None:
    """Return how many animals this server shows as a standby of the primary that said this, or None if it is not read."""
    with closing(Asked(parameters(server))) as asked:
        try:
            [(count,)] = StandIn(asked, position, {asked: asked.ask(ASK_STANDBY)}).rows(COUNT)
        except UnprovenError:
            return None
    assert isinstance(count, int)
    return count


def animals(server: Server) -> int:
    number = ask(server, "SELECT count(*) FROM animals")
    assert isinstance(number, int)
    return number


def lose(primary: Server) -> None:
    """End it as the loss of its machine does."""
    primary.stop(SIGKILL)


def test_a_standby_has_everything_and_stays_complete_without_its_primary(servers: Servers) -> None:
    primary, standby, second = servers
    position = position_of(primary)
    for each in (standby, second):
        until(lambda each=each: read(each, position) == 1)  # type: ignore[misc]
    assert read(primary, position) is None
    lose(primary)
    time.sleep(1)  # its receiver has noticed
    assert read(standby, position) == 1
    standby.stop(SIGKILL)
    standby.start()
    until(lambda: read(standby, position) == 1)


def test_a_standby_that_has_not_replayed_all_it_received_is_not_complete(servers: Servers) -> None:
    primary, standby, _ = servers
    known = position_of(primary)
    until(lambda: read(standby, known) == 1)
    ask(standby, "SELECT pg_wal_replay_pause()")
    ask(primary, "SET synchronous_commit = local", WRITE)
    until(lambda: ask(standby, f"SELECT pg_last_wal_receive_lsn() - '0/0' >= {position_of(primary).flushed}"))
    lose(primary)
    assert ask(standby, f"SELECT pg_last_wal_replay_lsn() - '0/0' >= {known.flushed}"), "it has all that was known"
    assert read(standby, known) is None, "but not what was confirmed to someone else"
    ask(standby, "SELECT pg_wal_replay_resume()")
    until(lambda: read(standby, known) == 2)


def test_a_failover(servers: Servers) -> None:
    """The old primary goes on: neither the promoted standby nor its own standby belongs to it any more."""
    old, new, follower = servers
    before = position_of(old)
    until(lambda: read(follower, before) == 1)
    ask(new, "SELECT pg_promote()", *[WRITE] * 9)
    until(lambda: animals(follower) == 10)
    after = position_of(new)
    assert (after.system, after.timeline) == (before.system, before.timeline + 1)
    for each in (new, follower):
        assert read(each, before) is None
        assert read(each, position_of(old)) is None
    until(lambda: read(follower, after) == 10)
    for how in (SIGKILL, 2):  # after a crash it has replayed past the position of the old one
        new.stop(how)  # type: ignore[arg-type]
        new.start()
        assert read(new, before) is None
    lose(new)
    until(lambda: read(follower, after) == 10)


def test_a_standby_of_another_cluster_does_not_follow(servers: Servers) -> None:
    _, standby, _ = servers
    with server() as other:
        assert read(standby, position_of(other)._replace(flushed=0)) is None


def test_it_is_asked_before_the_rows(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """After them, a row that is replayed between the two would be missing although it has replayed everything."""
    primary, standby, _ = servers
    known = position_of(primary)
    until(lambda: read(standby, known) == 1)
    ask(standby, "SELECT pg_wal_replay_pause()")
    ask(primary, WRITE)
    until(lambda: ask(standby, "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()"))
    waiting = Statement(f"{COUNT.sql}, pg_advisory_xact_lock(1)", {})
    monkeypatch.setattr("tests.operating.test_standby.COUNT", waiting)
    with ThreadPoolExecutor(1) as pool, closing(psycopg.connect(standby.url)) as other:
        other.execute("SELECT pg_advisory_xact_lock(1)")
        asked = pool.submit(read, standby, known)
        until(lambda: ask(standby, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'"))
        ask(standby, "SELECT pg_wal_replay_resume()")
        until(lambda: animals(standby) == 2)
        other.rollback()
        assert asked.result() is None
    until(lambda: read(standby, known) == 2)


def replaying(standby: Server) -> int:
    number = ask(standby, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'")
    assert isinstance(number, int)
    return number


def test_a_standby_that_was_woken_and_does_not_run_yet_is_not_complete(servers: Servers) -> None:
    """It seems to wait for more, and has not seen what it received."""
    primary, standby, _ = servers
    known = position_of(primary)
    until(lambda: read(standby, known) == 1)
    process = replaying(standby)
    os.kill(process, SIGSTOP)
    try:
        ask(primary, "SET synchronous_commit = local", WRITE)
        until(lambda: ask(standby, f"SELECT pg_last_wal_receive_lsn() - '0/0' >= {position_of(primary).flushed}"))
        said = ask(standby, "SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup'")
        assert (said, animals(standby)) == ("RecoveryWalStream", 1)
        lose(primary)
        assert read(standby, known) is None
    finally:
        os.kill(process, SIGCONT)
    until(lambda: read(standby, known) == 2)
