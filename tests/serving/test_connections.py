"""The connections of the event loop, to a real PostgreSQL."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest
import uvloop
from django.db import OperationalError, connection

from database.errors import BROKEN, breaker, failure_of
from database.statements import Row, Statement, Steps
from pets import statements
from petstore_site.errors import OverloadError
from petstore_site.serving import adapter
from petstore_site.serving.adapter import MOST_SECONDS
from petstore_site.serving.metrics import Metrics
from petstore_site.serving.postgresql import Connections, OnPostgreSQL
from rest.lists import INT64_MAX
from tests.server import until
from tests.serving.calling import at_most
from tests.serving.proxy import between, silent

pytestmark = pytest.mark.postgresql("SQLite has no such connections")


@pytest.fixture(autouse=True)
def _no_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "seconds", 60)


def asked(sql: str, **values: Any) -> Statement:
    return Statement(sql, values)


def pid() -> Statement:
    return asked("SELECT pg_backend_pid()")


def sleeping(seconds: float) -> Statement:
    return asked("SELECT pg_backend_pid() FROM pg_sleep(%(seconds)s)", seconds=seconds)


def one() -> Steps[list[Row]]:
    return (yield Statement("SELECT 1", {}))  # type: ignore[no-any-return]


def ended(pid: int) -> None:
    """Return when PostgreSQL has ended this connection."""
    with psycopg.connect(**_parameters()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 30000)", [pid])


WAITING = "SELECT 1 FROM pg_advisory_xact_lock_shared(1)"
WAITERS = """
    SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
"""


def end_what_sleeps() -> None:
    """End the connections of this database that wait for `sleeping`."""
    with psycopg.connect(**_parameters()) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event = 'PgSleep'"
        )


def using(
    most: int, work: Callable[[Any], Awaitable[list[Row] | list[list[Row]]]], *, run: Any = uvloop.run, **more: Any
) -> Any:
    """Return what `work` returns with new connections, in the loop of the service unless another one is given.

    They have much time, since a busy machine may do nothing for seconds.
    """

    async def work_and_close() -> Any:
        connections = Connections(most, **{"seconds": 30} | more)
        try:
            return await work(connections)
        finally:
            for each in connections._idle:
                await each.close()

    return run(work_and_close())


@pytest.mark.django_db
class TestConnections:
    def test_one_is_kept(self) -> None:
        async def twice(connections: Any) -> list[list[Row]]:
            return [await connections.run(pid()), await connections.run(pid())]

        first, second = using(2, twice)
        assert first == second

    def test_no_more_than_allowed(self) -> None:
        async def five(connections: Any) -> list[list[Row]]:
            return list(await asyncio.gather(*[connections.run(pid()) for _ in range(5)]))

        assert len({rows[0][0] for rows in using(2, five)}) == 2

    def test_one_that_the_server_ended_is_replaced(self) -> None:
        async def replaced(connections: Any) -> list[list[Row]]:
            before = await connections.run(pid())
            ended(before[0][0])
            await asyncio.sleep(0.2)
            return [before, await connections.run(pid())]

        before, after = using(1, replaced)
        assert before != after

    def test_one_that_ended_while_idle_takes_no_time(self) -> None:
        """The end of a connection can be read forever, and the loop listens."""

        async def idle(connections: Any) -> list[Row]:
            before = await connections.run(pid())
            ended(before[0][0])
            await asyncio.sleep(0.1)
            began = time.process_time()
            await asyncio.sleep(0.5)
            assert time.process_time() - began < 0.1
            return []

        using(1, idle)

    def test_one_that_is_closed_is_no_longer_listened_to(self) -> None:
        """Its descriptor may soon be that of a client."""

        async def closed(connections: Any) -> list[Row]:
            rows: list[Row] = await connections.run(pid())
            raw = connections._idle[0]
            descriptor = raw.fileno()
            await raw.close()
            assert not asyncio.get_running_loop().remove_reader(descriptor)
            return rows

        using(1, closed, run=asyncio.run)  # whose `remove_reader` returns whether there was one

    def test_one_that_breaks_amid_a_query_fails_at_once(self) -> None:
        """The server ends with a request unread, so that its last message comes with an error of the socket."""

        async def broken(connections: Any) -> list[Row]:
            rows: list[Row] = await connections.run(pid())
            raw = connections._idle[0]
            running = asyncio.create_task(connections.run(asked("SELECT pg_sleep(30)")))
            await asyncio.sleep(0.2)
            os.write(raw.fileno(), b"x")
            ended(rows[0][0])
            with pytest.raises(OperationalError):
                await asyncio.wait_for(running, 20)
            return rows

        using(1, broken)

    def test_one_to_which_nobody_listens_is_cut_off_too(self) -> None:
        async def cut_off(connections: Any) -> list[Row]:
            rows: list[Row] = await connections.run(pid())
            raw = connections._idle[0]
            connections._seconds = 0.5
            running = asyncio.create_task(connections.run(asked("SELECT pg_sleep(30)")))
            await asyncio.sleep(0.1)
            asyncio.get_running_loop().remove_reader(raw.fileno())
            with pytest.raises(OperationalError):
                await asyncio.wait_for(running, 20)
            return rows

        using(1, cut_off)

    def test_a_statement_that_the_socket_does_not_take_at_once(self) -> None:
        async def long(connections: Any) -> list[Row]:
            rows: list[Row] = await connections.run(asked("SELECT length(%(text)s::text)", text="x" * 8_000_000))
            return rows

        assert using(1, long) == [(8_000_000,)]

    @pytest.mark.parametrize("prepared", [True, False])
    def test_statements_are_prepared_unless_behind_pgbouncer(
        self, monkeypatch: pytest.MonkeyPatch, prepared: bool
    ) -> None:
        _prepare(monkeypatch, prepared)
        sql = "SELECT %(text)s::text, %(number)s %% 3, %(text)s = 'a' FROM generate_series(1, %(number)s)"
        names = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%%'"

        async def twice(connections: Any) -> list[list[Row]]:
            values = [{"text": "a", "number": 2}, {"number": 1, "text": "b"}]
            return [
                *[await connections.run(asked(sql, **each)) for each in values],
                await connections.run(asked(names)),
            ]

        assert using(1, twice) == [[("a", 2, True)] * 2, [("b", 1, False)], [(int(prepared),)]]

    @pytest.mark.parametrize("prepared", [True, False])
    def test_a_column_whose_type_a_migration_changes(self, monkeypatch: pytest.MonkeyPatch, prepared: bool) -> None:
        _prepare(monkeypatch, prepared)

        async def change(connections: Any) -> list[Row]:
            await connections.run(asked("CREATE TEMPORARY TABLE changing AS SELECT 1 AS number"))
            assert await connections.run(asked("SELECT number FROM changing")) == [(1,)]
            await connections.run(asked("ALTER TABLE changing ALTER number TYPE text"))
            rows: list[Row] = await connections.run(asked("SELECT number FROM changing"))
            return rows

        if prepared:
            with pytest.raises(OperationalError):
                using(1, change)
        else:
            assert using(1, change) == [("1",)]

    def test_statements_beyond_the_most_that_stay_prepared(self) -> None:
        """Each `limit` is a statement of its own."""

        async def many(connections: Any) -> list[list[Row]]:
            again = [*range(150), 149, 0, 149]
            return [await connections.run(asked(f"SELECT {n}, %(text)s::text", text=f"{n}")) for n in again] + [
                await connections.run(asked("SELECT count(*) FROM pg_prepared_statements"))
            ]

        *read, (counted,) = using(1, many)
        assert read == [[(n, f"{n}")] for n in [*range(150), 149, 0, 149]]
        assert counted == (52,)

    def test_an_error_is_djangos_and_its_connection_is_dropped(self) -> None:
        async def wrong(connections: Any) -> list[Row]:
            with pytest.raises(OperationalError):
                await connections.run(asked("SELECT nothing"))
            assert connections._idle == []
            rows: list[Row] = await connections.run(asked("SELECT 1"))
            return rows

        assert using(1, wrong) == [(1,)]

    @pytest.mark.parametrize("commits", [False, True])
    def test_one_that_does_not_respond_is_cut_off(
        self, counted: Metrics, commits: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The database may be well, or a COMMIT waits for a standby: others connect and read meanwhile."""
        monkeypatch.setattr(os, "dup", lambda _: os.close(-1))  # no descriptor is needed for that

        async def slow(connections: Any) -> list[Row]:
            await connections.run(pid())
            connections._seconds = 0.2
            with at_most(20), pytest.raises(OperationalError):
                await connections.run(asked("SELECT pg_sleep(30)"))
            assert not breaker._failed
            return []

        using(1, slow, commits=commits)
        given_up = counted.registry.get_sample_value("petstore_requests_given_up_total", {"reason": "deadline"})
        assert given_up == commits, "a read is tried again"

    def test_who_waits_too_long_for_one_gets_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("petstore_site.serving.postgresql.WAIT_SECONDS", 0.2)

        async def none(connections: Any) -> list[Row]:
            with pytest.raises(OverloadError):
                await connections.run(pid())
            driver = OnPostgreSQL(1)
            driver._for_keys = connections
            with pytest.raises(OperationalError):  # for threads, which may wait for the same key
                await driver.run_for_key(one())
            return []

        using(0, none)

    def test_nothing_waits_beyond_the_deadline_of_a_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("petstore_site.serving.postgresql.WAIT_SECONDS", 30)
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], "connect_timeout", 30)

        async def late(connections: Any) -> list[Row]:
            with pytest.raises(OverloadError):
                await connections.run(pid(), _in(0))
            with pytest.raises(OverloadError):
                await OnPostgreSQL(1).run(one(), _in(0))
            await connections.run(pid())
            async with connections._room:
                with at_most(20), pytest.raises(OverloadError):
                    await connections.run(pid(), _in(0.2))
            with at_most(20), pytest.raises(OperationalError):
                await connections.run(asked("SELECT pg_sleep(30)"), _in(0.2))
            with silent(), at_most(20), pytest.raises(OperationalError):
                await connections.run(pid(), _in(0.2))
            assert not breaker.allows()
            return []

        using(1, late)

    def test_the_time_to_connect_counts(self) -> None:
        async def late(connections: Any) -> list[Row]:
            async with between() as proxy:
                proxy.delay = 1.9
                with at_most(3.7), pytest.raises(OperationalError):
                    await connections.run(asked("SELECT pg_sleep(30)"))
            return []

        using(1, late, seconds=2)

    @pytest.mark.parametrize(
        ("fault", "raised"),
        [
            ("none", None), ("fails", OperationalError), ("breaks", OperationalError), ("is late", OperationalError),
            ("waits too long", OverloadError), ("cannot connect", OperationalError), ("goes away", None),
            ("goes away while it waits", None), ("goes away while it connects", None),
        ],
    )  # fmt: skip
    def test_after_a_fault_as_many_are_served_at_once_as_before(
        self, fault: str, raised: type[Exception] | None
    ) -> None:
        """One place that is not given back would be missed, and a deadline that goes on would cut off another one."""

        async def serve(connections: Any) -> list[Row]:
            waits = fault in {"waits too long", "goes away while it waits"}
            others = [asyncio.create_task(connections.run(sleeping(1.5))) for _ in range(3 * waits)]
            await asyncio.sleep(0.1 * waits)
            with silent() if "connect" in fault else nullcontext():
                statement = asked("SELECT nothing") if fault == "fails" else sleeping(0 if fault == "none" else 30)
                latest = _in(1)
                asking = asyncio.create_task(connections.run(statement, latest))
                await asyncio.sleep(0.2)
                if fault == "breaks":
                    end_what_sleeps()
                elif fault.startswith("goes away"):
                    asking.cancel()
                await asyncio.wait([asking], timeout=20)
            assert asking.cancelled() is fault.startswith("goes away")
            assert raised is None or isinstance(asking.exception(), raised)
            await asyncio.gather(*others)
            breaker.succeed()
            with psycopg.connect(**_parameters()) as other:
                other.execute("SELECT pg_advisory_xact_lock(1)")
                served = [asyncio.create_task(connections.run(asked(WAITING))) for _ in range(3)]
                await asyncio.to_thread(until, lambda: other.execute(WAITERS).fetchone() == (3,), seconds=20)
                await asyncio.sleep(latest + 0.1 - time.perf_counter())
            await asyncio.gather(*served)
            connections.queue.learn(1e6)
            connections.queue.admit()  # nobody counts as waiting
            return []

        using(3, serve)

    def test_who_goes_away_while_it_sends_leaves_nobody_who_sends(self) -> None:
        async def leave(connections: Any) -> list[Row]:
            await connections.run(asked("SELECT length(%(text)s::text)", text=""))
            descriptor = connections._idle[0].fileno()
            sending = asyncio.create_task(connections.run(asked("SELECT length(%(text)s::text)", text="x" * 8_000_000)))
            await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait([sending])
            assert not asyncio.get_running_loop().remove_writer(descriptor)
            rows: list[Row] = await connections.run(asked("SELECT 1"))
            return rows

        assert using(1, leave, run=asyncio.run) == [(1,)]

    def test_who_would_wait_too_long_is_rejected_at_once(self) -> None:
        async def waiting(connections: Any) -> list[Row]:
            connections.queue.admit()
            connections.queue.learn(20 * MOST_SECONDS)
            connections.queue.admit()
            asked = [asyncio.create_task(connections.run(pid())) for _ in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(OverloadError):
                connections.queue.admit()
            await asyncio.gather(*asked)
            connections.queue.admit()
            return []

        using(1, waiting)

    def test_how_long_connections_are_kept_is_learned_from_requests(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapter, "MOST_SECONDS", 0.01)

        async def waiting(connections: Any) -> list[Row]:
            rows: list[Row] = await connections.run(asked("SELECT 1 FROM pg_sleep(0.5)"))
            asking = [asyncio.create_task(connections.run(pid())) for _ in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(OverloadError):
                connections.queue.admit()
            await asyncio.gather(*asking)
            return rows

        assert using(1, waiting) == [(1,)]

    def test_a_key_is_looked_up_while_all_read(self) -> None:
        async def busy(connections: Any) -> list[Row]:
            driver = OnPostgreSQL(1)
            driver._to_read, driver._for_keys = connections, Connections(1)
            async with connections._room:
                rows: list[Row] = await driver.run_for_key(one())
            await driver._for_keys._idle[0].close()
            return rows

        assert using(1, busy) == [(1,)]

    @pytest.mark.parametrize("chosen", [{}, {"status": "available"}])
    def test_a_small_table_is_read_by_its_index_too(self, chosen: dict[str, str]) -> None:
        read: Any = next(statements.page("postgresql", chosen, INT64_MAX, 21))
        with psycopg.connect(**_parameters()) as raw:
            plan = "".join(line for (line,) in raw.execute(f"EXPLAIN (COSTS OFF) {read.sql}", read.parameters))
        assert "Index Scan Backward" in plan
        assert "Seq Scan" not in plan
        assert "Sort" not in plan

    @pytest.mark.parametrize("chosen", [{}, {"status": "available"}])
    def test_a_statement_is_planned_once(self, chosen: dict[str, str]) -> None:
        read: Any = next(statements.page("postgresql", chosen, INT64_MAX, 101))
        with psycopg.connect(**_parameters()) as raw:
            for _ in range(7):
                raw.execute(read.sql, read.parameters, prepare=True)
            planned = raw.execute("SELECT generic_plans, custom_plans FROM pg_prepared_statements").fetchall()
        assert planned == [(7, 0)]

    def test_nothing_is_tried_a_moment_after_a_failure(self) -> None:
        breaker.fail()

        async def refused(connections: Any) -> list[Row]:
            with pytest.raises(OperationalError) as raised:
                await connections.run(pid())
            assert failure_of(raised.value) is BROKEN, "503: the key's other callers get this error too"
            return []

        using(1, refused)

    def test_one_that_cannot_be_opened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")

        async def fails(connections: Any) -> list[Row]:
            with pytest.raises(OperationalError):
                await connections.run(pid())
            assert not breaker.allows()
            return []

        using(1, fails)


def _in(seconds: float) -> float:
    return time.perf_counter() + seconds


def _prepare(monkeypatch: pytest.MonkeyPatch, prepared: bool) -> None:
    """Have new connections prepare statements, or not, as behind PgBouncer."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "prepare_threshold", 2 if prepared else None)


def _parameters() -> dict[str, Any]:
    from petstore_site.serving.postgresql import _parameters as parameters  # noqa: PLC0415

    return parameters()


def test_a_long_queue_of_additions_rejects_no_read() -> None:
    driver = OnPostgreSQL(2)
    driver._to_write.queue.learn(1000)
    driver._to_write.queue.waiting = 1
    driver.admit(reads=True)
    with pytest.raises(OverloadError):
        driver.admit(reads=False)
