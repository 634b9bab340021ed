"""Statements of the event loop that write, on a real PostgreSQL: what is known of their COMMIT."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import uvloop
from django.db import DatabaseError, IntegrityError, InternalError, OperationalError, connection

from database import errors
from database.statements import Row, Statement, Steps
from petstore_site.serving.postgresql import OnPostgreSQL
from tests.racing import wait_until_blocked
from tests.server import until
from tests.serving.proxy import Proxy, between
from tests.test_database_errors import cancel_wait_for_standby

pytestmark = [
    pytest.mark.postgresql("SQLite has no such connections"),
    pytest.mark.django_db(transaction=True),
]

ADD = Statement("INSERT INTO things DEFAULT VALUES RETURNING id", {}, commits=True)


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE things (id serial PRIMARY KEY)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE things; DROP FUNCTION IF EXISTS at_commit")


def does(statement: Statement) -> Steps[list[Row]]:
    return (yield statement)  # type: ignore[no-any-return]


async def close(driver: OnPostgreSQL) -> int:
    """Close its connections, and return how many it kept."""
    kept = driver._to_write._idle
    for each in kept:
        await each.close()
    return len(kept)


def stored() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM things")
        return [pk for (pk,) in cursor.fetchall()]


def test_what_breaks_a_constraint_leaves_the_connection_as_it_was() -> None:
    async def twice() -> list[Any]:
        driver = OnPostgreSQL(2)
        again = Statement("INSERT INTO things VALUES (1)", {}, commits=True)
        rows = await driver.run(does(ADD), 1e9)
        with pytest.raises(IntegrityError):
            await driver.run(does(again), 1e9)
        return [rows, await driver.run(does(ADD), 1e9), errors.outcome_is_unknown(), await close(driver)]

    assert uvloop.run(twice()) == [[(1,)], [(2,)], False, 1]
    assert stored() == [1, 2]


def at_commit(does: str) -> None:
    """Let PostgreSQL do this when a transaction that added a thing commits."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {does}; RETURN NULL; END$$;"
            "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION at_commit()"
        )


@pytest.mark.parametrize(
    ("sqlstate", "unknown"),
    [("23503", False), ("40001", False), ("57014", False), ("53200", False), ("25006", False), ("57P01", True)],
)
def test_a_commit_that_postgresql_rejects_is_not_done(sqlstate: str, unknown: bool) -> None:
    """57P01 is also what one gets that waits for a standby, and that is done."""
    at_commit(f"RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}'")

    async def commit() -> bool:
        driver = OnPostgreSQL(2)
        with pytest.raises(DatabaseError) as raised:
            await driver.run(does(ADD), 1e9)
        await close(driver)
        assert errors.sqlstate(raised.value) == sqlstate
        return errors.outcome_is_unknown()

    assert uvloop.run(commit()) is unknown
    assert stored() == []


def test_a_commit_that_no_standby_confirmed_may_be_done() -> None:
    waiting = "INSERT INTO things SELECT 1 FROM set_config('synchronous_commit', 'on', true) RETURNING id"

    async def commit() -> tuple[list[Row], bool]:
        driver = OnPostgreSQL(2)
        canceling = asyncio.ensure_future(asyncio.to_thread(cancel_wait_for_standby))
        rows = await driver.run(does(Statement(waiting, {}, commits=True)), 1e9)
        await canceling
        await close(driver)
        return rows, errors.outcome_is_unknown()

    assert uvloop.run(commit()) == ([(1,)], True)


def test_who_gives_up_during_a_commit_does_not_know_its_outcome() -> None:
    at_commit("PERFORM pg_advisory_xact_lock(1)")

    def wait_for_the_commit() -> None:
        with closing(connection):
            wait_until_blocked(1)

    async def add() -> None:
        async with asyncio.timeout(None) as deadline:
            waiting = asyncio.ensure_future(asyncio.to_thread(wait_for_the_commit))
            waiting.add_done_callback(lambda _: deadline.reschedule(0))
            await OnPostgreSQL(2).run(does(ADD), 1e9)

    async def give_up() -> bool:
        with pytest.raises(TimeoutError):
            await add()
        return errors.outcome_is_unknown()

    with closing(connection.copy()) as other:
        other.cursor().execute("SELECT pg_advisory_lock(1)")
        assert uvloop.run(give_up())
    until(lambda: stored() == [1])


@pytest.mark.parametrize("command", ["BEGIN", "COMMIT", "SELECT"])
def test_a_connection_of_django_that_ends_together_with_a_command_is_broken(command: str) -> None:
    """As a server ends it that is stopped, or with what nobody can read; psycopg has no SQLSTATE for that."""
    end = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
    complete = b"C" + (len(command) + 5).to_bytes(4) + command.encode() + b"\0"

    def add(proxy: Proxy) -> bool:
        errors.reset_commit_state()
        with closing(connection), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            connection.set_autocommit(command == "SELECT")
            if command == "COMMIT":
                cursor.execute(ADD.sql)
            proxy.instead, proxy.left = complete + b"E" + (len(end) + 4).to_bytes(4) + end, 0
            if command == "SELECT":
                proxy.instead = b"\xff" * 40
            with pytest.raises(DatabaseError if command == "SELECT" else InternalError) as raised:
                connection.commit() if command == "COMMIT" else cursor.execute(ADD.sql)
        assert errors.failure_of(raised.value) is errors.BROKEN
        return errors.outcome_is_unknown()

    async def add_through_a_proxy() -> bool:
        async with between() as proxy:
            return await asyncio.to_thread(add, proxy)

    assert uvloop.run(add_through_a_proxy()) is (command == "COMMIT")


@pytest.mark.parametrize("passed", [0, 3, 21, 30])
@pytest.mark.parametrize("instead", [b"", b"nonsense" * 20])
def test_a_connection_that_breaks_within_the_result(instead: bytes, passed: int) -> None:
    async def break_the_second() -> tuple[bool, int]:
        async with between() as proxy:
            driver, proxy.instead = OnPostgreSQL(2), instead
            await driver.run(does(ADD), 1e9)
            proxy.left = passed
            with no_longer_than(30), pytest.raises(OperationalError):
                await driver.run(does(ADD), 1e9)
            return errors.outcome_is_unknown(), await close(driver)

    assert uvloop.run(break_the_second()) == (True, 0)
    assert stored()[0] == 1


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` even in a loop that hands over to nobody."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
