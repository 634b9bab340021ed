"""Transactions of the event loop, on a real PostgreSQL: what is sent together, and what becomes of it."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
import pytest
import uvloop
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, OperationalError, connection

from database import errors
from database.statements import HeldError, Row, Statement, Steps, Transaction
from petstore_site.door.drivers import OnPostgreSQL
from tests.door.proxy import between
from tests.test_database_errors import cancel_wait_for_standby

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such connections"),
    pytest.mark.django_db(transaction=True),
]

T = TypeVar("T")

CLAIM = Statement("INSERT INTO claims (name) VALUES (%(name)s)", {"name": "x"}, leads=True)
ADD = Statement("INSERT INTO things DEFAULT VALUES RETURNING id", {})


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE claims (name text PRIMARY KEY); CREATE TABLE things (id serial)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE claims, things; DROP FUNCTION IF EXISTS at_commit")


def claimed(then: Callable[[], Steps[T]]) -> Steps[T]:
    def steps() -> Steps[T]:
        yield CLAIM
        return (yield from then())

    return (yield Transaction(steps(), alone="x"))  # type: ignore[no-any-return]


def add() -> Steps[list[Row]]:
    return (yield ADD)  # type: ignore[no-any-return]


def add_and_end() -> Steps[list[Row]]:
    rows: list[Row] = yield ADD
    yield Statement("UPDATE claims SET name = 'y'", {}, ends=True)
    return rows


def nothing() -> Steps[None]:
    return
    yield


def invalid() -> Steps[None]:
    raise ValidationError([])
    yield


def using(*works: Callable[[], Steps[Any]]) -> list[Any]:
    """Return the outcome of each, one after the other on one connection."""

    async def each() -> list[Any]:
        driver = OnPostgreSQL(2)
        outcomes = []
        for work in works:
            try:
                outcomes.append(await driver.run(claimed(work), 1e9))
            except Exception as error:  # noqa: BLE001 - it is an outcome
                outcomes.append(type(error))
        return [*outcomes, await close(driver)]

    return uvloop.run(each())


async def close(driver: OnPostgreSQL) -> int:
    """Close its connections, and return how many it kept."""
    kept = driver._to_write._idle
    for each in kept:
        await each.close()
    return len(kept)


def stored() -> tuple[list[str], list[int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM claims")
        names = [name for (name,) in cursor.fetchall()]
        cursor.execute("SELECT id FROM things")
        return names, [pk for (pk,) in cursor.fetchall()]


def next_id() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('things_id_seq')")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize(("then", "name"), [(add, "x"), (add_and_end, "y")])
def test_all_is_committed(then: Callable[[], Steps[list[Row]]], name: str) -> None:
    assert using(then) == [[(1,)], 1]
    assert stored() == ([name], [1])


def test_what_leads_is_sent_even_if_nothing_follows() -> None:
    assert using(nothing) == [None, 1]
    assert stored() == (["x"], [])


def test_after_what_fails_nothing_is_run_and_no_id_used() -> None:
    """The connection is kept, and ready for the next one."""
    assert using(add, add, add) == [[(1,)], IntegrityError, IntegrityError, 1]
    assert stored() == (["x"], [1])
    assert next_id() == 2


def test_what_leads_comes_before_an_error_of_the_steps() -> None:
    """So a body that is invalid waits for the first request with its key."""
    assert using(invalid, nothing, invalid) == [ValidationError, None, IntegrityError, 1]
    assert stored() == (["x"], [])


def test_a_wait_for_what_leads_ends_with_the_lock_timeout() -> None:
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("INSERT INTO claims VALUES ('x')")
        assert using(add) == [OperationalError, 0]
    assert next_id() == 1


def test_one_that_waits_too_long_for_its_turn_is_not_begun() -> None:
    async def both() -> list[Any]:
        driver = OnPostgreSQL(3)

        def slow() -> Steps[None]:
            yield Statement("SELECT pg_sleep(1.4)", {})

        works = [driver.run(claimed(slow), 1e9), driver.run(claimed(nothing), 1e9)]
        outcomes = await asyncio.gather(*works, return_exceptions=True)
        await close(driver)
        return outcomes

    first, second = uvloop.run(both())
    assert (first, type(second)) == (None, HeldError)
    assert stored() == (["x"], [])


def test_one_that_waits_for_its_turn_gets_it_from_one_that_fails() -> None:
    def slow_and_invalid() -> Steps[None]:
        yield Statement("SELECT pg_sleep(0.3)", {})
        raise ValidationError([])

    async def both() -> list[Any]:
        driver = OnPostgreSQL(3)
        works = [driver.run(claimed(slow_and_invalid), 1e9), driver.run(claimed(add), 1e9)]
        outcomes = await asyncio.gather(*works, return_exceptions=True)
        await close(driver)
        return outcomes

    first, second = uvloop.run(both())
    assert (type(first), second) == (ValidationError, [(1,)])
    assert stored() == (["x"], [1])


def test_many_other_statements_do_not_forget_those_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petstore_site.door.listening.MOST_STATEMENTS", 6)

    def other(number: int) -> Callable[[], Steps[list[Row]]]:
        def steps() -> Steps[list[Row]]:
            yield Statement(f"DELETE FROM claims WHERE name <> '{number}'", {}, leads=True)
            return (yield Statement(f"SELECT {number}", {}))  # type: ignore[no-any-return]

        return steps

    def prepared() -> Steps[list[Row]]:
        return (yield Statement("SELECT count(*) FROM pg_prepared_statements", {}))  # type: ignore[no-any-return]

    numbers = range(6)
    *outcomes, [(count,)], kept = using(*[other(number) for number in numbers], prepared)
    assert (outcomes, kept) == ([[(number,)] for number in numbers], 1)
    assert count <= 6


def at_commit(does: str) -> None:
    """Let PostgreSQL do this when a transaction that added a thing commits."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {does}; RETURN NULL; END$$;"
            "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION at_commit()"
        )


def alone() -> Steps[list[Row]]:
    """Add in a statement that is its own transaction."""
    return (yield ADD._replace(commits=True))  # type: ignore[no-any-return]


@pytest.mark.parametrize("steps", [lambda: claimed(add), alone], ids=["a transaction", "a statement"])
@pytest.mark.parametrize(
    ("sqlstate", "unknown"),
    [("23503", False), ("40001", False), ("57014", False), ("53200", False), ("25006", False), ("57P01", True)],
)
def test_a_commit_that_postgresql_rejects_is_not_done(
    sqlstate: str, unknown: bool, steps: Callable[[], Steps[Any]]
) -> None:
    """57P01 is also what one gets that waits for a standby, and that is done."""
    at_commit(f"RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}'")

    async def commit() -> bool:
        driver = OnPostgreSQL(2)
        with pytest.raises(DatabaseError) as raised:
            await driver.run(steps(), 1e9)
        await close(driver)
        assert errors.sqlstate(raised.value) == sqlstate
        return errors.outcome_is_unknown()

    assert uvloop.run(commit()) is unknown
    assert stored() == ([], [])


def test_a_commit_that_no_standby_confirmed_may_be_done() -> None:
    def unconfirmed() -> Steps[list[Row]]:
        yield Statement("SET LOCAL synchronous_commit = on", {})
        return (yield from add())

    async def commit() -> tuple[list[Row], bool]:
        driver = OnPostgreSQL(2)
        canceling = asyncio.ensure_future(asyncio.to_thread(cancel_wait_for_standby))
        rows = await driver.run(claimed(unconfirmed), 1e9)
        await canceling
        await close(driver)
        return rows, errors.outcome_is_unknown()

    assert uvloop.run(commit()) == ([(1,)], True)


@pytest.mark.parametrize("during", ["a statement", "COMMIT"])
def test_who_gives_up_during_a_commit_does_not_know_its_outcome(during: str) -> None:
    commits = during == "COMMIT"
    at_commit("PERFORM pg_sleep(0.6)" if commits else "NULL")

    def slow() -> Steps[list[Row]]:
        yield Statement(f"SELECT pg_sleep({0 if commits else 0.6})", {})
        return (yield from add())

    async def give_up() -> bool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await OnPostgreSQL(2).run(claimed(slow), 1e9)
        return errors.outcome_is_unknown()

    assert uvloop.run(give_up()) is commits
    time.sleep(0.6)
    assert stored() == ((["x"], [1]) if commits else ([], []))


@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("passed", [0, 3, 21, 30, 46])
@pytest.mark.parametrize("instead", [b"", b"nonsense" * 20])
def test_a_connection_that_breaks_within_the_results_of_a_pipeline(instead: bytes, passed: int, commits: bool) -> None:
    """Those of BEGIN, a claim and an addition; or those of an update and COMMIT, whose outcome nobody knows then."""

    async def break_the_second() -> tuple[bool, int]:
        async with between() as proxy:
            driver, proxy.instead = OnPostgreSQL(2), instead

            def steps(name: str, first: int | None = None, last: int | None = None) -> Steps[None]:
                proxy.left = first
                yield CLAIM._replace(parameters={"name": name})
                yield ADD
                proxy.left = last
                yield Statement("UPDATE things SET id = id + 10", {}, ends=True)

            await driver.run(_transaction(steps("known")), 1e9)
            ending = steps("x", last=passed) if commits else steps("x", first=passed)
            with no_longer_than(5), pytest.raises(OperationalError):
                await driver.run(_transaction(ending), 1e9)
            return errors.outcome_is_unknown(), await close(driver)

    assert uvloop.run(break_the_second()) == (commits, 0)
    if not commits:
        assert stored() == (["known"], [11])


def _transaction(steps: Steps[T]) -> Steps[T]:
    return (yield Transaction(steps))  # type: ignore[no-any-return]


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
