"""What `compose.yaml` does at its first start, without containers: secrets, roles, migrations, backups, jobs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
import yaml

from tests.server import ROOT, free_port, send, until
from tests.with_postgresql import SETTINGS, NoPostgreSQLError, Server, find_binaries, server

SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
HBA = "local all all trust\nhost all all all scram-sha-256\n"  # as in PostgreSQL's image
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="it gives files to the accounts of containers, which needs root"
)


class Started(NamedTuple):
    """The volumes, and the database after its first start."""

    prepared: Path
    database: Server
    port: int

    def secret(self, volume: str, name: str) -> str:
        return (self.prepared / volume / name).read_text()

    def run(self, command: str, secrets: str = "database", **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of compose.yaml with the paths, the volume of secrets and the host of this test."""
        paths = {
            "/run/secrets/": f"{self.prepared}/{secrets}/", "/backups": f"{self.prepared}/backups",
            "/petstore/": f"{ROOT}/deploy/postgresql/", "$$": "$",
        }  # fmt: skip
        for old, new in paths.items():
            command = command.replace(old, new)
        path = f"{self.database.binaries}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {"PATH": path, "PGHOST": "127.0.0.1", "PGPORT": str(self.port)} | variables
        return subprocess.run(["sh", "-euc", command], env=environment, cwd=ROOT, capture_output=True, text=True, check=True)  # fmt: skip

    def address(self, volume: str) -> str:
        return self.secret(volume, "database").replace("@database:5432", f"@127.0.0.1:{self.port}")


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    try:
        find_binaries()
    except NoPostgreSQLError as missing:
        pytest.skip(f"PostgreSQL ({missing})")
    prepared = tmp_path_factory.mktemp("prepared")
    for volume in ("database", "service", "migrator", "backup", "backups"):
        (prepared / volume).mkdir()
    prepare(prepared)
    with server() as database:
        start = Started(prepared, database, free_port())
        first_start(start)
        yield start


def prepare(folder: Path) -> None:
    _, script, _ = SERVICES["prepare"]["command"]
    subprocess.run([sys.executable, script, str(folder)], cwd=ROOT, check=True)


def first_start(start: Started) -> None:
    """Do what PostgreSQL's image does with /docker-entrypoint-initdb.d, and start the server."""
    database, data = start.database, start.database.folder / "data"
    with closing(psycopg.connect(database.url.replace("//petstore@", "//postgres@"), autocommit=True)) as connection:
        connection.execute((ROOT / "deploy/postgresql/roles.sql").read_bytes())
        connection.execute(f"ALTER ROLE postgres PASSWORD '{start.secret('database', 'postgres')}'")
    (data / "pg_hba.conf").write_text(HBA)
    script = (ROOT / "deploy/compose/first-start.sh").read_text()
    start.run(script, POSTGRES_USER="postgres", POSTGRES_DB="petstore", PGDATA=str(data), PGHOST=str(database.folder), PGPORT="5432")  # fmt: skip
    database.stop()
    database.settings = SETTINGS | {"listen_addresses": "127.0.0.1", "port": str(start.port)}
    database.start()


def files(folder: Path) -> dict[str, tuple[int, str, str]]:
    """Return the account, the mode and the content of each file."""
    return {
        str(path.relative_to(folder)): (path.stat().st_uid, oct(path.stat().st_mode)[-3:], path.read_text())
        for path in folder.rglob("*")
        if path.is_file() and "backups" not in path.parts
    }


def test_secrets_are_made_once_and_each_is_for_one_account(started: Started) -> None:
    before = files(started.prepared)
    prepare(started.prepared)
    assert files(started.prepared) == before
    assert {(account, mode) for account, mode, _ in before.values()} == {(999, "400"), (10001, "400")}
    assert {name for name in before if not name.startswith("database/")} == {
        "service/secret_key", "service/database", "migrator/secret_key", "migrator/database", "backup/petstore_backup",
    }  # fmt: skip
    assert before["backup/petstore_backup"] == before["database/petstore_backup"]
    assert len({content for name, (_, _, content) in before.items() if name.startswith("database/")}) == 4


def test_each_container_sees_the_secrets_of_its_own_role() -> None:
    seen = {
        name: [volume.partition(":")[0] for volume in service.get("volumes", []) if ":/run/secrets" in volume]
        for name, service in SERVICES.items()
    }
    assert {name: volumes for name, volumes in seen.items() if volumes} == {
        "database": ["database-secrets"],  # whose first start gives the roles their passwords
        "roles": ["database-secrets"],  # as a superuser
        "migrate": ["migrator-secrets"],
        "web": ["service-secrets"],
        "daily": ["service-secrets"],
        "backup": ["backup-secrets"],
    }


def test_the_first_start(started: Started) -> None:
    def manage(volume: str, *command: str) -> str:
        """Run a command as a container with this volume does."""
        variables = {"DATABASE_URL": started.address(volume), "PATH": os.environ["PATH"]}
        done = subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=variables, capture_output=True, text=True, check=True)  # fmt: skip
        return done.stdout

    assert SERVICES["migrate"]["command"] == ["python", "manage.py", "migrate"]
    manage("migrator", "migrate", "--verbosity=0")
    started.run(SERVICES["roles"]["command"][-1])
    with closing(psycopg.connect(started.address("service"))) as connection:
        assert connection.execute("SELECT count(*) FROM pets_pet").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM pets_petchange")
    for command in SERVICES["daily"]["command"][2:]:
        manage("service", *command.split()[2:])
    for command in SERVICES["backup"]["command"][2:]:
        started.run(command, "backup")
    kept = [path.name for kind in ("base", "dump") for path in (started.prepared / "backups" / kind).iterdir()]
    assert len(kept) == 2


def test_a_job_that_fails_is_tried_again_every_hour_and_the_others_once_a_day(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "sleep").write_text(
        f"#!/bin/sh\necho $1 >>{log}\n[ $(grep -c 3600 {log}) -lt 25 ] || exec /bin/sleep 60\n"
    )
    (tmp_path / "sleep").chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [
        "sh",
        "deploy/compose/every-day",
        f"echo backup >>{log}",
        f"echo dump >>{log}; false",
        f"echo purge >>{log}",
    ]
    process = subprocess.Popen(command, cwd=ROOT, env=variables, start_new_session=True)
    try:
        until(lambda: log.exists() and log.read_text().count("3600") == 25)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    day = ["backup", "dump", "purge", "3600"]
    assert log.read_text().split() == [*day, *["dump", "3600"] * 23, *day]


def test_what_containers_mount_exists() -> None:
    mounts = [mount for options in SERVICES.values() for mount in options.get("volumes", [])]
    assert all((ROOT / mount.split(":")[0]).exists() for mount in mounts if mount.startswith("./"))
    named = {mount.split(":")[0] for mount in mounts if mount[0] not in "./$"}
    assert named == set(yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"])


def test_a_look_in_one_line(tmp_path: Path) -> None:
    """Copy what the Dockerfile copies, and start it as the line of deploy/look does."""
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--"):
            for name in words[1:-1]:
                target = tmp_path / name
                target.parent.mkdir(exist_ok=True)
                subprocess.run(["cp", "-Rp", str(ROOT / name), str(target)], check=True)
    port = free_port()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {"PATH": path, "PORT": str(port), "WEB_CONCURRENCY": "1"}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(["sh", "deploy/look"], cwd=tmp_path, env=variables, stdout=log, stderr=log)
    try:
        until(lambda: process.poll() is not None or "Worker ready" in (tmp_path / "log").read_text())
        assert "pets_test_" in (tmp_path / "log").read_text()
        until(lambda: send(port, "GET", "/readyz").status == 200)
    finally:
        process.terminate()
        process.wait(60)
    assert {path.name for path in (tmp_path / "var").iterdir()} >= {"petstore.sqlite3", "secret-key"}
