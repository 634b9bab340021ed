"""The process for work with a real gunicorn: killed, stopped and started while it works, and its work is done once."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.server import ROOT, Gunicorn, migrated_database, until

ANIMALS = 6_000
KILLS = int(os.environ.get("PETSTORE_KILLS", "2"))
"""How often each kind of work is killed. `make -C lab kills` does it more often."""

PREPARE = """
import json
from django.contrib.auth.models import User
from categories.models import Category
from changes.acting import identify
from changes.models import Change
from pets import blocks, merging, undoing
from pets.bulk import Target
from pets.importing import queue
from pets.importing.uploads import keep, understand
from pets.models import ImportRun, ImportUpload, Pet
from django.core.files.uploadedfile import SimpleUploadedFile
anna, _ = User.objects.get_or_create(username="anna", is_staff=True, is_superuser=True)
if not Category.objects.exists():
    Category.objects.bulk_create([Category(name="Dogs"), Category(name="Cats")])
dogs, cats = (Category.objects.filter(name=name).first() for name in ("Dogs", "Cats"))
identify("staff anna")
def begun(selected, *target):
    return blocks.begin(blocks.select(selected, user=anna), Target(*target)).pk
"""
ADD = f"""
from simple_history.utils import bulk_create_with_history
animals = [Pet(name=f"Rex {{n}}", category=dogs, status="available") for n in range({ANIMALS})]
bulk_create_with_history(animals, Pet, batch_size=1000)
"""
BEGIN = {
    "bulk": 'begun(Pet.objects.all(), "status", "sold", "sold")',
    "merge": "merging.begin(dogs, cats, user=anna)",
    "undo": "undoing.begin(Change.objects.latest('pk'), user=anna)",
}
CHECK = f"""
rows = "name,category,external_reference\\n" + "".join(f"Rex {{n}},Dogs,L-{{n:06}}\\n" for n in range({ANIMALS}))
chosen = {{"encoding": "", "formula_safe": True, "create_categories": False, "blank": "keep"}}
upload = keep(SimpleUploadedFile("a.csv", rows.encode()), chosen=chosen, member=anna)
assert understand(upload)
queue.put(upload)
"""
CONFIRM = """
upload = ImportUpload.objects.get()
queue.put(upload, queue.Confirmed(digest=upload.work["digest"], options={}))
"""
STATE = """
from django.db.models import Count
upload = ImportUpload.objects.first()
twice = Pet.history.values("id", "change").exclude(change=None).annotate(rows=Count("pk")).filter(rows__gt=1).count()
print(json.dumps({
    "running": Change.objects.filter(state="running").count(), "waits": bool(upload and upload.waits_since),
    "work": upload and upload.work["state"], "twice": twice, "rows": Pet.history.count(),
    "animals": Pet.objects.count(), "sold": Pet.objects.filter(status="sold").count(),
    "cats": Pet.objects.filter(category__name="Cats").count(), "who": [*Pet.history.exclude(change=None)
    .values_list("actor", flat=True).order_by().distinct()],
}))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Gunicorn]:
    with migrated_database() as url:
        server = Gunicorn(tmp_path, DATABASE_URL=url, WEB_CONCURRENCY="1")
        server.wait_until_ready(workers=1)
        yield server
        assert server.stop() == 0


@contextmanager
def database_held(server: Gunicorn) -> Iterator[None]:
    """Let no one else write: on SQLite anything, on PostgreSQL animals."""
    url = server.environment["DATABASE_URL"]
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as holder:
            holder.execute("LOCK TABLE pets_pet IN EXCLUSIVE MODE")
            yield


def has_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def do(server: Gunicorn, code: str) -> Any:
    printed = server.manage("shell", "--verbosity=0", "--command", PREPARE + code)
    return json.loads(printed) if printed.strip() else None


def state_at_the_end(server: Gunicorn) -> Any:
    found: dict[str, Any] = {}

    def has_ended() -> bool:
        found.update(do(server, STATE))
        return not found["running"] and not found["waits"]

    until(has_ended)
    return found


def kill(server: Gunicorn, rng: random.Random) -> None:
    """End the process that works at a random moment, and see that another follows."""
    time.sleep(rng.uniform(0, 0.6))
    known = server.workers(begins="Long work")
    os.kill(known[-1], signal.SIGKILL)
    until(lambda: len(server.workers(begins="Long work")) > len(known))


def restart(server: Gunicorn, rng: random.Random) -> None:
    time.sleep(rng.uniform(0, 0.6))
    [first, *_] = server.workers(begins="Long work")[-1:]
    os.kill(first, signal.SIGTERM)
    until(lambda: server.workers(begins="Long work")[-1] != first)


@pytest.mark.parametrize("end", [kill, restart])
def test_each_kind_of_work_is_done_once_however_often_its_process_ends(
    server: Gunicorn, end: Callable[[Gunicorn, random.Random], None]
) -> None:
    rng = random.Random(45)
    do(server, ADD)
    for kind, expected in (
        ("bulk", {"sold": ANIMALS, "cats": 0, "rows": 2 * ANIMALS}),
        ("undo", {"sold": 0, "cats": 0, "rows": 3 * ANIMALS}),
        ("merge", {"sold": 0, "cats": ANIMALS, "rows": 4 * ANIMALS}),
        ("undo", {"sold": 0, "cats": 0, "rows": 5 * ANIMALS}),
    ):
        do(server, BEGIN[kind])
        for _ in range(KILLS):
            end(server, rng)
        found = state_at_the_end(server)
        assert {name: found[name] for name in expected} == expected, kind
        assert (found["twice"], found["animals"], found["who"]) == (0, ANIMALS, ["staff anna"]), kind


@pytest.mark.parametrize("end", [kill, restart])
def test_a_file_is_imported_once_however_often_its_process_ends(
    server: Gunicorn, end: Callable[[Gunicorn, random.Random], None]
) -> None:
    rng = random.Random(45)
    do(server, CHECK)
    for _ in range(KILLS):
        end(server, rng)
    found = state_at_the_end(server)
    assert (found["work"], found["animals"]) == ("checked", 0)
    do(server, CONFIRM)
    for _ in range(KILLS):
        end(server, rng)
    found = state_at_the_end(server)
    assert (found["work"], found["animals"], found["rows"], found["twice"]) == ("imported", ANIMALS, ANIMALS, 0)


def test_while_the_database_is_busy_it_waits_ends_on_a_signal_and_goes_on(server: Gunicorn) -> None:
    do(server, ADD)
    do(server, BEGIN["bulk"])
    with database_held(server):
        until(lambda: server.logged("failed, because of the database"))
        [first] = server.workers(begins="Long work")
        asked = time.monotonic()
        os.kill(first, signal.SIGTERM)
        until(lambda: has_ended(first))
        assert time.monotonic() - asked < 4
        until(lambda: len(server.workers(begins="Long work")) > 1)
    freed = time.monotonic()
    until(lambda: do(server, STATE)["sold"] == ANIMALS)
    assert time.monotonic() - freed < 15
    found = state_at_the_end(server)
    assert (found["sold"], found["rows"], found["twice"]) == (ANIMALS, 2 * ANIMALS, 0)
    assert not server.logged("Traceback")


def test_it_ends_with_gunicorn_however_that_ends(server: Gunicorn) -> None:
    do(server, ADD)
    do(server, BEGIN["bulk"])
    [worker] = server.workers(begins="Long work")
    server.process.kill()
    server.process.wait()
    until(lambda: has_ended(worker))
    server.start()
    assert state_at_the_end(server)["sold"] == ANIMALS


def test_two_share_the_work_and_do_nothing_twice(server: Gunicorn) -> None:
    command = [sys.executable, str(ROOT / "manage.py"), "work"]
    with subprocess.Popen(command, env=server.environment, stderr=subprocess.PIPE) as other:
        do(server, ADD)
        do(server, BEGIN["bulk"])
        do(server, CHECK)
        found = state_at_the_end(server)
        other.terminate()
        assert (other.communicate()[1], other.returncode) == (b"", 0)
    assert (found["sold"], found["rows"], found["twice"], found["work"]) == (ANIMALS, 2 * ANIMALS, 0, "checked")
