"""The chapter about going back in time: everything is as it was before a mistake."""

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.server import ROOT

from lab.rehearsals.stage import Watched, as_postgres, count_up, expect, patronictl, say, standbys, timed
from lab.trial.cluster import Cluster
from lab.trial.programs import find_postgresql, wait_until
from lab.trial.service import running_service

RECOVERY = """
restore_command = 'gzip -dc {backups}/wal/%f.gz >"%p"'
recovery_target_time = '{moment}'
recovery_target_action = promote
archive_mode = off
synchronous_standby_names = ''
"""


def restore_to_a_time() -> None:
    """Delete all animals on three machines, and go back to the moment before."""
    with Cluster.running() as cluster:
        backups = _archive(cluster)
        with running_service(cluster) as service:
            with timed("base backup"):
                _back_up(cluster, backups)
            writers = Watched(service)
            with writers.writing(10):
                wait_until(lambda: len(writers.acknowledged) > 100)
        moment = _now(cluster)
        time.sleep(1)
        deleted = cluster.query("WITH gone AS (DELETE FROM pets_pet RETURNING 1) SELECT count(*) FROM gone")[0][0]
        say(f"{deleted} animals were deleted by mistake after {moment:%H:%M:%S.%f}")
        _wait_for_archive(cluster)
        with timed("from the stop to a database that takes writes"):
            _restore(cluster, backups, moment)
        count_up(cluster, writers)
        cluster.wait_until_whole()
        say(patronictl(cluster, cluster.primary(), "list"))


def _archive(cluster: Cluster) -> Path:
    """Archive into a folder that all machines share, with the script that ships and Patroni's settings."""
    backups = cluster.folder / "backups"
    as_postgres(cluster, "mkdir", "-p", f"{backups}/wal")
    for script in ("archive-wal", "base-backup"):
        shutil.copy(ROOT / "deploy/postgresql" / script, cluster.folder)
    command = f'{cluster.folder}/archive-wal "%p" "%f" {backups}/wal'
    settings = ["archive_mode=on", f"archive_command='{command}'", "archive_timeout=2s"]
    options = [each for setting in settings for each in ("--pg", setting)]
    patronictl(cluster, 1, "edit-config", "petstore", "--force", *options)
    wait_until(lambda: b"pending_restart" in cluster.ask(cluster.primary(), "GET", "/patroni")[1])
    patronictl(cluster, 1, "restart", "petstore", "--force")
    cluster.wait_until_whole()
    expect(cluster.query("SHOW archive_mode") == [("on",)], "WAL is not archived.")
    return backups


def _back_up(cluster: Cluster, backups: Path) -> None:
    """Copy the primary with the script that ships, in its role."""
    port = cluster.machines[cluster.primary()].postgresql_port
    variables = {"PGHOST": str(cluster.folder), "PGPORT": str(port), "PGUSER": "petstore_backup"}
    variables["PATH"] = f"{find_postgresql()}:{os.environ['PATH']}"
    role = [
        "psql",
        "--dbname=postgres",
        "--username=postgres",
        "--command=CREATE ROLE petstore_backup LOGIN REPLICATION",
    ]
    as_postgres(cluster, *role, environment=variables)
    as_postgres(cluster, str(cluster.folder / "base-backup"), str(backups), environment=variables)


def _now(cluster: Cluster) -> datetime:
    moment: datetime = cluster.query("SELECT clock_timestamp()")[0][0]
    return moment.astimezone(UTC)


def _wait_for_archive(cluster: Cluster) -> None:
    """Wait until the mistake itself is in the archive: then everything before it is."""
    position = cluster.query("SELECT pg_walfile_name(pg_current_wal_lsn())")[0][0]
    cluster.query("SELECT pg_switch_wal()")
    wait_until(lambda: cluster.query(f"SELECT last_archived_wal >= '{position}' FROM pg_stat_archiver")[0][0])


def _restore(cluster: Cluster, backups: Path, moment: datetime) -> None:
    """Stop all three, restore on one of them, and let the others copy it."""
    primary = cluster.primary()
    for number in (*standbys(cluster), primary):
        cluster.machines[number].patroni.stop()
        data = cluster.machines[number].data
        data.rename(data.with_name("data-before"))
    patronictl(cluster, primary, "remove", "petstore", typed="petstore\nYes I am aware\n")
    _recover(cluster, primary, backups, moment)
    cluster.machines[primary].patroni.start()
    wait_until(lambda: cluster.ask(primary, "GET", "/primary")[0] == 200)
    for number in cluster.machines:
        if number != primary:
            cluster.machines[number].patroni.start()
    cluster.wait_until_whole()


def _recover(cluster: Cluster, number: int, backups: Path, moment: datetime) -> None:
    """Start PostgreSQL without Patroni until it has the state of that moment, and stop it."""
    machine, [backup] = cluster.machines[number], list((backups / "base").iterdir())
    as_postgres(cluster, "cp", "-R", "-p", str(backup), str(machine.data))
    as_postgres(cluster, "touch", f"{machine.data}/recovery.signal")
    automatic = machine.data / "postgresql.auto.conf"
    before = automatic.read_text()
    automatic.write_text(before + RECOVERY.format(backups=backups, moment=moment.isoformat()))
    pg_ctl = [f"{find_postgresql()}/pg_ctl", f"--pgdata={machine.data}", "--wait", "--silent"]
    as_postgres(cluster, *pg_ctl, f"--log={cluster.folder}/recovery.log", "start")
    wait_until(lambda: "archive recovery complete" in (cluster.folder / "recovery.log").read_text())
    as_postgres(cluster, *pg_ctl, "--mode=fast", "stop")
    automatic.write_text(before)
