"""The guide's program that keeps an SQLite table in step, while animals are added, changed, deleted and restored.

It runs for seconds; `MIRROR_SECONDS=60` makes it a minute.
"""

import json
import os
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.scripted import Response, scripted_server
from tests.clients.test_packed import MAPLE, OK, PET, PythonClient, problem
from tests.meanwhile import meanwhile
from tests.server import ROOT, Gunicorn, until

SECONDS = float(os.environ.get("MIRROR_SECONDS", "1"))
SAMPLE = re.compile(r"^```python Keep an SQLite table in step\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGE = """
from pets.models import Pet
from changes.models import UnrecordedChange
from changes.undo import undo
for pet in Pet.objects.order_by("?")[:20]:
    pet.status = "sold"
    pet.save()
number = Pet.objects.order_by("?").first().pk
Pet.objects.get(pk=number).delete()
undo(UnrecordedChange.of_row(Pet.history.latest("history_id")))
Pet.objects.order_by("?").first().delete()
"""
FORGET = "from pets.models import Pet; Pet.history.latest('history_id').delete()"
ANIMALS = "import json; from pets.models import Pet; print(json.dumps([*Pet.objects.order_by('pk').values_list('id', 'name', 'category_id', 'status')]))"


class Mirror:
    """The program, and the table that it keeps."""

    def __init__(self, client: PythonClient, url: str, key: str, **other: str) -> None:
        """Write it into the client's folder, with the address of the service, and with other pauses."""
        found = SAMPLE.search((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
        assert found
        text = found[1]
        for old, new in {"https://petstore.example/v1": url, **other}.items():
            assert text.count(old) == 1
            text = text.replace(old, new)
        client.write("mirror.py", text)
        self.command = [client.tools / "python", client.folder / "mirror.py"]
        self.folder = client.folder
        self.environment = {"PYTHONPATH": "site", "PETSTORE_API_KEY": key}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it for the block, and kill it: it ends in no other way."""
        process = subprocess.Popen(self.command, cwd=self.folder, env=self.environment)
        yield
        assert process.poll() is None
        process.kill()
        process.wait()

    def table(self) -> list[list[Any]]:
        """Return its rows as `ANIMALS` prints them."""
        file = self.folder / "copy.sqlite3"
        if not file.exists() or not file.stat().st_size:  # it is empty until its first table is committed
            return []
        with closing(sqlite3.connect(file)) as copy:
            return [list(row) for row in copy.execute("SELECT * FROM pet ORDER BY id")]


def test_the_table_is_in_step_after_kills_and_a_restore(
    server: Gunicorn, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    key = server.issue_key()
    mirror = Mirror(PythonClient(tmp_path, tmp_path_factory), f"{server.url}/v1", key)

    def animals() -> Any:
        return json.loads(server.shell(ANIMALS))

    def add(over: Any) -> None:
        while not over.wait(0.02):
            assert server.post("/v1/pets", key, MAPLE).status == 201

    def change(over: Any) -> None:
        while not over.wait(0.2):
            server.shell(CHANGE)

    with meanwhile(add, change):
        for _ in range(2):
            with mirror.running():
                until(lambda: len(mirror.table()) > 300)
                time.sleep(SECONDS / 2)
    known = animals()
    with mirror.running():
        until(lambda: mirror.table() == known)
        server.shell(f"{FORGET}; Pet.objects.first().delete()")
        known = animals()
        until(lambda: mirror.table() == known)


def test_an_outage_of_an_hour_is_waited_out(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Before the feed begins, while all animals are read, and in the feed; the pauses are shorter here."""
    pauses = {"time.sleep(30)": "time.sleep(0.01)", "store.changes(cursor)": "store.changes(cursor, max_pause=0.01)"}
    down = [problem(503, "unavailable", Retry_After="0")] * 5  # as often as the client tries one request
    begin: Response = (200, [], {"Link": '</v1/changes?cursor=a>; rel="next"'})
    sold = {"petId": 7, "change": "saved", "pet": PET | {"status": "sold"}}
    changed: Response = (200, [sold], {"Link": '</v1/changes?cursor=b>; rel="next"'})
    with scripted_server(*down, begin, *down, begin, OK, *down * 120, "hang up", changed, "hang") as script:
        mirror = Mirror(PythonClient(tmp_path, tmp_path_factory), script.url, "key", **pauses)
        with mirror.running():
            until(lambda: not script.left)
            assert mirror.table() == [[7, "Maple", 1, "sold"]]
    assert [request.line for request in script.requests[-2:]] == [
        "GET /v1/changes?cursor=a&limit=100",
        "GET /v1/changes?cursor=b&limit=100",
    ]
