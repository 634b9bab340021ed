"""Transactions of the event loop, on a real PostgreSQL: what is sent together, and what becomes of it."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
import pytest
import uvloop
from django.core.exceptions import ValidationError
from django.db import IntegrityError, OperationalError, connection

from database.statements import HeldError, Row, Statement, Steps, Transaction
from petstore_site.door.drivers import OnPostgreSQL

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
        cursor.execute("DROP TABLE claims, things")


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
