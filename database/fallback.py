"""Reads while the primary is lost: from the standby that its commits wait for (docs/decisions/0058).

A watch asks the primary twice a second which standbys must confirm a COMMIT. When it is lost, all servers are asked
once what they have received. Then each read first asks the other standbys whether they have received more, since
another one could confirm commits then, and reads only from a standby that has replayed all it received.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db import OperationalError
from psycopg.rows import namedtuple_row

from database.errors import breaker, has_ended, shut_down, standby_read
from database.statements import Row, Statement, from_standby

logger = logging.getLogger(__name__)

PAUSE = 0.5  # seconds between two questions to the primary
SECONDS = 1.0  # for a server to respond; connecting has its own time
PATIENCE = 1.5  # for a standby to replay what it received, or for a new primary when it was promoted
TURN = 0.5  # longer than a process that was woken waits until it runs
LEASE = 4.0
"""Seconds from the last response of the primary until the standbys have been asked. In this time it can't have replaced
one that it no longer hears: `wal_sender_timeout` is longer (5 s in deploy/ha)."""

# Positions in the log are numbers of bytes. `confirming` are the replication slots of the standbys that each COMMIT of
# this role waits for. What the role needs for both questions is in deploy/postgresql/roles.sql.
ASK_PRIMARY = """\
SELECT %s::float AS asked_at, system_identifier AS system,
    ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS timeline,
    (pg_current_wal_flush_lsn() - '0/0')::bigint AS flushed,
    ARRAY(SELECT slot_name::text FROM pg_replication_slots JOIN pg_stat_replication ON pid = active_pid
          WHERE sync_state = 'sync' AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
          ORDER BY 1) AS confirming
FROM pg_control_system()"""

# A standby writes the history of a timeline before it follows it, and never removes it. The first timeline has none.
# The control file says it up to `checkpoint_timeout` late, and `pg_stat_wal_receiver` no longer without a primary.
# `received` is null after a restart, until the standby asks for more than it has on its disk. `waits` is whether the
# process that replays waits for more, and `retry` after how many seconds at the latest it looks again by itself.
ASK_STANDBY = """\
SELECT pg_is_in_recovery() AS in_recovery, system_identifier AS system,
    (SELECT coalesce(max(('x' || left(name, 8))::bit(32)::int), 1)
     FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{8}[.]history$') AS timeline,
    current_setting('primary_slot_name') AS slot,
    (pg_last_wal_receive_lsn() - '0/0')::bigint AS received, (pg_last_wal_replay_lsn() - '0/0')::bigint AS replayed,
    EXISTS (SELECT FROM pg_stat_wal_receiver) AS receives,
    EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'startup'
            AND wait_event IN ('RecoveryWalStream', 'RecoveryRetrieveRetryInterval')) AS waits,
    extract(epoch FROM current_setting('wal_retrieve_retry_interval')::interval)::float AS retry
FROM pg_control_system()"""

NONE_KNOWN = "It is not known which one confirms each commit."
LATE = "Not enough of them responded in time."
NOT_A_STANDBY = "One was promoted, or follows another primary."
ADVANCED = "Another one has received more, so the primary may go on."
BEHIND = "It has less than may have been confirmed."
INCOMPLETE = "It has not replayed all it received."


class UnprovenError(Exception):
    """No standby can prove that it has everything; the text says why."""


class Server:
    """A server, and the connections to it that no one uses."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = parameters
        self._idle: list[psycopg.Connection[Row]] = []

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Row]]:
        """Lend a connection for `SECONDS`; after an error it is closed. Raises psycopg's errors."""
        used = self._open()
        deadline = threading.Timer(SECONDS, shut_down, [used])
        deadline.daemon = True
        deadline.start()
        try:
            yield used
        except BaseException:
            used.close()
            raise
        finally:
            deadline.cancel()
        self._idle.append(used)

    def ask(self, about: str, *parameters: float) -> Any:
        """Return the row of `ASK_PRIMARY` or `ASK_STANDBY`, whose columns are its attributes."""
        with self.connection() as used:
            return used.cursor(row_factory=namedtuple_row).execute(about, parameters).fetchone()

    def close(self) -> None:
        """Close what no one uses."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _open(self) -> psycopg.Connection[Row]:
        with suppress(IndexError):
            while has_ended(kept := self._idle.pop()):
                kept.close()
            return kept
        return psycopg.connect(autocommit=True, **self._parameters)


class Log:
    """What a standby has of the primary's log, and since when."""

    def __init__(self, said: Any) -> None:
        self._seen, self._since = (said.received, said.replayed), time.monotonic()

    def is_replayed(self, said: Any) -> bool:
        """Return whether each whole record that was received is replayed.

        A primary that is lost in the middle of a record leaves a part of it, which is received and never replayed.
        Then the process that replays waits, and nothing has changed for longer than it needs to see what was received.
        """
        if said.received is None or said.replayed >= said.received:
            return said.received is not None
        if (said.received, said.replayed) != self._seen:
            self._seen, self._since = (said.received, said.replayed), time.monotonic()
        return bool(said.waits) and time.monotonic() > self._since + said.retry + TURN


class StandIn:
    """The standby that is read instead of the primary, and the others, which notice if that goes on."""

    def __init__(self, server: Server, primary: Any, found: Mapping[Server, Any]) -> None:
        self._server, self._primary = server, primary
        self._logs = {each: Log(said) for each, said in found.items()}
        self._had = {each: position(said, primary) for each, said in found.items() if each is not server}

    def rows(self, statement: Statement) -> list[Row]:
        """Return its rows if it has everything that was ever confirmed to anyone; raises `UnprovenError`."""
        needed = self._needed()
        # A statement takes its snapshot first: asked in the same one, it could lack what is replayed in between.
        with self._server.connection() as used, used.pipeline():
            asked = used.cursor(row_factory=namedtuple_row).execute(ASK_STANDBY)
            rows = used.execute(statement.sql, statement.parameters)
            said = asked.fetchone()
            if position(said, self._primary) < needed:
                raise UnprovenError(BEHIND)
            if not self._logs[self._server].is_replayed(said):
                raise UnprovenError(INCOMPLETE)
            return rows.fetchall()

    def _needed(self) -> int:
        """Return the position before which everything is that may have been confirmed; raises `UnprovenError`."""
        needed: int = self._primary.flushed
        for other, had in self._had.items():
            said = other.ask(ASK_STANDBY)
            has = position(said, self._primary)
            if time.monotonic() < self._primary.asked_at + LEASE:
                self._had[other] = max(had, has)
            elif has > had:
                raise UnprovenError(ADVANCED)
            elif said.receives:  # the primary may still count what it has as confirmed
                needed = max(needed, said.replayed if self._logs[other].is_replayed(said) else had)
        return needed


class Fallback:
    """Reads from the primary, and from its standby while it is lost."""

    def __init__(self, primary: Mapping[str, Any], servers: Sequence[Mapping[str, Any]]) -> None:
        """Take the primary's address, and those of its only standby or of all servers."""
        self._server = Server(primary)
        self._servers = [Server(each) for each in servers]
        self._primary: Any = None
        """What it said last; `flushed` is where it was when it first named these standbys, which have all of that."""
        self._stand_in: StandIn | None = None
        self._silent = False
        self._lock = threading.Lock()

    def watch(self) -> None:
        """Keep asking the primary, in a thread of its own."""
        threading.Thread(target=self._watch, name="primary", daemon=True).start()

    @property
    def primary_is_lost(self) -> bool:
        """Return whether the primary did not respond to the watch, and no one has connected to it since.

        A connection that can't be opened is not enough: while all are used up, those that are open work.
        """
        return self._silent and breaker.failed

    def read(self, statement: Statement, ask_primary: Callable[[Statement], list[Row]]) -> list[Row]:
        """Return the rows of a statement that reads; raises what `ask_primary` raises."""
        if not self.primary_is_lost:
            try:
                return ask_primary(statement)
            except OperationalError:
                if not breaker.failed:
                    raise
        try:
            rows = self.rows(statement)
        except UnprovenError as error:
            logger.warning("No standby is read instead of the primary. %s", error)
            return ask_primary(statement)
        logger.warning("A standby is read instead of the primary.")
        from_standby.set(True)
        standby_read.send(sender=None)
        return rows

    def rows(self, statement: Statement) -> list[Row]:
        """Return the rows that the standby has; raises `UnprovenError`, at once if the primary responds again."""
        stand_in = self._chosen()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return stand_in.rows(statement)
            except (UnprovenError, psycopg.Error) as error:
                if not breaker.failed or time.monotonic() > deadline:
                    raise UnprovenError(" ".join(str(error).split())) from error
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Return whether reads would survive the loss of the primary; while it is lost, whether they do."""
        if not breaker.failed:
            return bool(self._primary and self._primary.confirming)
        with suppress(UnprovenError):
            return self.rows(Statement("SELECT 1", {})) == [(1,)]
        return False

    def look(self) -> None:
        """Ask the primary once. If it does not respond, it is lost, and a standby is chosen."""
        try:
            said = self._server.ask(ASK_PRIMARY, time.monotonic())
        except psycopg.OperationalError as error:
            if not self._silent:
                logger.warning("The primary does not respond: %s", " ".join(str(error).split()))
            self._silent = True
            breaker.fail()
            with suppress(UnprovenError):
                self._chosen()
        else:
            self._keep(said)

    def _watch(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                logger.exception("The primary could not be asked for its standbys")
            time.sleep(PAUSE)

    def _keep(self, said: Any) -> None:
        before = self._primary
        if before and before == said._replace(asked_at=before.asked_at, flushed=before.flushed):
            said = said._replace(flushed=before.flushed)
        with self._lock:
            self._primary, self._stand_in = said, None
        for each in self._servers:
            each.close()
        if self._silent:
            self._silent = False
            breaker.succeed()
            logger.warning("The primary responds.")

    def _chosen(self) -> StandIn:
        with self._lock:
            self._stand_in = self._stand_in or self._choose(self._primary)
            return self._stand_in

    def _choose(self, primary: Any) -> StandIn:
        if primary is None or not primary.confirming:
            raise UnprovenError(NONE_KNOWN)
        left = primary.asked_at + LEASE - time.monotonic()
        if left <= 0:
            raise UnprovenError(LATE)
        found: dict[Server, Any] = {}
        pool = ThreadPoolExecutor(len(self._servers))
        asked = {pool.submit(each.ask, ASK_STANDBY): each for each in self._servers}
        with suppress(TimeoutError):
            for answer in as_completed(asked, min(SECONDS, left)):
                with suppress(psycopg.Error, UnprovenError):
                    position(answer.result(), primary)
                    found[asked[answer]] = answer.result()
                if len(found) == max(1, len(asked) - 1):  # all but the primary
                    break
        pool.shutdown(wait=False)
        chosen = [each for each, said in found.items() if said.slot in primary.confirming]
        if not chosen or len(found) < len(asked) - 1 or time.monotonic() > primary.asked_at + LEASE:
            raise UnprovenError(LATE)
        return StandIn(chosen[0], primary, found)


def position(said: Any, primary: Any) -> int:
    """Return up to where a standby has the log of this primary; raises `UnprovenError` if it does not follow it."""
    if not said.in_recovery or (said.system, said.timeline) != (primary.system, primary.timeline):
        raise UnprovenError(NOT_A_STANDBY)
    return max(said.received or 0, said.replayed or 0)
