"""The guide's program that keeps an SQLite table in step, while animals are added, changed, deleted and restored.

It runs for a few seconds; `MIRROR_SECONDS=60` makes it a minute.
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

from tests.clients.test_packed import MAPLE, PythonClient
from tests.meanwhile import meanwhile
from tests.server import ROOT, Gunicorn, running_server, until

SECONDS = float(os.environ.get("MIRROR_SECONDS", "5"))
SAMPLE = re.compile(r"^```python Keep an SQLite table in step\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGE = """
from pets.models import Pet
from pets.undoing import change_of, undo
for pet in Pet.objects.order_by("?")[:20]:
    pet.status = "sold"
    pet.save()
number = Pet.objects.order_by("?").first().pk
Pet.objects.get(pk=number).delete()
undo(change_of(Pet.history.latest("history_id")))
Pet.objects.order_by("?").first().delete()
"""
FORGET = "from pets.models import Pet; Pet.history.latest('history_id').delete()"
ANIMALS = "import json; from pets.models import Pet; print(json.dumps([*Pet.objects.order_by('pk').values_list('id', 'name', 'category_id', 'status')]))"


class Mirror:
    """The program, and the table that it keeps."""

    def __init__(self, client: PythonClient, server: Gunicorn) -> None:
        """Write it into the client's folder, with the address of the service."""
        found = SAMPLE.search((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
        assert found
        client.write("mirror.py", found[1].replace("https://petstore.example", server.url))
        self.command = [client.tools / "python", client.folder / "mirror.py"]
        self.folder = client.folder
        self.environment = {"PYTHONPATH": "site", "PETSTORE_API_KEY": server.issue_key()}

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


@pytest.fixture
def server() -> Iterator[Gunicorn]:
    with running_server(workers=1) as server:
        server.manage("load_demo_data")
        yield server


def test_the_table_is_in_step_after_kills_and_a_restore(server: Gunicorn, tmp_path: Path) -> None:
    mirror, key = Mirror(PythonClient(tmp_path), server), server.issue_key()

    def animals() -> Any:
        return json.loads(server.manage("shell", "--verbosity=0", "-c", ANIMALS))

    def add(over: Any) -> None:
        while not over.wait(0.02):
            assert server.post("/v1/pets", key, MAPLE).status == 201

    def change(over: Any) -> None:
        while not over.wait(0.1):
            server.manage("shell", "--verbosity=0", "-c", CHANGE)

    with meanwhile(add, change):
        for _ in range(2):
            with mirror.running():
                until(lambda: len(mirror.table()) > 300)
                time.sleep(SECONDS / 2)
    known = animals()
    with mirror.running():
        until(lambda: mirror.table() == known)
        server.manage("shell", "--verbosity=0", "-c", f"{FORGET}; Pet.objects.first().delete()")
        known = animals()
        until(lambda: mirror.table() == known)
