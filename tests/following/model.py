"""Copies of the catalogue follow the feed of two instances while 8 writers, imports and the back office change animals.

`python -m tests.following.model SECONDS` runs it with a new database beside the one in DATABASE_URL, or in SQLite. After
each round everyone pauses, the followers read until the feed is empty, and every copy must equal the catalogue.
"""

import json
import math
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tests.server import ROOT, Gunicorn, migrated_database, running_server

WRITERS = 8
FOLLOWERS = 3
ROUND = 30.0
"""Seconds between two comparisons."""

CATEGORIES = ("Dogs", "Cats", "Birds")
CATALOGUE = "from pets.models import Pet; import json; print(json.dumps([*Pet.objects.values_list('id', 'name', 'category_id', 'status')]))"


class Follower:
    """A copy that follows the feed, asks a random instance each time, and sometimes stops for a while."""

    def __init__(self, instances: list[Gunicorn], key: str, seed: int) -> None:
        """Begin, then read every page."""
        self.instances, self.key, self.random = instances, key, random.Random(seed)
        self.copy: dict[int, Any] = {}
        self.count = Counter[str]()
        _, self.path = self._get("/v1/changes")
        path = "/v1/pets?limit=100"
        while path:
            pets, path = self._get(path)
            self.copy |= {pet["id"]: pet for pet in pets}

    def _get(self, path: str) -> tuple[list[Any], str]:
        for _ in range(30):
            answer = self.random.choice(self.instances).get(path, self.key)
            if answer.status != 503:  # late, on a busy machine
                break
            time.sleep(1)
        assert answer.status == 200, (path, answer.body)
        self.count["requests"] += 1
        link = urlsplit(answer.headers.get("Link", "").partition(">")[0].lstrip("<"))
        return answer.json(), f"{link.path}?{link.query}" if link.path else ""

    def step(self) -> int:
        """Apply a page, and return how many animals it had."""
        changes, self.path = self._get(self.path)
        assert len({change["petId"] for change in changes}) == len(changes)
        for change in changes:
            self.count[change["change"]] += 1
            if change["change"] == "saved":
                self.copy[change["petId"]] = change["pet"]
            else:
                self.copy.pop(change["petId"], None)
        return len(changes)

    def follow(self, over: threading.Event) -> dict[str, int]:
        """Follow until it is over; what was done is counted in `count`."""
        while not over.is_set():
            if not self.step():
                over.wait(self.random.random() * 0.2)
            if self.random.random() < 0.01:
                over.wait(self.random.random() * 5)
        return {}

    def catch_up(self, wanted: dict[int, Any], seconds: float = 300) -> None:
        """Follow until the copy is what is wanted: a transaction elsewhere can hold the feed up for a while."""
        deadline = time.monotonic() + seconds
        while self.step() or (self.copy != wanted and time.monotonic() < deadline):
            time.sleep(0.01)
        self.count["compared"] += 1
        missed = {pk for pk in self.copy.keys() | wanted.keys() if self.copy.get(pk) != wanted.get(pk)}
        assert not missed, [(pk, self.copy.get(pk), wanted.get(pk)) for pk in sorted(missed)[:5]]


def add_animals(instances: list[Gunicorn], key: str, seed: int, over: threading.Event) -> dict[str, int]:
    """Add animals by the API until it is over."""
    chosen, count = random.Random(seed), 0
    while not over.is_set():
        body = {"name": f"Added {seed} {count}", "categoryId": chosen.randint(1, len(CATEGORIES))}
        count += chosen.choice(instances).post("/v1/pets", key, body).status == 201
        over.wait(chosen.random() * 0.1)
    return {"added": count}


def import_files(environment: dict[str, str], folder: Path, seed: int, over: threading.Event) -> Counter[str]:
    """Import files that add and change animals, kill some of the imports, and undo some of the others."""
    chosen, count = random.Random(seed), Counter[str]()
    while not over.is_set():
        file = folder / f"{seed}.csv"
        rows = [
            f"R-{chosen.randint(1, 3000)},Imported {chosen.random()},{chosen.choice(CATEGORIES)}" for _ in range(800)
        ]
        unique = {row.partition(",")[0]: row for row in rows}
        file.write_text("\n".join(["external_reference,name,category", *unique.values()]))
        running = subprocess.Popen(_manage("import_pets", str(file), "--json"), env=environment, stdout=subprocess.PIPE)
        if chosen.random() < 0.3:
            over.wait(chosen.random() * 3)
            running.send_signal(signal.SIGKILL)
        printed = running.communicate()[0]
        count[{0: "done", -9: "killed"}.get(running.returncode, "rejected")] += 1
        if running.returncode == 0 and chosen.random() < 0.5:
            number = str(json.loads(printed)["import"])
            undone = subprocess.run(
                _manage("undo_import", number, "--json"), env=environment, check=False, stdout=subprocess.PIPE
            )
            count["undone"] += undone.returncode == 0
    return count


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


class Editors:
    """Processes that change animals as the back office does (`tests.following.editor`)."""

    def __init__(self, environment: dict[str, str], count: int) -> None:
        command = [sys.executable, "-m", "tests.following.editor"]
        self.processes = [
            subprocess.Popen(
                [*command, str(n)], cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for n in range(count)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.communicate(timeout=180)  # its input ends, and so does it

    def edit(self, seconds: float) -> list[Callable[[], Any]]:
        """Let them edit for so long, and return what waits for each to say what it did."""
        for process in self.processes:
            assert process.stdin
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        return [partial(_said, process) for process in self.processes]


def _said(process: subprocess.Popen[str]) -> Any:
    assert process.stdout
    return json.loads(process.stdout.readline())


class Model:
    """The instances, the writers, and the followers."""

    def __init__(self, stack: ExitStack) -> None:
        """Start everything; `stack` ends it."""
        database = stack.enter_context(migrated_database())
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="petstore-following-")))
        self.instances = [stack.enter_context(running_server(database=database, workers=1)) for _ in range(2)]
        self.environment = self.instances[0].environment | {"PYTHONPATH": str(ROOT)}
        first = self.folder / "first.csv"
        rows = [f"R-{n},Animal {n},{CATEGORIES[n % 3]}" for n in range(1, 301)]
        first.write_text("\n".join(["external_reference,name,category", *rows]))
        self.instances[0].manage("import_pets", str(first), "--create-categories")
        self.key = self.instances[0].issue_key()
        self.editors = stack.enter_context(Editors(self.environment, WRITERS // 2))
        self.followers = [Follower(self.instances, self.key, seed) for seed in range(FOLLOWERS)]

    def catalogue(self) -> dict[int, Any]:
        """Return the animals by their IDs, as the database has them."""
        rows = json.loads(self.instances[0].shell(CATALOGUE))
        return {row[0]: dict(zip(("id", "name", "categoryId", "status"), row, strict=True)) for row in rows}

    def write(self, number: int, seconds: float) -> Counter[str]:
        """Let everyone write for so long while the followers follow, and return what was done."""
        over, done, failed = threading.Event(), Counter[str](), list[BaseException]()

        def task(work: Callable[[], Any]) -> None:
            try:
                done.update(work())
            except BaseException as error:  # noqa: BLE001 - raised below
                failed.append(error)
                over.set()

        works = self.editors.edit(seconds)
        seeds = range(100 * number, 100 * number + WRITERS - len(works))
        works += [partial(add_animals, self.instances, self.key, seed, over) for seed in seeds]
        works.append(partial(import_files, self.environment, self.folder, number, over))
        works += [partial(each.follow, over) for each in self.followers]
        threads = [threading.Thread(target=task, args=[work]) for work in works]
        for thread in threads:
            thread.start()
        over.wait(seconds)
        over.set()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return done


def run(rounds: int, *, length: float = ROUND, ways: Collection[str] = ()) -> Counter[str]:
    """Run so many rounds, and more until each of `ways` was gone, 20 at most; return what was done.

    Raises `AssertionError` if a copy missed something.
    """
    with ExitStack() as stack:
        model, total = Model(stack), Counter[str]()
        for number in range(1, max(rounds, 20) + 1):
            total["rounds"] = number
            total += model.write(number, length)
            wanted = model.catalogue()
            for each in model.followers:
                each.catch_up(wanted)
            done = sum((each.count for each in model.followers), total)
            if number >= rounds and all(done[way] for way in ways):
                break
        done["animals"] = len(wanted)
        return done


def main() -> None:
    """Run it and print what was done."""
    done = run(math.ceil(float(sys.argv[1]) / ROUND))
    sys.stdout.write(f"{json.dumps(done)}\n")


if __name__ == "__main__":
    main()
