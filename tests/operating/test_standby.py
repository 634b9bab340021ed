"""`database.standby` on a real primary, its standby, and a standby of that: which server may be read, and how to ask."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from signal import SIGKILL

import psycopg
import pytest

from database.standby import FOLLOWS, IS_COMPLETE, POSITION, Position
from tests.operating.standbys import ask, let_the_service_ask, standby_of
from tests.server import until
from tests.with_postgresql import Server, server

Servers = tuple[Server, Server, Server]
WRITE = "INSERT INTO animals VALUES ('Rex')"


@pytest.fixture
def servers(postgresql: Server) -> Iterator[Servers]:
    """A primary of its own, its standby, and the standby of that one."""
    with server() as primary, standby_of(primary) as standby, standby_of(primary, behind=standby) as second:
        let_the_service_ask(primary)
        ask(primary, "CREATE TABLE animals (name text)", "GRANT SELECT ON animals TO petstore", WRITE)
        for each in (standby, second):
            until(lambda each=each: ask(each, "SELECT to_regclass('animals')") and animals(each))  # type: ignore[misc]
        yield primary, standby, second


def position_of(primary: Server) -> Position:
    with closing(psycopg.connect(primary.url)) as connection:
        row = connection.execute(POSITION).fetchone()
    assert row
    return Position(*row)


def holds(server: Server, condition: str, position: Position) -> bool:
    """Ask as the service's role."""
    with closing(psycopg.connect(server.url, autocommit=True)) as connection:
        row = connection.execute(f"SELECT {condition}", position).fetchone()
    assert row
    assert isinstance(row[0], bool)
    return row[0]


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
        until(lambda each=each: holds(each, FOLLOWS, position))  # type: ignore[misc]
        until(lambda each=each: holds(each, IS_COMPLETE, position))  # type: ignore[misc]
        assert animals(each) == 1
    assert not holds(primary, FOLLOWS, position)
    lose(primary)
    time.sleep(1)  # its receiver has noticed
    assert holds(standby, IS_COMPLETE, position)
    standby.stop(SIGKILL)
    standby.start()
    until(lambda: holds(standby, IS_COMPLETE, position))
    assert animals(standby) == 1


def test_a_standby_that_has_not_replayed_all_it_received_is_not_complete(servers: Servers) -> None:
    primary, standby, _ = servers
    known = position_of(primary)
    until(lambda: holds(standby, IS_COMPLETE, known))
    ask(standby, "SELECT pg_wal_replay_pause()")
    ask(primary, "SET synchronous_commit = local", WRITE)
    until(lambda: ask(standby, f"SELECT pg_last_wal_receive_lsn() >= '{position_of(primary).flushed}'"))
    lose(primary)
    assert holds(standby, FOLLOWS, known), "it has all that the service knew of"
    assert not holds(standby, IS_COMPLETE, known), "but not what was confirmed to someone else"
    ask(standby, "SELECT pg_wal_replay_resume()")
    until(lambda: holds(standby, IS_COMPLETE, known))
    assert animals(standby) == 2


def test_a_failover(servers: Servers) -> None:
    """The old primary goes on: neither the promoted standby nor its own standby belongs to it any more."""
    old, new, follower = servers
    before = position_of(old)
    until(lambda: holds(follower, IS_COMPLETE, before))
    ask(new, "SELECT pg_promote()", *[WRITE] * 9)
    until(lambda: animals(follower) == 10)
    after = position_of(new)
    assert (after.system, after.timeline) == (before.system, before.timeline + 1)
    for each in (new, follower):
        assert not holds(each, FOLLOWS, before)
        assert not holds(each, FOLLOWS, position_of(old))
    until(lambda: holds(follower, IS_COMPLETE, after))
    for how in (SIGKILL, 2):  # after a crash it has replayed past the position of the old one
        new.stop(how)  # type: ignore[arg-type]
        new.start()
        assert not holds(new, FOLLOWS, before)
    lose(new)
    until(lambda: holds(follower, IS_COMPLETE, after))
    assert animals(follower) == 10


def test_a_standby_of_another_cluster_does_not_follow(servers: Servers) -> None:
    _, standby, _ = servers
    with server() as other:
        assert not holds(standby, FOLLOWS, position_of(other)._replace(flushed="0/0"))


def test_the_condition_is_asked_before_the_rows(servers: Servers) -> None:
    """In one statement, a row that is replayed after the snapshot is missing although the condition is true."""
    primary, standby, _ = servers
    known = position_of(primary)
    until(lambda: holds(standby, IS_COMPLETE, known))
    ask(standby, "SELECT pg_wal_replay_pause()")
    ask(primary, WRITE)
    until(lambda: ask(standby, "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()"))
    together = f"SELECT count(*) FROM animals, pg_sleep(1) AS slow WHERE slow::text = '' AND {IS_COMPLETE}"
    with ThreadPoolExecutor(1) as pool, closing(psycopg.connect(standby.url, autocommit=True)) as connection:
        asked = pool.submit(lambda: connection.execute(f"SELECT ({together}), {IS_COMPLETE}", position_twice(known)))
        time.sleep(0.3)
        ask(standby, "SELECT pg_wal_replay_resume()")
        assert asked.result().fetchone() == (1, True), "two animals were received, and it says that it has replayed all"
        with connection.pipeline():
            condition = connection.execute(f"SELECT {IS_COMPLETE}", known)
            rows = connection.execute("SELECT count(*) FROM animals")
        assert (condition.fetchone(), rows.fetchone()) == ((True,), (2,))


def position_twice(position: Position) -> tuple[int | str, ...]:
    return (*position, *position)
