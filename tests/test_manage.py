"""`manage.py` with a database that cannot be used: one sentence, no traceback, no password."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import ROOT

COMMANDS = [
    ["issue_api_key", "x"],
    ["rotate_api_key", "abcd1234"],
    ["rotate_api_keys", "--expiring-within", "14d"],
    ["revoke_api_key", "abcd1234"],
    ["list_api_keys"],
    ["load_demo_data"],
    ["purge_expired"],
    ["create_admin", "x"],
    ["create_staff_roles"],
]


def manage(url: str, *arguments: str) -> tuple[int, str, str]:
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url}
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_database_without_tables(command: list[str], tmp_path: Path) -> None:
    ended = manage(f"sqlite:///{tmp_path}/new.sqlite3", *command)
    assert ended == (1, "", f"The database {tmp_path}/new.sqlite3 has not been migrated. Run: manage.py migrate\n")


@pytest.mark.parametrize("command", [*COMMANDS[::3], ["prepare_development"]], ids=lambda command: command[0])
@pytest.mark.parametrize("url", ["postgres://x:hunter2@127.0.0.1:1/x", "sqlite:////nowhere/at/all.sqlite3"])
def test_a_database_out_of_reach(command: list[str], url: str) -> None:
    status, printed, complaint = manage(url, *command)
    assert (status, printed) == (1, "")
    assert complaint.startswith("The database named by DATABASE_URL cannot be used: ")
    assert ("/nowhere/at/all.sqlite3: unable to open database file\n" in complaint) == url.startswith("sqlite")
    assert complaint.count("\n") == 1
    assert "hunter2" not in complaint
