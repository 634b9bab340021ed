"""`manage.py print_sizing`, and the table in docs/scaling.md that it made."""

import json
import os
import subprocess
import sys

import pytest
from django.core.checks import run_checks
from django.db import connection

from petstore_site.configuration.checks import TAG
from petstore_site.configuration.sizing import configured as sizing_of
from tests.server import ROOT, manage

SETTINGS = {"WEB_CONCURRENCY": "4", "THREADS": "4"}


def sizing(*arguments: str, **variables: str) -> str:
    return manage({"PATH": os.environ["PATH"]} | SETTINGS | variables, "print_sizing", *arguments)


def test_the_table_of_the_documentation_is_what_the_command_prints() -> None:
    assert sizing() in (ROOT / "docs/scaling.md").read_text()


def test_json() -> None:
    assert json.loads(sizing("--instances", "2", "--json", WEB_CONCURRENCY="3", THREADS="1")) == [
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


@pytest.mark.django_db
@pytest.mark.postgresql("SQLite has no connections to count")
@pytest.mark.parametrize(("workers", "warns"), [("1", False), ("64", True)])
def test_the_check_compares_the_workers_with_the_connections_of_postgresql(
    monkeypatch: pytest.MonkeyPatch, workers: str, *, warns: bool
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", workers)
    found = {message.id: message.msg for message in run_checks(tags=[TAG], include_deployment_checks=True)}
    need = sizing_of(1)[0]
    with connection.cursor() as cursor:
        cursor.execute("SHOW max_connections")
        [most] = cursor.fetchone()
    assert found.get("petstore.W003") == (
        f"PostgreSQL has max_connections = {most}, and this instance needs {need.max_connections}: 64 workers open up to "
        f"{need.connections} connections, as many again while they are replaced, and 20 are for commands, backups and "
        "monitoring."
        if warns
        else None
    )


def test_the_check_says_when_it_cannot_compare() -> None:
    variables = {"PATH": os.environ["PATH"], "DATABASE_URL": "postgres://petstore@127.0.0.1:1/petstore"}
    check = [sys.executable, "manage.py", "check", "--deploy", "--tag=petstore"]
    done = subprocess.run(check, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    assert "(petstore.I001) The database cannot be reached, so its max_connections is not checked." in done.stderr
