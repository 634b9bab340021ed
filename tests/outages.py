"""What happens to a PostgreSQL of our own."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import psycopg

from tests.with_postgresql import Server


@contextmanager
def frozen(postgresql: Server) -> Iterator[None]:
    """Stop all processes of the server in the block, as a silent partition would."""
    assert postgresql.process
    forked = postgresql.freeze()
    try:
        yield
    finally:
        for process in (postgresql.process.pid, *forked):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@contextmanager
def standby_lost(postgresql: Server) -> Iterator[None]:
    """Let every COMMIT of new connections in the block wait for a standby that is not there."""
    with closing(psycopg.connect(postgresql.url, user="postgres", autocommit=True)) as connection:
        for change in ("SET synchronous_commit = on", "RESET synchronous_commit"):
            connection.execute(f"ALTER ROLE petstore {change}")
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'petstore'"
            )
            if change.startswith("SET"):
                yield


@contextmanager
def locked(postgresql: Server) -> Iterator[None]:
    """Let every addition in the block wait for the table of animals, as long as `lock_timeout` allows."""
    with psycopg.connect(postgresql.url) as connection:
        connection.execute("LOCK TABLE pets_pet IN SHARE MODE")
        yield
