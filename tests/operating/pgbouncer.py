"""A private PgBouncer with the very file of deploy/pgbouncer, on a free port."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.protocol.nginx import program
from tests.server import ROOT, free_port, until
from tests.with_postgresql import Server

FILE = ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini"


def own_file(folder: Path, *, database: str, port: int, host: str = "127.0.0.1") -> Path:
    """Write the file for this port of `host` into the folder; `database` says where PostgreSQL is and who connects."""
    changed = {
        "host=127.0.0.1 port=5432 dbname=petstore": f"{database} dbname=petstore",
        "listen_addr = 127.0.0.1": f"listen_addr = {host}",
        "listen_port = 6432": f"listen_port = {port}",
        "unix_socket_dir = /var/run/postgresql": f"unix_socket_dir = {folder}",
        "auth_type = scram-sha-256": "auth_type = any",
    }
    text = FILE.read_text()
    for old, new in changed.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file = folder / "pgbouncer.ini"
    file.write_text(text)
    return file


@contextmanager
def running_pgbouncer(postgresql: Server) -> Iterator[int]:
    """Run it for the block as the server's user, since it does not run as root, and give its port."""
    port, log = free_port(), postgresql.folder / "pgbouncer.log"
    file = own_file(postgresql.folder, database=f"host={postgresql.folder} port=5432 user=petstore", port=port)
    account = postgresql.account.pw_name if postgresql.account else None
    with log.open("wb") as output:
        process = subprocess.Popen([program("pgbouncer"), file], stdout=output, stderr=output, user=account)
    try:
        until(lambda: process.poll() is not None or "process up" in log.read_text())
        assert process.poll() is None, log.read_text()
        yield port
    finally:
        process.terminate()
        process.wait()
