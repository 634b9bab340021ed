"""`manage.py print_sizing`, and the table in docs/scaling.md that it made."""

import json
import os
import subprocess
import sys

import pytest

from tests.server import ROOT, manage

SETTINGS = {"WEB_CONCURRENCY": "4", "THREADS": "4"}


def sizing(*arguments: str, **variables: str) -> str:
    return manage({"PATH": os.environ["PATH"]} | SETTINGS | variables, "print_sizing", *arguments)


def test_the_table_of_the_documentation_is_what_the_command_prints() -> None:
    assert sizing() in (ROOT / "docs/scaling.md").read_text()


def test_json() -> None:
    assert json.loads(sizing("--instances", "2", "--json", WEB_CONCURRENCY="3", THREADS="1", SPARE_WORKER="false")) == [
        {
            "instances": 2,
            "workers": 3,
            "threads": 1,
            "connections": 42,
            "max_connections": 83,
            "service_mb": 840,
            "service_cores": 6,
            "database_mb": 1688,
            "database_cores": 3,
            "pools": {"threads": 1, "reads": 2, "writes": 1, "keys": 2, "background": 1},
        }
    ]


def test_the_connection_that_asks_the_primary_for_its_standbys() -> None:
    address = "postgres://petstore@db1/petstore"
    [one] = json.loads(sizing("--instances", "1", "--json", DATABASE_URL=address, DATABASE_STANDBY_URL=address))
    assert (one["connections"], one["max_connections"], one["pools"]["standby"]) == (76, 172, 1)


@pytest.mark.parametrize(
    ("arguments", "variables", "status", "sentence"),
    [
        (["--instances", "0"], {}, 2, "argument --instances: must be a number from 1 on."),
        ([], {"WEB_CONCURRENCY": "many"}, 1, "WEB_CONCURRENCY: must be a whole number from 1 to 256."),
    ],
)
def test_rejects(arguments: list[str], variables: dict[str, str], status: int, sentence: str) -> None:
    environment = {"PATH": os.environ["PATH"]} | variables
    command = [sys.executable, "manage.py", "print_sizing", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, sentence in done.stderr) == (status, "", True)
