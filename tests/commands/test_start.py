"""What a command loads: nothing that only serving, PostgreSQL or a spreadsheet needs, or it starts in twice the time."""

import os
import subprocess
import sys

import pytest

from tests.server import ROOT

PROGRAM = """
import runpy, sys
try:
    runpy.run_path("manage.py", run_name="__main__")
except SystemExit as ended:
    assert not ended.code, ended.code
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
HEAVY = {
    "cryptography",
    "fido2",
    "gunicorn",
    "limits",
    "markdown_it",
    "openpyxl",
    "opentelemetry",
    "prometheus_client",
    "psycopg",
    "pygments",
    "redis",
    "requests",
    "yaml",
}
COMMANDS = [
    "export_pets --help",
    "import_pets --help",
    "issue_api_key Shop",
    "list_api_keys",
    "purge_expired",
    "revoke_api_key -h",
]


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": f"sqlite:///{tmp_path_factory.mktemp('start')}/x.sqlite3",
    }
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    return environment


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_only_what_it_needs(sqlite: dict[str, str], command: str) -> None:
    line = [sys.executable, "-c", PROGRAM, *command.split()]
    done = subprocess.run(line, cwd=ROOT, env=sqlite, capture_output=True, text=True, check=True)
    assert "django" in done.stderr.split()
    assert HEAVY & set(done.stderr.split()) == set()
