"""From the addresses of databases to Django's settings, with the timeouts of docs/deadlines.md."""

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from database.errors import BUSY, UNMIGRATED, failure_of
from petstore_site.configuration.env import Env
from petstore_site.logs import redact

FORMS = (
    "must be sqlite:///relative/path, sqlite:////absolute/path or postgres://USER:PASSWORD@HOST:5432/NAME[?sslmode=…]."
)

CONNECT = {
    "connect_timeout": 2,
    "tcp_user_timeout": 5000,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "target_session_attrs": "read-write",
    "application_name": "petstore",
}
REQUEST_DEADLINES = "-c statement_timeout=3s -c lock_timeout=1s -c idle_in_transaction_session_timeout=5s"
COMMAND_DEADLINES = "-c statement_timeout=0 -c lock_timeout=5s -c idle_in_transaction_session_timeout=0"
"""Not those of the role, which behind PgBouncer are those of requests: an export takes longer than 3 s."""

SERVER_KEEPALIVES = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""PostgreSQL too notices within 25 s that we are gone, and frees the connection. The system's default is two hours."""
NO_JIT = "-c jit=off"
"""PostgreSQL would compile a statement each time it runs, which once took 0.3 s for a list of 1 ms."""
SQLITE = "django.db.backends.sqlite3"
SQLITE_LOCK_SECONDS = 5
PREPARED_AFTER = 2
"""So many times a connection runs a statement of `database.statements` before it prepares it."""


def databases(env: Env, base_dir: Path, *, serving: bool) -> dict[str, dict[str, Any]]:
    """Return Django's `DATABASES`: that of DATABASE_URL."""
    pgbouncer = env["DATABASE_BEHIND_PGBOUNCER"]
    parse = partial(parse_database_url, base_dir=base_dir, serving=serving, pgbouncer=pgbouncer)
    value = env.parsed("DATABASE_URL", parse)
    return {"default": parse(value) if isinstance(value, str) else value}


def parse_database_url(url: str, *, base_dir: Path, serving: bool, pgbouncer: bool) -> dict[str, Any]:
    """Return Django's settings for one database.

    `serving` says that this process serves requests: each of its threads keeps a connection with short deadlines and
    prepared statements, and fails at once while the database is lost; commands and migrations do not. Behind PgBouncer
    in transaction mode nothing is prepared, and the role carries the deadlines, since it forwards no options.

    Raises `ValueError` with a sentence that says which forms are valid and never repeats the address.
    """
    scheme = url.partition("://")[0]
    if scheme == "sqlite":
        return _sqlite(url, base_dir)
    if scheme in {"postgres", "postgresql"}:
        return _postgresql(url, serving=serving, pgbouncer=pgbouncer)
    raise ValueError(FORMS)


def _sqlite(url: str, base_dir: Path) -> dict[str, Any]:
    parts = urlsplit(url)
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or parts.query or not path:
        raise ValueError(FORMS)
    return {
        "ENGINE": SQLITE,
        "NAME": base_dir / path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_LOCK_SECONDS,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        },
    }


def _postgresql(url: str, *, serving: bool, pgbouncer: bool) -> dict[str, Any]:
    from psycopg import ProgrammingError  # noqa: PLC0415 - not needed with SQLite
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        parameters = conninfo_to_dict(url)
    except ProgrammingError:
        raise ValueError(FORMS) from None  # libpq's own message may repeat the password
    name = parameters.pop("dbname", None)
    ports = str(parameters.get("port") or "").split(",")
    hosts = str(parameters.get("host") or "").split(",")
    # After an @ or a / of it that is not encoded. Names of sockets can have an @.
    has_password = "@" in str(name) or any("@" in host[1:] and host[0] != "/" for host in hosts)
    if not name or has_password or not all(port.isdecimal() for port in ports if port):
        raise ValueError(FORMS)
    account = {key.upper(): parameters.pop(key, None) or "" for key in ("user", "password", "host", "port")}
    options: dict[str, Any] = CONNECT | {key: value for key, value in parameters.items() if value is not None}
    if not pgbouncer:
        deadlines = REQUEST_DEADLINES if serving else COMMAND_DEADLINES
        options["options"] = f"{deadlines} {SERVER_KEEPALIVES} {NO_JIT} {options.get('options', '')}".strip()
    if serving and not pgbouncer:
        options["prepare_threshold"] = PREPARED_AFTER
    return {
        "ENGINE": "database.postgresql" if serving else "django.db.backends.postgresql",
        "NAME": name,
        **account,
        "CONN_MAX_AGE": None if serving else 0,
        "DISABLE_SERVER_SIDE_CURSORS": pgbouncer,
        "OPTIONS": options,
    }


def sentence(error: BaseException) -> str:
    """Return the message for an operator whose command failed with this database error."""
    from sqlite3 import Error as SQLiteError  # noqa: PLC0415 - a service on PostgreSQL never needs it

    from django.db import connection  # noqa: PLC0415 - the settings are not there when they import this module

    if failure_of(error) is UNMIGRATED:
        return f"The database {connection.settings_dict['NAME']} has not been migrated. Run: manage.py migrate"
    message = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error.__cause__, SQLiteError):  # its message does not name the file
        message = f"{connection.settings_dict['NAME']}: {message}"
    if failure_of(error) is BUSY:
        return f"The database was busy for too long: {redact(message)}. Run the same command again."
    return f"The database named by DATABASE_URL cannot be used: {redact(message)}"
