"""Reads survive the primary: a real primary, its synchronous standby, another one, and the service before them."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from itertools import cycle
from signal import SIGKILL, SIGSTOP
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.db import OperationalError

from database.errors import breaker
from database.fallback import ASK_STANDBY, Fallback, UnprovenError
from database.statements import Row, Statement
from tests.flood import additions, flood
from tests.operating.standbys import ask, copied, let_the_service_ask, parameters, standby_of
from tests.outages import frozen
from tests.server import RELEASE, Answer, Gunicorn, manage, running_server, until
from tests.with_postgresql import SETTINGS, Server

SLACK = 6.0
"""Seconds for a machine that is busy with other tests."""

STRICT = {name: value for name, value in SETTINGS.items() if not name.startswith("synchronous")}
STRICT |= {"wal_retrieve_retry_interval": "500ms", "wal_receiver_timeout": "5s", "wal_sender_timeout": "5s"}
"""As those of deploy/ha."""


class Store:
    """The service with its servers, and what it acknowledged."""

    def __init__(self, service: Gunicorn, key: str, primary: Server, standbys: list[Server]) -> None:
        self.service, self.key, self.primary, self.standbys = service, key, primary, standbys
        self.acknowledged: set[int] = set()

    @property
    def servers(self) -> list[Server]:
        return [self.primary, *self.standbys]

    def add(self) -> Answer:
        answer = self.service.post("/v1/pets", self.key, {"name": "Rex", "categoryId": 1})
        if answer.status == 201:
            self.acknowledged.add(answer.json()["id"])
        return answer

    def get(self, path: str = "/v1/pets?limit=100", key: str = "") -> Answer:
        return self.service.get(path, key or self.key)

    def ready(self) -> Any:
        answer = self.service.send("GET", "/readyz")
        return answer.json()["status"] if answer.status == 200 else answer.status

    def trusts_the_standby(self) -> bool:
        checks = self.service.send("GET", "/readyz").json().get("checks", {})  # it may be late on a busy machine
        return bool(checks.get("standby") == "ok")

    def is_read_only(self) -> bool:
        """Read a list; each one that succeeds has all that was acknowledged."""
        answer = self.get()
        assert answer.status in {200, 503}
        if answer.status == 200:
            assert {pet["id"] for pet in answer.json()} >= self.acknowledged
        return answer.status == 200 and answer.headers["Service-Mode"] == "read-only"

    def is_well(self) -> bool:
        answer = self.get()
        return (answer.status, answer.headers["Service-Mode"]) == (200, None) and self.add().status == 201


@pytest.fixture(scope="module")
def filled(postgresql: Server) -> tuple[Server, str]:
    """A server with a catalogue, which is stopped, and a key of its service."""
    let_the_service_ask(postgresql)
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}
    for command in ("migrate", "load_demo_data"):
        manage(environment, command, "--verbosity=0")
    key = manage(environment, "issue_api_key", "Test", "--secret-only").strip()
    postgresql.stop()
    return postgresql, key


@contextmanager
def running_store(
    filled: tuple[Server, str], *names: str, first_segment: str = "", **variables: str
) -> Iterator[Store]:
    """Run a primary whose first standby is synchronous, and the service with all servers, or with the only standby."""
    origin, key = filled
    with copied(origin) as primary, ExitStack() as entered:
        if first_segment:
            primary._run(
                "pg_resetwal", f"--next-wal-file=0000000100000000{first_segment}", str(primary.folder / "data")
            )
        primary.settings = STRICT
        primary.start()
        standbys = [entered.enter_context(standby_of(primary, name=name)) for name in names]
        require(primary, names[0])
        named = [primary, *standbys] if len(names) > 1 else standbys
        folders = ",".join(quote(str(each.folder), safe="") for each in named)
        variables["DATABASE_STANDBY_URL"] = f"postgres://petstore@/petstore?host={folders}&port=5432"
        service = entered.enter_context(running_server(database=primary.url, workers=1, **variables))
        store = Store(service, key, primary, standbys)
        until(store.is_well)
        until(store.trusts_the_standby)
        yield store


def require(primary: Server, names: str) -> None:
    """Let each COMMIT wait for these standbys."""
    ask(primary, f"ALTER SYSTEM SET synchronous_standby_names = '{names}'", "SELECT pg_reload_conf()")


def lose(primary: Server) -> None:
    primary.stop(SIGKILL)


@contextmanager
def killed(primary: Server) -> Iterator[None]:
    lose(primary)
    yield


RECEIVED = "SELECT pg_last_wal_receive_lsn() - '0/0'"
RECEIVED_IN_PART = "SELECT pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn()"


@contextmanager
def amid_a_record(store: Store) -> Iterator[None]:
    """Enter the block when the standbys have a part of a large record; kill the primary in the end."""
    record = "SELECT pg_logical_emit_message(false, '', repeat('x', 20000000))"
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(ask, store.primary, *[record] * 99)
        until(lambda: ask(store.standbys[0], RECEIVED_IN_PART) > 1_000_000)
        try:
            yield
        finally:
            lose(store.primary)
            with suppress(psycopg.Error):
                sent.result()


@pytest.fixture(params=["true", "false"], ids=["event loop", "Django"])
def store(filled: tuple[Server, str], request: pytest.FixtureRequest) -> Iterator[Store]:
    with running_store(filled, "one", "two", API_IN_EVENT_LOOP=request.param) as running:
        yield running


@pytest.fixture
def pair(filled: tuple[Server, str]) -> Iterator[Store]:
    with running_store(filled, "one") as running:
        yield running


def test_reads_survive_the_primary_and_return_to_it(store: Store) -> None:
    revoked = store.service.manage_json("issue_api_key", "Gone")
    store.service.manage("revoke_api_key", revoked["key_id"])
    assert [store.add().status for _ in range(20)] == [201] * 20
    lose(store.primary)
    begun = time.monotonic()
    until(store.is_read_only)
    assert time.monotonic() - begun < 2.5 + SLACK
    for _ in range(10):
        assert store.is_read_only()
    newest = max(store.acknowledged)
    one, missing = store.get(f"/v1/pets/{newest}"), store.get("/v1/pets/999999")
    assert (one.status, one.json()["id"], one.headers["Service-Mode"]) == (200, newest, "read-only")
    assert (missing.status, missing.headers["Service-Mode"]) == (404, "read-only")
    assert store.get("/v1/categories").status == 200
    assert store.get("/v1/categories/1").status == 200
    assert store.get(key=revoked["key"]).json()["code"] == "api_key_revoked"
    added = store.add()
    assert (added.status, added.headers["Request-Outcome"], added.headers["Retry-After"]) == (503, "not-done", "2")
    assert added.headers["Service-Mode"] is None
    ready = {
        "status": "read-only",
        "release": RELEASE,
        "checks": {"database": "read-only", "migrations": "read-only", "cache": "ok", "standby": "ok"},
    }
    until(lambda: store.service.send("GET", "/readyz").json() == ready)  # a check may be late on a busy machine
    time.sleep(5)  # beyond the time in which the other standby need not be asked
    assert store.is_read_only()
    store.primary.start()
    until(store.is_well)
    until(lambda: store.ready() == "ready")


def test_reads_survive_a_frozen_primary(store: Store) -> None:
    with frozen(store.primary):
        begun = time.monotonic()
        until(lambda: store.ready() == "read-only")
        until(store.is_read_only)
        assert time.monotonic() - begun < 4 + SLACK
        for _ in range(10):
            assert store.is_read_only()
        assert store.add().status == 503
    until(store.is_well)


@pytest.mark.parametrize("how", [killed, frozen])
def test_reads_survive_a_primary_that_is_lost_amid_a_record(
    store: Store, how: Callable[[Server], AbstractContextManager[None]]
) -> None:
    """A part of the record is received, and never replayed."""
    for _ in range(5):
        assert store.add().status == 201
    with amid_a_record(store), how(store.primary):
        begun = time.monotonic()
        until(lambda: store.ready() == "read-only")
        until(store.is_read_only)
        assert time.monotonic() - begun < 4 + SLACK
        assert ask(store.standbys[0], RECEIVED_IN_PART) > 0
        time.sleep(5)  # beyond the lease, and until the standbys notice that a frozen primary sends nothing
        until(store.is_read_only)
        for _ in range(10):
            assert store.is_read_only()
    assert store.service.logged("A standby is read instead of the primary.")


def test_the_only_standby(pair: Store) -> None:
    lose(pair.primary)
    until(pair.is_read_only)
    pair.standbys[0].stop()
    until(lambda: pair.ready() == 503)
    assert pair.get().status == 503


def test_overload_does_not_look_like_the_loss_of_the_primary(pair: Store) -> None:
    """The primary and the worker are busy, and connections are few: the watch still gets its response in time."""
    with flood(pair.service.port, cycle(additions(pair.key)), connections=200) as calls:
        until(lambda: len(calls) > 500)
        modes = {pair.get().headers["Service-Mode"] for _ in range(30)}
    assert modes == {None}
    assert "The primary does not respond" not in pair.service.log.read_text()


def test_used_up_connections_do_not_look_like_the_loss_of_the_primary(pair: Store) -> None:
    """Who has a connection uses it. A read that gets none comes from the standby, which has everything."""
    with used_up(pair.primary):
        for _ in range(5):
            until(lambda: pair.ready() == "read-only")  # it opens a connection of its own
            assert pair.is_well()
        assert "The primary does not respond" not in pair.service.log.read_text()
        lose(pair.primary)
        begun = time.monotonic()
        until(pair.is_read_only)
        assert time.monotonic() - begun < 2.5 + SLACK
    pair.primary.start()
    until(pair.is_well)


@contextmanager
def used_up(primary: Server) -> Iterator[None]:
    """Leave no connection to others in the block."""
    with ExitStack() as held:
        with pytest.raises(psycopg.OperationalError, match="connection slots"):
            _connect_until_rejected(primary, held)
        yield


def _connect_until_rejected(primary: Server, held: ExitStack) -> None:
    while True:
        held.enter_context(closing(psycopg.connect(primary.url)))


def assert_unread(store: Store) -> None:
    """Nothing is read for a while, and `/readyz` says so."""
    until(lambda: store.ready() == 503)
    until(lambda: store.get().status == 503)
    for _ in range(3):
        assert store.get().status == 503


def not_synchronous(store: Store) -> None:
    require(store.primary, "")
    until(lambda: not store.trusts_the_standby())
    lose(store.primary)


def not_synchronous_for_the_service(store: Store) -> None:
    ask(store.primary, "ALTER ROLE petstore SET synchronous_commit = local")
    ask(store.primary, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'petstore'")
    until(lambda: store.get().status == 200)
    until(lambda: not store.trusts_the_standby())
    lose(store.primary)


def promoted(store: Store) -> None:
    lose(store.primary)
    until(store.is_read_only)
    ask(store.standbys[0], "SELECT pg_promote()")


@pytest.mark.parametrize("how", [not_synchronous, not_synchronous_for_the_service, promoted])
def test_a_standby_that_may_not_be_read(pair: Store, how: Callable[[Store], None]) -> None:
    how(pair)
    assert_unread(pair)


def test_a_standby_that_has_not_replayed_all_is_read_when_it_has(pair: Store) -> None:
    ask(pair.standbys[0], "SELECT pg_wal_replay_pause()")
    assert pair.add().status == 201
    lose(pair.primary)
    assert_unread(pair)
    assert pair.service.logged("No standby is read instead of the primary. It has not replayed all it received.")
    ask(pair.standbys[0], "SELECT pg_wal_replay_resume()")
    until(pair.is_read_only)


def test_a_service_that_never_saw_the_primary_reads_nothing(pair: Store) -> None:
    lose(pair.primary)
    with running_server(
        database=pair.primary.url, workers=1, DATABASE_STANDBY_URL=pair.service.environment["DATABASE_STANDBY_URL"]
    ) as late:
        assert late.get("/v1/pets", pair.key).status == 503


class Observer:
    """A service's view of the servers, which may lose the primary while that goes on. Time passes only as tests say."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("database.fallback.LEASE", 600.0)
        monkeypatch.setattr("database.fallback.SECONDS", 60.0)
        self.fallback = Fallback(parameters(store.primary), [parameters(each) for each in store.servers])
        self.fallback.look()
        assert self.fallback.is_ready()
        flushed = self.fallback._primary.flushed  # may still be on its way to them
        until(lambda: all((ask(each, RECEIVED) or 0) >= flushed for each in store.standbys))

    def lose_the_primary(self) -> None:
        self.fallback._server.close()
        self.fallback._server._parameters = {"host": "/nowhere"}
        self.fallback.look()

    def close(self) -> None:
        for each in (self.fallback._server, *self.fallback._servers):
            each.close()

    def newest(self) -> int | None:
        """Return the newest animal, or None if no standby can prove that it has all."""
        try:
            return int(self.fallback.rows(Statement("SELECT max(id) FROM pets_pet", {}))[0][0])
        except UnprovenError:
            return None


def cut_off(standby: Server) -> None:
    ask(standby, "ALTER SYSTEM SET primary_conninfo = 'host=/nowhere'", "SELECT pg_reload_conf()")
    until(lambda: not ask(standby, "SELECT count(*) FROM pg_stat_wal_receiver"))


@pytest.fixture
def observer(filled: tuple[Server, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, Observer]]:
    with running_store(filled, "one", "two") as running:
        seen = Observer(running, monkeypatch)
        yield running, seen
        seen.close()
    breaker.succeed()


def test_a_read_that_gets_no_connection_comes_from_the_standby(
    observer: tuple[Store, Observer], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, seen = observer
    monkeypatch.setattr("database.fallback.PATIENCE", 60)
    statement = Statement("SELECT max(id) FROM pets_pet", {})

    def refused(_statement: Statement) -> list[Row]:
        breaker.fail()
        raise OperationalError

    assert seen.fallback.read(statement, refused) == [(max(store.acknowledged),)]
    assert seen.fallback.read(statement, lambda _: [("the primary's",)]) == [("the primary's",)]


def test_who_alone_lost_the_primary_reads_nothing_old(
    observer: tuple[Store, Observer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The primary goes on with another standby, and the first one is as cut off as we are."""
    store, seen = observer
    seen.lose_the_primary()
    until(lambda: seen.newest() == max(store.acknowledged))
    cut_off(store.standbys[0])
    require(store.primary, "two")
    until(lambda: store.add().status == 201)
    monkeypatch.setattr("database.fallback.LEASE", 0)
    assert seen.newest() is None
    store.standbys[1].stop()
    assert seen.newest() is None


@pytest.fixture(params=["0F", "FF"])
def near_a_digit_more(
    filled: tuple[Server, str], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Store, Observer]]:
    """Standbys whose log is in this segment of 16 MB. The next ones are at 0/10000000 and 1/0."""
    with running_store(filled, "one", "two", first_segment=f"000000{request.param[0]}B") as running:
        while not ask(running.primary, "SELECT pg_walfile_name(pg_current_wal_lsn())").endswith(request.param):
            ask(running.primary, "SELECT pg_switch_wal()", "SELECT txid_current()")
        seen = Observer(running, monkeypatch)
        yield running, seen
        seen.close()
    breaker.succeed()


def test_what_another_standby_has_may_still_be_confirmed(
    near_a_digit_more: tuple[Store, Observer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An animal waits for the first standby. If the second one counts, it is acknowledged, and nothing is received."""
    store, seen = near_a_digit_more
    monkeypatch.setattr("database.fallback.PATIENCE", 0)
    cut_off(store.standbys[0])
    writer = ask(store.primary, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'")
    os.kill(writer, SIGSTOP)  # every 15 s it writes something by itself
    ask(store.primary, "SET synchronous_commit = local", "SELECT pg_switch_wal()", "CREATE TABLE more ()")
    until(lambda: ask(store.standbys[1], "SELECT to_regclass('more')"))
    host = str(store.standbys[1].folder)
    [other] = [each for each in seen.fallback._servers if each._parameters["host"] == host]
    assert other.ask(ASK_STANDBY).received > seen.fallback._primary.flushed, "it has what came after the digit more"
    seen.lose_the_primary()
    until(lambda: seen.newest() == max(store.acknowledged))  # the primary has not had the time to choose another one
    monkeypatch.setattr("database.fallback.LEASE", 0)
    assert seen.newest() is None
    lose(store.primary)
    until(lambda: seen.newest() == max(store.acknowledged))


def test_the_servers_must_be_asked_soon_after_the_loss(
    observer: tuple[Store, Observer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later the primary may have chosen another standby."""
    _, seen = observer
    monkeypatch.setattr("database.fallback.LEASE", 0)
    seen.lose_the_primary()
    assert seen.newest() is None


def test_all_but_the_primary_must_respond(observer: tuple[Store, Observer]) -> None:
    store, seen = observer
    store.standbys[1].stop()
    seen.lose_the_primary()
    assert seen.newest() is None


def test_another_standby_is_the_synchronous_one(observer: tuple[Store, Observer]) -> None:
    """What it confirms counts from then on; before, it must have had everything."""
    store, seen = observer
    require(store.primary, "two")
    until(
        lambda: (
            ask(store.primary, "SELECT application_name FROM pg_stat_replication WHERE sync_state = 'sync'") == "two"
        )
    )
    seen.fallback.look()
    assert store.add().status == 201
    lose(store.primary)
    seen.fallback.look()
    cut_off(store.standbys[0])
    until(lambda: seen.newest() == max(store.acknowledged))
    assert seen.fallback._chosen()._server._parameters["host"] == str(store.standbys[1].folder)
