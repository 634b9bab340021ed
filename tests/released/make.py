"""Keep the stores of a release, with something in most tables: `python -m tests.released.make 2.0.0`.

Run it with the code of the release. `tests/test_upgrades.py` migrates what it writes.
"""

import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.server import ROOT, Gunicorn, manage, running_server
from tests.with_postgresql import Server, server

FOLDER = Path(__file__).parent
FILL = """
from pets.models import *
from categories.models import Category
pet = Pet.objects.latest("pk")
pet.status = "sold"
pet.save()
Pet.objects.earliest("pk").delete()
Category.objects.create(name="Fish")
"""
COMMAND = """
from django.core.management import call_command
from history.acting import begin_command
begin_command(["manage.py", *{0!r}])
call_command(*{0!r})
"""
"""Who acts is as in a process of its own, which takes longer to start than any command here."""


def main(version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "petstore.sqlite3")
        fill(f"sqlite:///{file}")
        with closing(sqlite3.connect(file)) as store:
            store.execute("PRAGMA journal_mode=DELETE")
        keep(f"{version}.sqlite3", file.read_bytes())
    with server() as postgresql:
        fill(postgresql.url)
        keep(f"{version}.sql", dumped(postgresql).encode())


def fill(url: str) -> None:
    """Migrate, and use everything that leaves rows."""
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": url}, "migrate", "--verbosity=0")
    with running_server(database=url, workers=1) as service:
        command(service, "load_demo_data")
        command(service, "create_admin", "anna")
        command(service, "shell", "-v0", "-c", FILL)
        key = json.loads(command(service, "issue_api_key", "Shop", "--json"))
        add(service, key["key"])
        command(service, "rotate_api_key", key["key_id"])
        imported = import_file(service)
        command(service, "undo_import", str(imported))
        command(service, "recount_stock")


def command(service: Gunicorn, *arguments: str) -> str:
    return service.shell(COMMAND.format(arguments))


def add(service: Gunicorn, key: str) -> None:
    """Leave additions, an idempotent one, errors, and the use of the key."""
    category = service.get("/v1/categories", key).json()[0]["id"]
    for name in ("Rex", "Bella", ""):
        service.post("/v1/pets", key, {"name": name, "categoryId": category})
    service.post("/v1/pets", key, {"name": "Once", "categoryId": category}, Idempotency_Key="once")


def import_file(service: Gunicorn) -> int:
    """Import a file and return the number of the import."""
    run = json.loads(command(service, "import_pets", str(ROOT / "docs/animals.csv"), "--create-categories", "--json"))
    return int(run["import"])


def dumped(postgresql: Server) -> str:
    """Return the dump as SQL that any client can run."""
    command = [str(postgresql.binaries / "pg_dump"), "--dbname", postgresql.url, "--no-owner", "--no-privileges"]
    command += ["--no-comments", "--rows-per-insert=100"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    return "\n".join(line for line in lines if not line.startswith("\\"))


def keep(name: str, content: bytes) -> None:
    """Compress it into this folder."""
    (FOLDER / f"{name}.xz").write_bytes(lzma.compress(content, preset=9))


if __name__ == "__main__":
    main(sys.argv[1])
