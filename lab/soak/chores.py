"""What goes on beside the callers: pages of the back office, imports, rotations, daily commands."""

import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable
from http.client import HTTPMessage
from http.cookiejar import CookieJar
from itertools import count, cycle
from pathlib import Path
from random import Random
from threading import Event

import psycopg
from tests.server import ROOT, Answer
from tests.timed import Timed, timed

from lab.soak.instances import PASSWORD, USER, Shop
from lab.soak.load import Keys, Outcomes

PAGE_SECONDS, IMPORT_SECONDS, ROTATION_SECONDS, DAY_SECONDS = 2.0, 240.0, 150.0, 600.0
ROWS = 2000
CATEGORY = "17"


class Browser:
    """A member of the staff, who goes from one instance to the other."""

    def __init__(self, ports: list[int], outcomes: Outcomes) -> None:
        self._ports, self._outcomes = cycle(ports), outcomes
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open
        self.added: list[str] = []
        """The names of animals whose form said that they were saved."""

    def sign_in(self) -> None:
        """Send the form."""
        path = "/admin/account/sign-in/"
        self._send("sign in", path, self._form(path) | {"login": USER, "password": PASSWORD})

    def visit(self, path: str) -> Timed:
        """Open a page."""
        return self._send("page", path)

    def add(self, name: str) -> None:
        """Add an animal through its form. A page that leads to the list says that it is stored."""
        path = "/admin/pets/pet/add/"
        form = self._form(path)
        if not form:
            return
        sent = form | {"name": name, "category": CATEGORY, "status": "available", "external_reference": ""}
        call = self._send("form", path, sent | {"_save": "Save"})
        if call.answer.status == 200 and b"was added" in call.answer.body:
            self.added.append(name)

    def _form(self, path: str) -> dict[str, str]:
        page = self._send("page", path).answer.body.decode()
        token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page)
        return {"csrfmiddlewaretoken": token[1]} if token else {}

    def _send(self, kind: str, path: str, form: dict[str, str] | None = None) -> Timed:
        url = f"http://127.0.0.1:{next(self._ports)}{path}"
        call = timed(lambda: self._request(url, form))
        self._outcomes.record(kind, call)
        return call

    def _request(self, url: str, form: dict[str, str] | None) -> Answer:
        """Send it, and leave out the headers of the response."""
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self._open(url, data, timeout=60) as response:
                return Answer(response.status, HTTPMessage(), response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, HTTPMessage(), error.read())


class Office:
    """The pages that staff look at, and an animal that they add with every tenth."""

    PAGES = (
        "/admin/",
        "/admin/pets/pet/",
        "/admin/pets/pet/?q=soak",
        "/admin/pets/pet/1/change/",
        "/admin/pets/pet/1/history/",
        "/admin/pets/pet/?status__exact=available",
        "/admin/categories/category/",
        "/admin/apikeys/apikey/",
        "/admin/activity/?kind=import",
    )

    def __init__(self, shop: Shop, outcomes: Outcomes) -> None:
        self.browser = Browser([each.port for each in shop.instances], outcomes)

    def work(self, over: Event) -> None:
        """Visit pages until the event."""
        self.browser.sign_in()
        numbers = count(1)
        for path in cycle(self.PAGES):
            if over.wait(PAGE_SECONDS):
                return
            self.browser.visit(path)
            if path == "/admin/":
                self.browser.add(f"Office {next(numbers)}")


class Imports:
    """Files of animals; every second import is killed after a moment and run again."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        self._shop, self._folder = shop, folder
        self.statuses: Counter[int] = Counter()
        self.done: list[str] = []
        """The series whose import ended with 0, or with 5: it was imported already."""

    def work(self, over: Event) -> None:
        """Import until the event."""
        chance = Random(1)
        for number in count(1):
            if over.wait(IMPORT_SECONDS):
                return
            series = f"Import {number}-"
            file = self._folder / f"{number}.csv"
            file.write_text("name,category\n" + "".join(f"{series}{row},Dogs\n" for row in range(ROWS)))
            if number % 2 == 0:
                self._start(file, kill_after=chance.uniform(0.5, 3))
            self._until_done(series, file, over)

    def _until_done(self, series: str, file: Path, over: Event) -> None:
        while not over.is_set():
            status = self._start(file)
            self.statuses[status] += 1
            if status in {0, 5}:
                self.done.append(series)
                return
            over.wait(5)

    def _start(self, file: Path, *, kill_after: float | None = None) -> int:
        command = ["import_pets", str(file), "--create-categories", "-v0"]
        with (self._folder / "imports.log").open("ab") as log:
            process = subprocess.Popen(
                self._shop.command(*command), cwd=ROOT, env=self._shop.environment, stdout=log, stderr=log
            )
            try:
                return process.wait(kill_after)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()

    def wrong(self, url: str) -> dict[str, int]:
        """Return the series that are not there exactly once, with the number of their rows."""
        query = "SELECT count(*), count(DISTINCT name) FROM pets_pet WHERE name LIKE %s"
        with psycopg.connect(url) as connection:
            rows = {series: connection.execute(query, [f"{series}%"]).fetchone() for series in self.done}
        return {series: row[0] for series, row in rows.items() if row != (ROWS, ROWS) and row}


class Commands:
    """Rotations and daily commands. They may fail while something breaks."""

    def __init__(self, shop: Shop, keys: Keys) -> None:
        self._shop, self._keys = shop, keys
        self.counts: Counter[str] = Counter()

    @property
    def tasks(self) -> list[Callable[[Event], None]]:
        """What to run at once."""
        return [self._rotate, self._daily]

    def _rotate(self, over: Event) -> None:
        while not over.wait(ROTATION_SECONDS):
            if not self._new_key("rotate_api_key", self._keys.key_id, "--grace", "1min"):
                # The rotation may be stored, although its output is lost. Then the old key has a minute left.
                while not self._new_key("issue_api_key", "Soak", "--rate-limit", "100000/min"):
                    over.wait(1)

    def _new_key(self, *command: str) -> bool:
        new = self._run(*command, "--json")
        if new:
            self._keys.use(new)
        return bool(new)

    def _daily(self, over: Event) -> None:
        while not over.wait(DAY_SECONDS):
            for command in (["purge_expired", "--yes"], ["clearsessions"], ["recount_stock"]):
                self._run(*command)

    def _run(self, *command: str) -> str:
        try:
            printed = self._shop.manage(*command)
        except subprocess.CalledProcessError:
            self.counts[f"{command[0]} failed"] += 1
            return ""
        self.counts[command[0]] += 1
        return printed
