"""Streaming standbys of a PostgreSQL of our own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.with_postgresql import Server


@contextmanager
def standby_of(primary: Server, *, behind: Server | None = None, name: str = "") -> Iterator[Server]:
    """Run a standby that follows the primary, or another standby wherever that goes.

    With a name, it has a replication slot of that name, and `synchronous_standby_names` can name it.
    """
    with _beside(primary) as standby:
        address = f"host={primary.folder} port=5432 user=postgres"
        named = ["-C", "-S", name] if name else []
        address += f" application_name={name}" if name else ""
        options = ["-D", str(standby.folder / "data"), "-d", address, "-R", "--checkpoint=fast", "--no-sync", *named]
        standby._run("pg_basebackup", *options)
        if behind:
            with (standby.folder / "data" / "postgresql.auto.conf").open("a") as settings:
                settings.write(f"primary_conninfo = 'host={behind.folder} port=5432 user=postgres'\n")
        standby.start()
        yield standby


@contextmanager
def copied(stopped: Server) -> Iterator[Server]:
    """Give another server with the files of a stopped one, not started yet."""
    with _beside(stopped) as copy:
        subprocess.run(["cp", "-a", stopped.folder / "data", copy.folder], check=True)
        yield copy


@contextmanager
def _beside(server: Server) -> Iterator[Server]:
    """Give a server without files, and stop it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="petstore-pg-", dir="/tmp"))
    new = Server(folder, server.binaries, settings=server.settings)
    try:
        if new.account:
            os.chown(folder, new.account.pw_uid, new.account.pw_gid)
        yield new
    finally:
        new.stop()
        shutil.rmtree(folder, ignore_errors=True)


def ask(server: Server, *statements: str) -> Any:
    """Run the statements as the administrator and return the last one's first value."""
    with closing(psycopg.connect(server.url, user="postgres", autocommit=True)) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row and row[0]
