"""Chapters about what expires: passwords and certificates, replaced under load without a failed request."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import redis
from tests.protocol.nginx import make_certificate, running_nginx
from tests.server import ROOT, Gunicorn, free_port, listening, manage, running_redis, until
from tests.with_postgresql import SETTINGS, Server, server

from lab.rehearsals.callers import Callers, encrypted, plain
from lab.rehearsals.stage import expect, say

HBA = "local all postgres trust\nlocal all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n"


def rotate_passwords() -> None:
    """Replace the passwords of PostgreSQL and Redis."""
    with tempfile.TemporaryDirectory(prefix="petstore-passwords-") as name, _database() as database:
        database_file, cache_file = Path(name, "database"), Path(name, "cache")
        database_file.write_text(_address(database, "petstore_service", "old"))
        with running_redis(Path(name), "--requirepass", "old") as cache:
            cache_file.write_text(cache.replace("//", "//:old@"))
            with _service(Path(name), DATABASE_URL_FILE=database_file, CACHE_URL_FILE=cache_file) as service:
                callers = Callers(plain(service.port), service.issue_key("Rehearsal", "--rate-limit", "1000000/min"))
                with callers.calling():
                    _rotate_database(database, service, database_file)
                    _rotate_cache(cache, service, cache_file)
                for rejection in ("password authentication failed", "invalid username-password", "NOAUTH"):
                    expect(not service.logged(rejection), f"The log has: {rejection}")


@contextmanager
def _database() -> Iterator[Server]:
    """Run a database with the roles of roles.sql and the second login of the book, all with the password `old`."""
    with server() as database:
        _ask(database, (ROOT / "deploy/postgresql/roles.sql").read_text())
        _ask(database, "CREATE ROLE petstore_service_b LOGIN IN ROLE petstore_service")
        for role in ("petstore_migrator", "petstore_service"):
            _ask(database, f"ALTER ROLE {role} PASSWORD 'old'")
        (database.folder / "data/pg_hba.conf").write_text(HBA)
        _ask(database, "SELECT pg_reload_conf()")
        _manage(database, "petstore_migrator", "migrate", "--verbosity=0")
        _ask(database, (ROOT / "deploy/postgresql/roles.sql").read_text())
        _manage(database, "petstore_service", "load_demo_data")
        yield database


def _rotate_database(database: Server, service: Gunicorn, file: Path) -> None:
    """Change to the other login, and then its predecessor's password."""
    _ask(database, "ALTER ROLE petstore_service_b PASSWORD 'new'")
    file.write_text(_address(database, "petstore_service_b", "new"))
    service.restart()
    until(lambda: _sessions(database) == {"petstore_service_b"})
    _ask(database, "ALTER ROLE petstore_service PASSWORD NULL")
    say("PostgreSQL: all sessions are those of petstore_service_b, and petstore_service has no password any more")


def _sessions(database: Server) -> set[str]:
    rows = _ask(database, "SELECT usename FROM pg_stat_activity WHERE usename LIKE 'petstore%'")
    return {name for (name,) in rows}


def _rotate_cache(cache: str, service: Gunicorn, file: Path) -> None:
    """Let Redis accept both passwords, change to the new one, and end the old one."""
    client: Any = redis.from_url(cache.replace("//", "//:old@"))
    client.execute_command("ACL", "SETUSER", "default", ">new")
    file.write_text(cache.replace("//", "//:new@"))
    service.restart()
    client.execute_command("ACL", "SETUSER", "default", "<old")
    try:
        redis.from_url(cache.replace("//", "//:old@")).ping()
    except redis.AuthenticationError:
        say("Redis: the old password is rejected")
        return
    expect(None, "Redis still accepts the old password.")


def renew_certificates() -> None:
    """Replace the certificates of nginx and of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="petstore-tls-") as name, _database() as database:
        port = _encrypt(database)
        address = f"postgres://petstore_service:old@127.0.0.1:{port}/petstore?sslmode=require"
        with _service(Path(name), DATABASE_URL=address) as service, running_nginx(service.port) as nginx:
            callers = Callers(encrypted(nginx.https), service.issue_key("Rehearsal"))
            before = _fingerprint(nginx.https), _fingerprint(port, "postgres")
            with callers.calling():
                make_certificate(nginx.folder)
                os.kill(int((nginx.folder / "nginx.pid").read_text()), signal.SIGHUP)
                _make_database_certificate(database)
                _ask(database, "SELECT pg_reload_conf()")
                until(lambda: _fingerprint(nginx.https) != before[0])
                until(lambda: _fingerprint(port, "postgres") != before[1])
            say("nginx and PostgreSQL present the new certificates")


def _encrypt(database: Server) -> int:
    """Restart it with TLS on a port of this machine, and return the port."""
    port = free_port()
    _make_database_certificate(database)
    database.stop()
    database.settings = SETTINGS | {"listen_addresses": "127.0.0.1", "port": str(port), "ssl": "on"}
    database.start()
    return port


def _make_database_certificate(database: Server) -> None:
    """Put a new one where PostgreSQL looks for it."""
    make_certificate(database.folder)
    for made, name in (("certificate.pem", "server.crt"), ("key.pem", "server.key")):
        path = database.folder / made
        path.chmod(0o600)
        if database.account:
            os.chown(path, database.account.pw_uid, database.account.pw_gid)
        path.rename(database.folder / "data" / name)


def _fingerprint(port: int, starttls: str | None = None) -> str:
    """Return what a new connection is shown."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "petstore.example"]
    command += ["-starttls", starttls] if starttls else []
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    return done.stdout.partition("-----BEGIN CERTIFICATE-----")[2].partition("-----END")[0]


@contextmanager
def _service(folder: Path, **variables: Path | str) -> Iterator[Gunicorn]:
    # Gunicorn names a database of its own unless one is given, and an empty variable is as good as none.
    given = {"DATABASE_URL": ""} | {name: str(value) for name, value in variables.items()}
    with listening() as listener:
        service = Gunicorn(folder, ROOT, listener=listener, **given)
        try:
            service.wait_until_ready()
            yield service
        finally:
            service.stop()


def _address(database: Server, role: str, password: str) -> str:
    return database.url.replace("//petstore@", f"//{role}:{password}@")


def _manage(database: Server, role: str, *command: str) -> None:
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": _address(database, role, "old")}, *command)


def _ask(database: Server, statement: str) -> list[Any]:
    """Run a statement as the administrator."""
    port = database.settings.get("port", "5432")
    address = database.url.replace("//petstore@", "//postgres@").replace("port=5432", f"port={port}")
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []
