"""Restore the newest backup beside the live database and compare every row.

    .venv/bin/python deploy/postgresql/restore_drill.py --live "dbname=petstore user=postgres" /var/backups/petstore

It needs a superuser (for `pg_create_restore_point`) and the server's programs. If root starts it, the copy runs as the
account `postgres`. Exit status 0 only if the restore point was in the archive within 60 s and every row of every table
is the same. docs/backup.md explains it.
"""
# ruff: noqa: INP001, S603, T201 - a program of its own, which runs PostgreSQL's and prints

import argparse
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

RPO_SECONDS = 60
TRIES, PAUSE = 60, 10
"""How often, and after how many seconds again, the drill tries to stop writers: an import writes for minutes."""

PORT = 5432
USER = "postgres"
TABLES = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"


def main() -> int:
    """Run the drill and print what it found."""
    parser = argparse.ArgumentParser(description="Restore the newest backup and compare it with the live database.")
    parser.add_argument("backups", type=Path, metavar="FOLDER", help="The folder with base/ and wal/.")
    parser.add_argument("--live", required=True, metavar="CONNINFO", help="The live database, as a superuser.")
    parser.add_argument("--binaries", type=Path, help="The server's programs; default: those on PATH.")
    arguments = parser.parse_args()
    return drill(arguments.backups, arguments.live, arguments.binaries)


def drill(backups: Path, live: str, binaries: Path | None) -> int:
    """Return the exit status."""
    point = f"drill-{time.time_ns()}"
    with psycopg.connect(live) as snapshot:
        position = _mark_when_possible(snapshot, live, point)
        exposed = _wait_until_archived(live, position)
        print(f"Exposed: a change was in the archive {exposed:.1f} s after its commit (allowed: {RPO_SECONDS} s).")
        started = time.monotonic()
        with _restored(backups, point, binaries, snapshot.info.dbname) as restored:
            print(f"Restored in {time.monotonic() - started:.1f} s, to the restore point {point}.")
            different = _compare(snapshot, restored)
    return 1 if different or exposed > RPO_SECONDS else 0


def _mark_when_possible(snapshot: psycopg.Connection, live: str, point: str) -> str:
    """Do it as soon as no transaction writes for longer than writers can wait."""
    for _ in range(TRIES):
        try:
            return _mark(snapshot, live, point)
        except psycopg.errors.LockNotAvailable:
            time.sleep(PAUSE)
    raise SystemExit("Something wrote all the time, such as an import. Start the drill again when it has finished.")


def _mark(snapshot: psycopg.Connection, live: str, point: str) -> str:
    """Create a restore point at the moment that `snapshot` sees: writers wait for these few milliseconds."""
    snapshot.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with psycopg.connect(live) as lock:
        tables = [name for (name,) in lock.execute(TABLES)]
        lock.execute("SET lock_timeout = '1s'")
        lock.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE MODE")
        snapshot.execute("SELECT 1 FROM pg_class LIMIT 1")
        row = lock.execute("SELECT pg_create_restore_point(%s)::text", (point,)).fetchone()
    assert row  # noqa: S101 - one row is what it returns
    return str(row[0])


def _wait_until_archived(live: str, position: str) -> float:
    """Return the seconds until the segment with this position was archived, as the configuration does it by itself."""
    started = time.monotonic()
    statement = "SELECT last_archived_wal >= pg_walfile_name(%s::pg_lsn) FROM pg_stat_archiver"
    with psycopg.connect(live, autocommit=True) as connection:
        connection.execute("CHECKPOINT")  # after a crash PostgreSQL looks at archive_timeout only from the next one on
        while connection.execute(statement, (position,)).fetchone() != (True,):
            if time.monotonic() > started + 4 * RPO_SECONDS:
                raise SystemExit("The archive does not grow. Look at archive_command and the server's log.")
            time.sleep(0.2)
    return time.monotonic() - started


@contextmanager
def _restored(backups: Path, point: str, binaries: Path | None, database: str) -> Iterator[psycopg.Connection]:
    """Run a copy of the newest base backup, recovered to the restore point, reachable only through a socket."""
    bases = sorted(path for path in (backups / "base").iterdir() if not path.name.startswith("."))
    if not bases:
        raise SystemExit(f"There is no backup in {backups / 'base'}.")
    with tempfile.TemporaryDirectory(prefix="petstore-drill-") as folder:
        data = Path(folder, "data")
        shutil.copytree(bases[-1], data)
        data.chmod(0o700)
        (data / "recovery.signal").touch()
        (data / "postgresql.auto.conf").write_text(_settings(backups, point, folder), encoding="utf-8")
        (data / "pg_hba.conf").write_text("local all all trust\n", encoding="utf-8")
        pg_ctl = str(binaries / "pg_ctl") if binaries else "pg_ctl"
        command = [pg_ctl, "--pgdata", str(data), "--log", f"{folder}/log"]
        options = f"-c config_file={data}/drill.conf -c hba_file={data}/pg_hba.conf"
        (data / "drill.conf").touch()
        account = _hand_over(Path(folder))
        try:
            start = [*command, "--silent", "--timeout", "3600", "--options", options, "start"]
            subprocess.run(start, check=True, user=account, cwd=folder)  # the account cannot enter each folder
            with psycopg.connect(host=folder, port=PORT, dbname=database, user=USER) as connection:
                _wait_until_promoted(connection)
                yield connection
        except subprocess.CalledProcessError:
            raise SystemExit(Path(folder, "log").read_text(encoding="utf-8", errors="replace")) from None
        finally:
            subprocess.run([*command, "--silent", "--mode", "immediate", "stop"], check=False, user=account, cwd=folder)


def _hand_over(folder: Path) -> str | None:
    """Return the account that the copy runs as, which must own it: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, USER, USER)
    return USER


def _settings(backups: Path, point: str, folder: str) -> str:
    """Return the settings of the copy. It must never archive, and needs no more than the live one's limits.

    Release 2.0 archived segments as they are.
    """
    return f"""\
listen_addresses = ''
port = {PORT}
unix_socket_directories = '{folder}'
archive_mode = off
restore_command = 'gzip -dc "{backups.resolve()}/wal/%f.gz" >"%p" || cp "{backups.resolve()}/wal/%f" "%p"'
recovery_target_name = '{point}'
recovery_target_action = promote
max_connections = 1000
max_worker_processes = 64
max_wal_senders = 64
max_locks_per_transaction = 256
"""


def _wait_until_promoted(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    while connection.execute("SELECT pg_is_in_recovery()").fetchone() != (False,):
        time.sleep(0.1)


def _compare(live: psycopg.Connection, restored: psycopg.Connection) -> int:
    """Print each table that differs, and return how many do."""
    names = [sorted(name for (name,) in connection.execute(TABLES)) for connection in (live, restored)]
    if names[0] != names[1]:
        print(f"Different tables: {sorted(set(names[0]) ^ set(names[1]))}")
    different, total = int(names[0] != names[1]), 0
    for table in sorted(set(names[0]) & set(names[1])):
        (rows, ours), (copies, theirs) = (_digest(connection, table) for connection in (live, restored))
        total += rows
        if (rows, ours) != (copies, theirs):
            different += 1
            print(f"DIFFERENT: {table} has {rows:,} rows, the backup {copies:,}.")
    print(f"Compared {total:,} rows of {len(names[0])} tables: {different} tables differ.")
    return different


def _digest(connection: psycopg.Connection, table: str) -> tuple[int, str]:
    """Return how many rows a table has, and a digest of all their values in order."""
    digest, rows = hashlib.sha256(), 0
    query = sql.SQL('COPY (SELECT * FROM {} AS t ORDER BY t::text COLLATE "C") TO STDOUT').format(sql.SQL(table))
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for row in copy:
            digest.update(row)
            rows += 1
    return rows, digest.hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())
