"""The process for work with a real gunicorn: killed, stopped and started while it works, and its work is done once."""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from changes import attempts
from tests.server import Gunicorn, at_the_end, manage, migrated_database, running_server, until
from tests.short_blocks import BLOCK

KILLS = int(os.environ.get("PETSTORE_KILLS", "3"))
"""How often each kind of work is ended, as long as it is not done. With more kills there are more animals."""
ANIMALS = 5 * BLOCK * (1 + KILLS)

PREPARE = """
import json
from django.contrib.auth.models import User
from categories.models import Category
from history.acting import identify
from changes.models import Change
from changes import bulk, merging, undo as undoing
from changes.bulk import Target
from files import queue
from files.uploads import keep, understand
from pets.models import ImportRun, ImportUpload, Pet
from django.core.files.uploadedfile import SimpleUploadedFile
anna, _ = User.objects.get_or_create(username="anna", is_staff=True, is_superuser=True)
if not Category.objects.exists():
    Category.objects.bulk_create([Category(name="Dogs"), Category(name="Cats")])
dogs, cats = (Category.objects.filter(name=name).first() for name in ("Dogs", "Cats"))
identify("staff anna")
first = Pet.objects.count()
def begun(selected, *target):
    return bulk.begin(bulk.select(selected, user=anna), Target(*target)).pk
"""
ADD = f"""
from django.db import connection
NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < %s)"
with connection.cursor() as cursor:
    cursor.execute(
        f"{{NUMBERS}} INSERT INTO pets_pet (name, category_id, status, created_at, updated_at)"
        " SELECT 'Rex ' || n, %s, 'available', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM numbers",
        [{ANIMALS}, dogs.pk],
    )
    cursor.execute(
        "INSERT INTO pets_petchange (id, name, category_id, status, history_date, history_type, actor, request_id)"
        " SELECT id, name, category_id, status, created_at, '+', 'staff anna', '' FROM pets_pet"
    )
"""
BEGIN = {
    "bulk": 'begun(Pet.objects.all(), "status", "sold", "sold")',
    "merge": "merging.begin(dogs, cats, user=anna)",
    "undo": "undoing.begin(Change.objects.latest('pk'), user=anna)",
}
CHECK = f"""
rows = "name,category,external_reference\\n" + "".join(f"Rex {{n:040}},Dogs,L-{{first}}-{{n}}\\n" for n in range({ANIMALS}))
chosen = {{"encoding": "", "formula_safe": True, "create_categories": False, "blank": "keep"}}
upload = keep(SimpleUploadedFile("a.csv", rows.encode()), chosen=chosen, user=anna)
assert understand(upload, may_add=True)
queue.put(upload)
"""
CONFIRM = """
upload = ImportUpload.objects.latest("pk")
queue.put(upload, {"digest": upload.work["digest"], "options": {}})
"""
STATE = """
from django.db.models import Count
upload = ImportUpload.objects.order_by("-pk").first()
twice = Pet.history.values("id", "change").exclude(change=None).annotate(rows=Count("pk")).filter(rows__gt=1).count()
print(json.dumps({
    "running": Change.objects.filter(state="running").count(), "waits": bool(upload and upload.waits_since),
    "work": upload and upload.work["state"], "twice": twice, "rows": Pet.history.count(),
    "animals": Pet.objects.count(), "sold": Pet.objects.filter(status="sold").count(),
    "cats": Pet.objects.filter(category__name="Cats").count(), "who": [*Pet.history.exclude(change=None)
    .values_list("actor", flat=True).order_by().distinct()],
}))
"""


KILL = """
import os
from django.db import connection
from changes.attempts import KILLS
from petstore_site.work import WorkLoop
def die(execute, sql, *rest):
    if "INSERT INTO pets_petchange" in sql:
        os.kill(os.getpid(), 9)
    return execute(sql, *rest)
def killed():
    connection.close()
    if child := os.fork():
        return os.WTERMSIG(os.waitpid(child, 0)[1])
    with connection.execute_wrapper(die):
        WorkLoop().step()
    os._exit(0)
change = Change.objects.get(pk=begun(Pet.objects.all(), "status", "sold", "sold"))
def state():
    change.refresh_from_db()
    return [change.state, change.kills, change.changed, change.unreached, change.outcome]
found = [{killed() for _ in range(KILLS - 1)}, state()]
WorkLoop().step()
found += [state(), {killed() for _ in range(KILLS)}, state()]
WorkLoop().step()
print(json.dumps([*found, state()], default=list))
"""


@pytest.fixture(scope="module")
def service() -> Iterator[Gunicorn]:
    with running_server(workers=1, DJANGO_SETTINGS_MODULE="tests.short_blocks") as server:
        yield server
        database(server).close()


@pytest.fixture
def server(service: Gunicorn) -> Gunicorn:
    """One service for all tests, with nothing to do and an empty database."""
    service.shell("from tests.emptying import empty_others; empty_others()")
    return service


@cache
def database(server: Gunicorn) -> Any:
    """Return a connection without transactions: to connect each time takes longer than to ask."""
    url = server.environment["DATABASE_URL"]
    if url.startswith("postgres"):  # also a PgBouncer's, in front of a server that is restarted
        connection: Any = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    else:
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    at_the_end.callback(connection.close)
    return connection


@contextmanager
def database_held(server: Gunicorn) -> Iterator[None]:
    """Let no one else write: on SQLite anything, on PostgreSQL animals."""
    holder = database(server)
    is_sqlite = isinstance(holder, sqlite3.Connection)
    for statement in ["BEGIN IMMEDIATE"] if is_sqlite else ["BEGIN", "LOCK TABLE pets_pet IN EXCLUSIVE MODE"]:
        holder.execute(statement)
    yield
    holder.execute("ROLLBACK")


def is_at_work(server: Gunicorn) -> bool:
    work = "SELECT id FROM pets_bulkchange WHERE state = 'running' UNION ALL "
    work += "SELECT id FROM pets_importupload WHERE waits_since IS NOT NULL"
    return database(server).execute(work).fetchone() is not None


def has_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def do(server: Gunicorn, code: str) -> Any:
    printed = server.shell(PREPARE + code)
    return json.loads(printed) if printed.strip() else None


def state_at_the_end(server: Gunicorn) -> Any:
    until(lambda: not is_at_work(server))
    return do(server, STATE)


def has_next(server: Gunicorn, known: list[int]) -> bool:
    return len(server.workers(begins="Long work")) > len(known)


def end(server: Gunicorn, how: signal.Signals, rng: random.Random, most: float) -> int:
    """End the process for work at random moments, see that another follows, and return how often it was at work."""
    for ended in range(KILLS):
        time.sleep(rng.uniform(0, most))
        if not is_at_work(server):
            return ended
        known = server.workers(begins="Long work")
        os.kill(known[-1], how)
        until(partial(has_next, server, known))
    return KILLS


HOW = pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])


@HOW
def test_each_kind_of_work_is_done_once_however_often_its_process_ends(server: Gunicorn, how: signal.Signals) -> None:
    rng, ended = random.Random(45), 0
    do(server, ADD)
    for kind, expected in (
        ("bulk", {"sold": ANIMALS, "cats": 0, "rows": 2 * ANIMALS}),
        ("undo", {"sold": 0, "cats": 0, "rows": 3 * ANIMALS}),
        ("merge", {"sold": 0, "cats": ANIMALS, "rows": 4 * ANIMALS}),
        ("undo", {"sold": 0, "cats": 0, "rows": 5 * ANIMALS}),
    ):
        do(server, BEGIN[kind])
        ended += end(server, how, rng, 0.3)
        found = state_at_the_end(server)
        assert {name: found[name] for name in expected} == expected, kind
        assert (found["twice"], found["animals"], found["who"]) == (0, ANIMALS, ["staff anna"]), kind
    assert ended > 0
    print(f"ended {ended} times while it worked")  # noqa: T201 - for who looks for it


@HOW
def test_a_file_is_imported_once_however_often_its_process_ends(server: Gunicorn, how: signal.Signals) -> None:
    rng = random.Random(45)
    do(server, CHECK)
    ended = end(server, how, rng, 0.5)
    found = state_at_the_end(server)
    assert (found["work"], found["animals"]) == ("checked", 0)
    do(server, CONFIRM)
    ended += end(server, how, rng, 0.5)
    found = state_at_the_end(server)
    assert (found["work"], found["animals"], found["rows"], found["twice"]) == ("imported", ANIMALS, ANIMALS, 0)
    assert ended > 0
    print(f"ended {ended} times while it worked")  # noqa: T201 - as above


def reader(server: Gunicorn) -> int | None:
    """Return the process that is at work on a file."""
    worker = server.workers(begins="Long work")[-1]
    found = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    return int(found[0]) if found else None


def test_an_import_that_is_killed_begins_again_by_itself(server: Gunicorn) -> None:
    took = 0.0
    for imported, share in enumerate((None, 0.1, 0.5, 0.9, 0.99), start=1):
        do(server, CHECK)
        until(lambda: not is_at_work(server))
        do(server, CONFIRM)  # which fails unless it was checked
        until(lambda: reader(server) is not None)
        killed, began = reader(server) or 0, time.monotonic()
        if share is None:
            until(lambda: reader(server) is None)
            took = time.monotonic() - began
        else:
            time.sleep(share * took)
            with suppress(ProcessLookupError):
                os.kill(killed, signal.SIGKILL)
        found = state_at_the_end(server)
        animals = imported * ANIMALS
        assert (found["work"], found["animals"], found["rows"], found["twice"]) == ("imported", animals, animals, 0)


def test_while_the_database_is_busy_it_waits_ends_on_a_signal_and_goes_on(server: Gunicorn) -> None:
    do(server, ADD)
    do(server, BEGIN["bulk"])
    known, before = server.workers(begins="Long work"), len(server.log.read_text())
    with database_held(server):
        until(lambda: "failed, because of the database" in server.log.read_text()[before:])
        first = known[-1]
        asked = time.monotonic()
        os.kill(first, signal.SIGTERM)
        until(lambda: has_ended(first))
        assert time.monotonic() - asked < 3 + 8, "eight seconds for a busy machine"
        until(partial(has_next, server, known))
    freed = time.monotonic()
    until(lambda: do(server, STATE)["sold"])
    assert time.monotonic() - freed < 15
    found = state_at_the_end(server)
    assert (found["sold"], found["rows"], found["twice"]) == (ANIMALS, 2 * ANIMALS, 0)
    assert "Traceback" not in server.log.read_text()[before:]


def test_it_ends_with_gunicorn_however_that_ends(server: Gunicorn) -> None:
    do(server, ADD)
    do(server, BEGIN["bulk"])
    worker = server.workers(begins="Long work")[-1]
    server.process.kill()
    server.process.wait()
    until(lambda: has_ended(worker))
    server.start()
    assert state_at_the_end(server)["sold"] == ANIMALS


def test_two_instances_share_the_work_and_do_nothing_twice(server: Gunicorn) -> None:
    animals = BLOCK * (attempts.KILLS + 5)  # a block that the other began is no kill
    url = server.environment["DATABASE_URL"]
    with running_server(database=url, workers=1, DJANGO_SETTINGS_MODULE="tests.short_blocks") as other:
        do(server, ADD.replace(str(ANIMALS), str(animals)))
        do(server, BEGIN["bulk"])
        do(server, CHECK)
        found = state_at_the_end(server)
        assert (found["sold"], found["rows"], found["twice"], found["work"]) == (animals, 2 * animals, 0, "checked")
        assert not other.logged("Traceback")


def begun_or_done(server: Gunicorn, table: str) -> Any:
    """Return what shows that someone works: the blocks that are done, or when the file was begun."""
    column = "work" if table == "pets_importupload" else "changed + passed"
    [found] = database(server).execute(f"SELECT {column} FROM {table} ORDER BY id DESC LIMIT 1").fetchone()
    if isinstance(found, str):  # JSON, of SQLite
        found = json.loads(found)
    return found.get("begun_at") if isinstance(found, dict) else found


@pytest.mark.parametrize("kind", [*BEGIN, "file"])
def test_after_a_restart_in_the_middle_it_goes_on(server: Gunicorn, kind: str) -> None:
    table = "pets_importupload" if kind == "file" else "pets_bulkchange"
    do(server, ADD)
    if kind == "undo":
        do(server, BEGIN["bulk"])
        until(lambda: not is_at_work(server))
    do(server, CHECK.replace(f"range({ANIMALS})", "range(25_000)") if kind == "file" else BEGIN[kind])
    until(lambda: begun_or_done(server, table))
    assert server.stop() == 0
    before, known = begun_or_done(server, table), server.workers(begins="Long work")
    assert is_at_work(server)
    server.start()
    until(partial(has_next, server, known))
    started = time.monotonic()
    until(lambda: begun_or_done(server, table) != before)
    seconds = time.monotonic() - started
    assert seconds < 15  # 1 on a machine that does nothing else
    found = state_at_the_end(server)
    assert (found["twice"], found["running"], found["waits"]) == (0, 0, False)
    print(f"{kind}: goes on {seconds:.1f} s after the start")  # noqa: T201 - as above


def test_a_block_that_kills_its_process_each_time_ends_its_change() -> None:
    with migrated_database() as url:
        environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.short_blocks"}
        printed = manage(environment, "shell", "--verbosity=0", "--command", PREPARE + ADD + KILL)
        assert json.loads(printed) == [
            [signal.SIGKILL],
            ["running", attempts.KILLS - 1, 0, 0, ""],
            ["running", 0, BLOCK, 0, ""],
            [signal.SIGKILL],
            ["running", attempts.KILLS, BLOCK, 0, ""],
            ["stopped", attempts.KILLS, BLOCK, ANIMALS - BLOCK, attempts.GIVEN_UP],
        ]
