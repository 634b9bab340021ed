"""The feed of changes on real servers: what a promotion, a restore, a dump and a foreign transaction do to a cursor."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

import psycopg
import pytest

from database.statements import _in_one
from pets import feed
from pets.statements import ADDITION
from rest.errors import APIError
from tests.operating.standbys import ask, copied, standby_of
from tests.server import manage, until
from tests.with_postgresql import SETTINGS, Server, server

Change = dict[str, Any]
EXPIRED = "cursor_expired"
PUT = "UPDATE pets_pet SET name = %s WHERE id = %s"
PUT_HISTORY = """
INSERT INTO pets_petchange (id, name, category_id, status, history_type, history_date, actor, request_id)
SELECT id, name, category_id, status, '~', now(), '', '' FROM pets_pet WHERE id = %s
"""


class Follower:
    """Follows the feed of one server after the other."""

    def __init__(self, server: Server, database: str = "petstore") -> None:
        self.place: feed.Place | None = None
        self.told = self.page(server, database)

    def page(self, server: Server, database: str = "petstore") -> list[Change] | str:
        """Return the next page that a server has, or the code of its error."""
        steps = feed.changes_after("postgresql", self.place, 100)
        asked = next(steps)
        with closing(connect(server, database)) as connection:
            rows = connection.execute(asked.sql, asked.parameters).fetchall()  # type: ignore[union-attr]
        try:
            steps.send(rows)
        except APIError as error:
            return str(error.get_codes())
        except StopIteration as done:
            page, self.place, _ = done.value
        return page  # type: ignore[no-any-return]


def connect(server: Server, database: str = "petstore") -> psycopg.Connection[Any]:
    return psycopg.connect(server.url, dbname=database, user="postgres", autocommit=True)


def add(server: Server, name: str) -> Change:
    """Add an animal as `POST /v1/pets` does, and return what the feed shows of it."""
    with closing(connect(server)) as connection:
        values = {"name": name, "category_id": 1, "status": "available", "external_reference": None}
        history = {"now": datetime.now(UTC), "actor": "", "request_id": ""}
        row = connection.execute(_in_one(ADDITION), values | history).fetchone()
    assert row
    return saved(row[0], name)


def saved(pk: int, name: str) -> Change:
    return {
        "petId": pk,
        "change": "saved",
        "pet": {"id": pk, "name": name, "categoryId": 1, "status": "available"},
    }


@contextmanager
def renamed(server: Server, pk: int, name: str) -> Iterator[None]:
    """Rename an animal in a transaction that ends with the block."""
    with closing(connect(server)) as connection, connection.transaction():
        connection.execute(PUT, [name, pk])
        connection.execute(PUT_HISTORY, [pk])
        yield


@pytest.fixture(scope="module")
def migrated(postgresql: Server) -> Server:
    """A server with a category, which is stopped."""
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    ask(postgresql, "INSERT INTO categories_category VALUES (1, 'Dogs', now(), now(), '')")
    postgresql.stop()
    return postgresql


@pytest.fixture
def primary(migrated: Server) -> Iterator[Server]:
    with copied(migrated) as running:
        # What is committed is in the files, and the feed waits for no transaction but the test's.
        running.settings = SETTINGS | {"synchronous_commit": "local", "autovacuum": "off"}
        running.start()
        yield running


def caught_up(standby: Server, primary: Server) -> None:
    position = ask(primary, "SELECT pg_current_wal_flush_lsn()::text")
    until(lambda: ask(standby, f"SELECT pg_last_wal_replay_lsn() >= '{position}'"))


def promote(standby: Server) -> None:
    ask(standby, "SELECT pg_promote()")


def test_a_promotion_that_loses_nothing_lets_the_feed_go_on(primary: Server) -> None:
    with standby_of(primary) as standby:
        follower = Follower(primary)
        assert follower.told == []
        rex = add(primary, "Rex")
        assert follower.page(primary) == [rex]
        luna = add(primary, "Luna")
        caught_up(standby, primary)
        primary.stop(SIGKILL)
        promote(standby)
        assert follower.page(standby) == [luna]
        max_ = add(standby, "Max")
        assert follower.page(standby) == [max_]
        standby.stop()
        standby.start()
        assert follower.page(standby) == []


def test_after_two_promotions_who_asked_between_them_goes_on(primary: Server) -> None:
    """A server knows the last promotion only, so who was away during both begins again."""
    with standby_of(primary) as second, standby_of(primary, behind=second) as third:
        asks, hears_nothing, away = Follower(primary), Follower(primary), Follower(primary)
        rex = add(primary, "Rex")
        assert [follower.page(primary) for follower in (asks, hears_nothing, away)] == [[rex]] * 3
        caught_up(second, primary)
        primary.stop(SIGKILL)
        promote(second)
        assert hears_nothing.page(second) == []
        luna = add(second, "Luna")
        assert asks.page(second) == [luna]
        caught_up(third, second)
        second.stop(SIGKILL)
        promote(third)
        max_ = add(third, "Max")
        assert asks.page(third) == [max_]
        assert hears_nothing.page(third) == [luna, max_]
        assert away.page(third) == EXPIRED
        again = Follower(third)
        bella = add(third, "Bella")
        assert (again.told, again.page(third)) == ([], [bella])


def test_what_a_promotion_lost_ends_the_feed(primary: Server) -> None:
    """The animal renamed last was lost. The last row of history that was shown is there: its transaction began later."""
    rex = add(primary, "Rex")
    with standby_of(primary) as standby:
        follower = Follower(primary)
        with renamed(primary, rex["petId"], "Max"):
            luna = add(primary, "Luna")
            caught_up(standby, primary)
            standby.stop()
        assert follower.page(primary) == [saved(rex["petId"], "Max"), luna]
        primary.stop(SIGKILL)
        standby.start()
        assert ask(standby, "SELECT count(*) FROM pets_petchange") == 2
        promote(standby)
        assert follower.page(standby) == EXPIRED


def test_a_server_that_forgot_when_it_was_promoted_ends_the_feed(primary: Server) -> None:
    with standby_of(primary) as standby:
        rex = add(primary, "Rex")
        caught_up(standby, primary)
        away, follower = Follower(primary), Follower(primary)
        primary.stop(SIGKILL)
        promote(standby)
        assert follower.page(standby) == []
        standby.stop(SIGKILL)
        standby.start()
        assert (follower.page(standby), away.page(standby)) == ([], EXPIRED)
        assert ask(standby, "SELECT count(*) FROM pets_petchange") == rex["petId"] == 1


def test_a_restore_to_an_earlier_time_ends_the_feed(primary: Server) -> None:
    """The last row of history that was shown is there, and the import that was shown before it is not."""
    rex = add(primary, "Rex")
    with standby_of(primary) as restored:
        restored.stop()
        with (restored.folder / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write("recovery_target_name = 'before'\nrecovery_target_action = 'promote'\n")
        follower, early = Follower(primary), Follower(primary)
        with renamed(primary, rex["petId"], "Max"):
            luna = add(primary, "Luna")
            ask(primary, "SELECT pg_create_restore_point('before')")
        assert follower.page(primary) == [saved(rex["petId"], "Max"), luna]
        restored.start()
        until(lambda: not ask(restored, "SELECT pg_is_in_recovery()"))
        assert follower.page(restored) == EXPIRED
        assert early.page(restored) == [luna]


def test_a_copy_of_the_files_ends_the_feed(primary: Server) -> None:
    """Nothing in the files says that they were copied, so the last row of history that was shown is looked for."""
    add(primary, "Rex")
    primary.stop()
    with copied(primary) as restored:
        primary.start()
        follower = Follower(primary)
        luna = add(primary, "Luna")
        assert follower.page(primary) == [luna]
        restored.start()
        assert follower.page(restored) == EXPIRED
        for name in ("Max", "Bella"):
            add(restored, name)
        ask(restored, "SELECT pg_switch_wal()")
        assert ask(restored, f"SELECT pg_current_wal_insert_lsn() > '{follower.place.wal}'")  # type: ignore[union-attr]
        assert follower.page(restored) == EXPIRED


@pytest.mark.parametrize("where", ["another cluster", "the same cluster"])
def test_a_dump_ends_the_feed(primary: Server, where: str) -> None:
    """In another cluster new rows have lower transaction IDs than those of the dump, and must still be shown."""
    for _ in range(50):
        rex = add(primary, "Rex")
    follower = Follower(primary)
    with server() as other:
        target, database = (other, "petstore") if where == "another cluster" else (primary, "restored")
        if target is primary:
            ask(primary, "CREATE DATABASE restored")
        dump = primary._run(
            "pg_dump", f"--dbname=host={primary.folder} user=postgres dbname=petstore", "--format=plain"
        )
        with (Path(target.folder) / "dump.sql").open("w") as file:
            file.write(dump)
        address = f"--dbname=host={target.folder} user=postgres dbname={database}"
        target._run("psql", "--quiet", "--set=ON_ERROR_STOP=1", address, f"--file={target.folder}/dump.sql")
        assert follower.page(target, database) == EXPIRED
        if target is other:
            again = Follower(other)
            luna = add(other, "Luna")
            assert luna["petId"] == rex["petId"] + 1
            assert again.page(other) == [luna]
            assert again.page(other) == []


def test_a_transaction_in_another_database_of_the_server_delays_the_feed(primary: Server) -> None:
    ask(primary, "CREATE DATABASE other")
    follower = Follower(primary)
    with closing(connect(primary, "other")) as connection, connection.transaction():
        connection.execute("SELECT pg_current_xact_id()")
        rex = add(primary, "Rex")
        assert follower.page(primary) == []
    assert follower.page(primary) == [rex]
