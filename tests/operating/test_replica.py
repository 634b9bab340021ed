"""Reports and exports with a real replica: read from it while it is current, and from the primary when it is not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.operating.standbys import ask, let_the_service_ask, standby_of
from tests.server import ROOT, Answer, Gunicorn, manage, running_server, until
from tests.with_postgresql import Server

SLACK = 1.5
"""Seconds for a machine that is busy with other tests."""

FromReplica = Callable[[str, Callable[[], Any]], None]

SIGN_IN = """
from django.contrib.auth.models import User
from django.test import Client
client = Client(headers={"Host": "localhost"})
client.force_login(User.objects.create_superuser("keeper"))
print("sessionid=" + client.cookies["sessionid"].value)
"""

FIGURES = 'SUM("pets_stockmovement"'
EXPORT = "COPY (SELECT"
LEFT_OUT = "The replica cannot be used."
READY = {"status": "ready", "checks": {"database": "ok", "migrations": "ok", "cache": "ok", "replica": "ok"}}
DEGRADED = READY | {"checks": {**READY["checks"], "replica": "degraded"}}  # type: ignore[dict-item]


@pytest.fixture(scope="module")
def replica(postgresql: Server) -> Iterator[Server]:
    """A streaming standby of a migrated primary; both log each statement."""
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    ask(postgresql, "ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()")
    ask(postgresql, "ALTER ROLE petstore SET synchronous_commit = local")  # tests do not wait for the disk otherwise
    let_the_service_ask(postgresql)
    with standby_of(postgresql) as standby:
        yield standby


@pytest.fixture(scope="module")
def service(postgresql: Server, replica: Server) -> Iterator[Gunicorn]:
    with running_server(database=postgresql.url, workers=1, DATABASE_REPLICA_URL=replica.url) as service:
        yield service


@pytest.fixture(scope="module")
def key(service: Gunicorn) -> str:
    service.manage("load_demo_data")
    return service.issue_key()


@pytest.fixture(scope="module")
def session(service: Gunicorn, key: str) -> str:
    """The cookie of someone who can see everything."""
    return service.manage("shell", "-v0", "-c", SIGN_IN).strip()


def page(service: Gunicorn, session: str, path: str = "/admin/") -> Answer:
    return service.send("GET", path, headers={"Cookie": session})


def export(service: Gunicorn, file: Path | str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "export_pets", str(file), *options]
    environment = service.environment | variables
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def statements(server: Server, words: str) -> int:
    return (server.folder / "log").read_text(errors="replace").count(words)


def assert_read_by(expected: Server, other: Server, words: str, send: Callable[[], Any]) -> None:
    """Say that a statement with these words comes to one server alone; a busy machine may need several tries."""
    deadline = time.monotonic() + 15
    while True:
        before = statements(expected, words), statements(other, words)
        send()
        after = statements(expected, words), statements(other, words)
        if after[0] > before[0] and after[1] == before[1]:
            return
        assert time.monotonic() < deadline, (before, after)
        time.sleep(0.5)


@pytest.fixture
def from_replica(postgresql: Server, replica: Server) -> FromReplica:
    """Say that what `send` does reads the replica with these words."""
    return lambda words, send: assert_read_by(replica, postgresql, words, send)


def wait_until_used(service: Gunicorn, session: str, replica: Server) -> None:
    """Wait until every overview is read from the replica again, which is tried every 5 s."""

    def used() -> bool:
        before = statements(replica, FIGURES)
        assert page(service, session).status == 200
        return statements(replica, FIGURES) > before

    begun = time.monotonic()
    until(lambda: all(used() for _ in range(3)))
    assert time.monotonic() - begun < 6 + SLACK


@contextmanager
def paused(replica: Server) -> Iterator[None]:
    ask(replica, "SELECT pg_wal_replay_pause()")
    try:
        yield
    finally:
        ask(replica, "SELECT pg_wal_replay_resume()")


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Stop the server and what it forks, but the processes that stream."""
    assert server.process
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


def timed(send: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.monotonic()
    return send(), time.monotonic() - begun


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/admin/", FIGURES),
        ("/admin/", 'FROM "pets_sale"'),
        ("/admin/", 'SUM("apikeys_keyusage"."count")'),
        ("/admin/", '"categories_category"."icon" AS "category__icon"'),
        ("/admin/apikeys/apikey/1/change/", '"apikeys_keyusage"."count" AS "count"'),
        ("/admin/pets/pet/export/csv/", EXPORT),
        ("/admin/pets/pet/export/csv/", "SET LOCAL statement_timeout"),
        ("/admin/pets/pet/export/xlsx/", "DECLARE"),
    ],
)
def test_reports_are_read_from_the_replica(
    service: Gunicorn, from_replica: FromReplica, session: str, path: str, words: str
) -> None:
    def send() -> None:
        assert page(service, session, path).status == 200

    from_replica(words, send)


@pytest.mark.parametrize("name", ["all.csv", "all.jsonl", "all.xlsx", "-"])
def test_exports_are_read_from_the_replica(
    service: Gunicorn, key: str, from_replica: FromReplica, tmp_path: Path, name: str
) -> None:
    def send() -> None:
        done = export(service, name if name == "-" else tmp_path / name, "--force")
        assert done.returncode == 0, done.stderr

    from_replica(EXPORT if name in {"all.csv", "-"} else "DECLARE", send)


def test_an_export_has_what_was_committed_before_it(
    service: Gunicorn, key: str, replica: Server, postgresql: Server, tmp_path: Path
) -> None:
    """While the replica replays nothing, an export is read from the primary."""
    with paused(replica):
        assert service.post("/v1/pets", key, {"name": "Latecomer", "categoryId": 1}).status == 201
        before = statements(replica, EXPORT)
        done = export(service, tmp_path / "all.csv")
        assert statements(replica, EXPORT) == before
    assert (done.returncode, "Latecomer" in (tmp_path / "all.csv").read_text()) == (0, True)
    assert "The replica cannot be used. Reports are read from the primary." in done.stderr
    assert_read_by(replica, postgresql, EXPORT, lambda: export(service, tmp_path / "again.csv", "--force"))
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "all.csv").read_bytes()


@pytest.mark.parametrize("fault", [stopped, frozen])
def test_a_lost_replica_is_left_out_and_comes_back(
    service: Gunicorn, postgresql: Server, replica: Server, session: str, fault: Any
) -> None:
    wait_until_used(service, session, replica)
    usual = timed(lambda: page(service, session))[1]
    with fault(replica):
        before = statements(postgresql, FIGURES)
        answer, seconds = timed(lambda: page(service, session))
        assert (answer.status, statements(postgresql, FIGURES) > before) == (200, True)
        assert seconds < usual + 0.5 + SLACK
        tried = service.log.read_text().count(LEFT_OUT)
        answers, seconds = timed(lambda: [page(service, session).status for _ in range(6)])
        assert answers == [200] * 6
        assert service.log.read_text().count(LEFT_OUT) - tried <= 1 + seconds // 5, "it is tried once in 5 s"
        ready, seconds = timed(lambda: service.send("GET", "/readyz"))
        assert (ready.status, ready.json(), seconds < 1 + SLACK) == (200, DEGRADED, True)
    wait_until_used(service, session, replica)
    until(lambda: service.send("GET", "/readyz").json() == READY)


@contextmanager
def waiting(postgresql: Server, replica: Server, table: str, send: Callable[[], Any]) -> Iterator[tuple[int, Any]]:
    """Give the process of the replica that waits for a table in the block, and what becomes of `send`, which asks."""
    with ThreadPoolExecutor(1) as pool, closing(psycopg.connect(postgresql.url, user="postgres")) as holder:
        holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        ask(postgresql, "SELECT pg_switch_wal()")
        until(lambda: ask(replica, "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"))
        sent = pool.submit(send)
        waits = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'petstore'"
        until(lambda: ask(replica, waits))
        yield ask(replica, waits), sent
        holder.rollback()


def test_a_replica_that_fails_amid_an_export(
    service: Gunicorn, postgresql: Server, replica: Server, key: str, tmp_path: Path
) -> None:
    file = tmp_path / "all.csv"
    with waiting(postgresql, replica, "pets_pet", lambda: export(service, file)) as (process, exported):
        ask(replica, f"SELECT pg_terminate_backend({process})")
        until(lambda: statements(replica, "terminating connection due to administrator command"))
    done = exported.result()
    assert (done.returncode, LEFT_OUT in done.stderr) == (0, True), done
    animals = ask(postgresql, "SELECT count(*) FROM pets_pet")
    assert file.read_text().count("\n") == animals + 1


def test_a_replica_that_fails_amid_an_export_to_standard_output(
    service: Gunicorn, postgresql: Server, replica: Server, key: str
) -> None:
    with waiting(postgresql, replica, "pets_pet", lambda: export(service, "-")) as (process, exported):
        ask(replica, f"SELECT pg_cancel_backend({process})")
        done = exported.result()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == (
        "Standard output is incomplete: the replica ended the export (canceling statement due to user request). "
        "Discard it and run the command again."
    )


def test_a_thread_is_freed_from_a_replica_that_freezes_amid_a_report(
    postgresql: Server, replica: Server, session: str
) -> None:
    with running_server(database=postgresql.url, workers=1, DATABASE_REPLICA_URL=replica.url, THREADS="1") as small:
        wait_until_used(small, session, replica)
        asked = waiting(postgresql, replica, "pets_sale", lambda: timed(lambda: page(small, session)))
        with asked as (process, answered):
            os.kill(process, signal.SIGSTOP)
        try:
            answer, seconds = answered.result()
            assert (answer.status, seconds < 7 + SLACK) == (503, True)
            assert page(small, session).status == 200
        finally:
            os.kill(process, signal.SIGCONT)


@contextmanager
def promoted(postgresql: Server, replica: Server) -> Iterator[Server]:
    """Promote a second standby, let it write on, and end it as a crash does: its position is past the primary's."""
    with standby_of(postgresql) as other:
        ask(other, "SELECT pg_promote()", "CREATE TABLE written_on AS SELECT generate_series(1, 100000) AS number")
        other.stop(signal.SIGQUIT)
        other.start()
        yield other


@contextmanager
def follower_of_the_promoted(postgresql: Server, replica: Server) -> Iterator[Server]:
    """Run a standby of it: in recovery, and past the primary's position too."""
    with standby_of(postgresql) as other, standby_of(postgresql, behind=other) as follower:
        ask(other, "SELECT pg_promote()", "CREATE TABLE written_on AS SELECT generate_series(1, 100000) AS number")
        until(lambda: ask(follower, "SELECT to_regclass('written_on')"))
        yield follower


@contextmanager
def replica_that_does_not_say(postgresql: Server, replica: Server) -> Iterator[Server]:
    """Take from the service's role what it needs to ask for the timeline."""
    ask(postgresql, "REVOKE EXECUTE ON FUNCTION pg_ls_waldir() FROM petstore")
    try:
        yield replica
    finally:
        let_the_service_ask(postgresql)


@pytest.mark.parametrize("strange", [promoted, follower_of_the_promoted, replica_that_does_not_say])
def test_only_a_standby_of_the_primary_is_read(
    service: Gunicorn, key: str, postgresql: Server, replica: Server, strange: Any
) -> None:
    """Its position alone would say that it has everything."""
    with strange(postgresql, replica) as other:
        name = strange.__name__
        assert service.post("/v1/pets", key, {"name": name, "categoryId": 1}).status == 201
        position = ask(postgresql, "SELECT pg_current_wal_flush_lsn()")
        assert ask(other, f"SELECT pg_last_wal_replay_lsn() >= '{position}'") or other is replica
        done = export(service, "-", DATABASE_REPLICA_URL=other.url)
    assert (done.returncode, name in done.stdout, LEFT_OUT in done.stderr) == (0, True, True), done.stderr
