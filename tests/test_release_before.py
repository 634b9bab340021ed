"""The N-1 rule (CONTRIBUTING.md): the release before works with our schema, beside our code and after a rollback.

The release is the newest one of which `tests/released` has a store. Its commit is the one that gave it a date in
`CHANGELOG.md`: a clone may have no tags. `PETSTORE_RELEASE` names another commit.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.release import parts
from tests.server import ROOT, Gunicorn, empty_database, until

DEMO = ROOT / "docs/animals.csv"


def release(root: Path = ROOT) -> str:
    """Return the commit of the release before HEAD; skip the test, with the reason, if the history does not have it."""
    if named := os.environ.get("PETSTORE_RELEASE"):
        return named
    files = (root / "tests" / "released").glob("*.sqlite3.xz")
    known = [found[1] for file in files if (found := re.fullmatch(r"(\d+\.\d+\.\d+)\.sqlite3\.xz", file.name))]
    for version in sorted(known, key=parts, reverse=True):
        heading = rf"^## {re.escape(version)} \([0-9]"
        dated = git(root, "log", "--format=%H", "--pickaxe-regex", "-S", heading, "HEAD^", "--", "CHANGELOG.md")
        if dated and (commit := dated.split()[-1]) not in oldest_of_shallow(root):
            return commit
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the clone is shallow and ends before the last release: git fetch --unshallow")
    pytest.skip("the Git history, which has the last release, is missing")


def oldest_of_shallow(root: Path) -> list[str]:
    """Return the commits at which a shallow clone begins: they seem to have added everything."""
    file = root / git(root, "rev-parse", "--git-path", "shallow")
    return file.read_text().split() if file.is_file() else []


def git(root: Path, *arguments: str) -> str:
    """Return what git prints, or nothing if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the release before."""
    folder = tmp_path_factory.mktemp("release")
    archive = subprocess.run(["git", "archive", release()], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive, check=True)
    return folder


class Side:
    """One release: its commands, and its service."""

    def __init__(self, root: Path, folder: Path, url: str) -> None:
        self.root, self.folder, self.url = root, folder, url
        folder.mkdir()

    def manage(self, *arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "DATABASE_URL": self.url}
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=True
        ).stdout

    @contextmanager
    def serving(self) -> Iterator[Gunicorn]:
        server = Gunicorn(self.folder, self.root, DATABASE_URL=self.url, WEB_CONCURRENCY="1")
        try:
            server.wait_until_ready(workers=1)
            yield server
        finally:
            server.stop()
        failed = [line for line in server.lines() if int(line.get("status", 0)) >= 500 or "traceback" in line]
        assert failed == []


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    with empty_database(tmp_path) as url:
        yield url


def add(server: Gunicorn, key: str, name: str) -> dict[str, Any]:
    """Add an animal twice with one `Idempotency-Key`; the second time must return the first."""
    body = {"name": name, "categoryId": server.get("/v1/categories", key).json()[0]["id"]}
    first, again = (server.post("/v1/pets", key, body, Idempotency_Key=name) for _ in range(2))
    assert (first.status, again.status, again.headers["Idempotency-Replayed"]) == (201, 201, "true")
    made: dict[str, Any] = first.json()
    return made


def newest(server: Gunicorn, key: str, count: int) -> Any:
    return server.get(f"/v1/pets?limit={count}", key).json()


@pytest.mark.sqlite("it needs no database")
def test_the_guide_finds_a_release_in_a_clone_without_tags(tmp_path: Path) -> None:
    if git(ROOT, "rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("the clone is shallow: git fetch --unshallow")
    clone, guide = tmp_path / "clone", (ROOT / "docs" / "install.md").read_text()
    subprocess.run(["git", "clone", "--quiet", "--no-tags", str(ROOT), str(clone)], check=True)
    [(checkout, version)] = re.findall(r"^ +(git checkout .+) &&$.*?^ +get (\S+) &&", guide, re.MULTILINE | re.DOTALL)
    subprocess.run(["sh", "-ec", checkout, "get", version], cwd=clone, capture_output=True, check=True)
    assert f'version = "{version}"' in (clone / "pyproject.toml").read_text()


def test_both_work_with_the_new_schema(before: Path, tmp_path: Path, database: str) -> None:
    old, new = Side(before, tmp_path / "old", database), Side(ROOT, tmp_path / "new", database)
    old.manage("migrate", "--verbosity=0")
    old.manage("load_demo_data")
    key = old.manage("issue_api_key", "Shop", "--secret-only").strip()
    with old.serving() as old_server:
        first = add(old_server, key, "before-the-migration")
        new.manage("migrate", "--verbosity=0")
        second = add(old_server, key, "after-the-migration")
        with new.serving() as new_server:
            third = add(new_server, key, "beside")
            assert newest(old_server, key, 3) == newest(new_server, key, 3) == [third, second, first]
            body = {"name": "beside", "categoryId": third["categoryId"]}
            assert old_server.post("/v1/pets", key, body, Idempotency_Key="beside").json() == third
            assert (
                old_server.get("/v1/pets?limit=0", key).status == new_server.get("/v1/pets?limit=0", key).status == 400
            )
        fourth = add(old_server, key, "after-the-rollback")
    with old.serving() as old_server:
        assert newest(old_server, key, 4) == [fourth, third, second, first]
        until(lambda: old_server.send("GET", "/readyz").status == 200)
    for importing, undoing in ((old, new), (new, old), (old, old)):
        run = json.loads(importing.manage("import_pets", str(DEMO), "--create-categories", "--json"))
        undone = json.loads(undoing.manage("undo_import", str(run["import"]), "--json"))
        assert (undone["deleted"], undone["left_count"]) == (run["created"], 0)
    old.manage("issue_api_key", "Another shop")
    old.manage("create_admin", "anna")
    assert "Another shop" in new.manage("list_api_keys")
    assert "undone" in new.manage("list_imports")
