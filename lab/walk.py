"""Count our own files, functions and moves between files that one request or import runs: `make -C lab walk`.

The ASGI application is called in this process, on an empty PostgreSQL, so what serves it is not counted. `--seq` prints
the ways too.
"""

import asyncio
import io
import json
import logging
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
os.environ.update(PETSTORE_SERVING="true", PROMETHEUS_MULTIPROC_DIR=tempfile.mkdtemp())
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")

Request = tuple[dict[str, Any], bytes]
"""The scope of a request, and its body."""


class Way:
    """The files that a request runs, in their order, and how often each function is called."""

    def __init__(self) -> None:
        """Start with none."""
        self.calls: Counter[tuple[str, str]] = Counter()
        self.files: list[str] = []

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow all threads in the block."""
        sys.setprofile(self._notice)
        threading.setprofile(self._notice)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _notice(self, frame: FrameType, event: str, _argument: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(str(ROOT)) or "/.venv" in name or name == __file__:
            return
        self.calls[name, frame.f_code.co_qualname] += 1
        if not self.files or self.files[-1] != name:
            self.files.append(name)

    def __str__(self) -> str:
        files = len({file for file, _ in self.calls})
        return f"{files:3} files {len(self.calls):4} functions {self.calls.total():4} calls {len(self.files):4} moves"


def prepare() -> tuple[int, int, str, Callable[[], None]]:
    """Migrate, and add animals. Return the IDs of a category and an animal, a key, and what walks without a server."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    from categories.models import Category
    from changes import bulk, undo
    from django.contrib.auth.models import User
    from django.test import Client
    from pets.models import Pet
    from petstore_site.apikeys.models import APIKey

    category = Category.objects.create(name=f"Walked {os.getpid()}")
    pets = Pet.objects.bulk_create([Pet(name=f"P{n}", category=category, status="available") for n in range(30)])
    key = APIKey.objects.issue(name="walk")[1]
    user = User.objects.create_superuser(f"walk-{os.getpid()}")
    (client := Client(headers={"host": "127.0.0.1"})).force_login(user)
    animals = bulk.select(Pet.objects.filter(pk__lte=pets[9].pk), user=user)
    change = bulk.begin(animals, bulk.Target("status", "sold", "sold"))
    undo.advance(change.pk)
    connection.close()
    return category.pk, pets[0].pk, key, lambda: walk_in_thread(client, change.pk)


def requests(category: int, pet: int, key: str) -> dict[str, Callable[[int], Request]]:
    """Return what makes each kind of request, by its name."""
    body = json.dumps({"name": "Rex", "categoryId": category}).encode()
    of_body = {b"content-type": b"application/json", b"content-length": str(len(body)).encode()}

    def request(method: str, path: str, query: bytes = b"", *, sent: bytes = b"", **headers: bytes) -> Request:
        fields = {b"host": b"127.0.0.1:8000", b"authorization": f"Bearer {key}".encode()}
        fields |= {name.replace("_", "-").encode(): value for name, value in headers.items()} | (
            of_body if sent else {}
        )
        scope = {
            "type": "http", "http_version": "1.1", "scheme": "http", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": query, "headers": [each for each in fields.items() if each[1]],
            "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 5000),
        }  # fmt: skip
        return scope, sent

    return {
        "GET list": lambda _: request("GET", "/v1/pets", b"limit=5&status=available"),
        "GET one": lambda _: request("GET", f"/v1/pets/{pet}"),
        "POST": lambda _: request("POST", "/v1/pets", sent=body),
        "POST with key": lambda number: request("POST", "/v1/pets", sent=body, idempotency_key=b"k%d" % number),
        "replay": lambda _: request("POST", "/v1/pets", sent=body, idempotency_key=b"same"),
        "401": lambda _: request("GET", "/v1/pets", authorization=b""),
    }


async def respond(application: Any, request: Request) -> int:
    """Send a request, wait until it is logged too, and return the status."""
    scope, body = request
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    await asyncio.sleep(0.05)
    return int(sent[0]["status"])


async def main(kinds: dict[str, Callable[[int], Request]]) -> None:
    """Print a line for each kind of request, in its fourth run."""
    from petstore_site.apikeys import lookup
    from petstore_site.asgi import application

    logging.disable(logging.NOTSET)
    for name, made in kinds.items():
        lookup.clear()  # the first run looks the key up, and the fourth comes within a second
        for number in range(3):
            await respond(application, made(number))
        way = Way()
        with way.followed():
            status = await respond(application, made(3))
        show(name, status, way)


def walk_in_thread(client: Any, change: int) -> None:
    """Print the same for two pages of the back office, without the door, and for a command that imports 21 rows."""
    from django.core.management import call_command

    def import_rows(run: int) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("name,category\n" + "".join(f"Rex {run} {row},Dogs\n" for row in range(21)))
            file.flush()
            call_command("import_pets", file.name, "--create-categories", stdout=io.StringIO())

    walks: dict[str, Callable[[int], object]] = {
        "list of animals": lambda _: client.get("/admin/pets/pet/"),
        "page of change": lambda _: client.get(f"/admin/activity/{change}/"),
        "import 21 rows": import_rows,
    }
    for name, walk in walks.items():
        for run in range(3):
            way = Way()
            with way.followed():
                walk(run)
        show(name, "", way)


def show(name: str, status: object, way: Way) -> None:
    """Print a line, and the way itself with `--seq`."""
    print(f"{name:15} {status:3} {way}", flush=True)
    if "--seq" in sys.argv:
        print(" ", *(file.removeprefix(f"{ROOT}/") for file in way.files))


if __name__ == "__main__":
    category, pet, key, walk_without_server = prepare()
    asyncio.run(main(requests(category, pet, key)))
    walk_without_server()
    os._exit(0)  # the threads of the service would go on
