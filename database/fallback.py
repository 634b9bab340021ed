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
from typing import Any, NamedTuple

import psycopg
from django.db import OperationalError

from database import reading
from database.errors import breaker, has_ended, shut_down
from database.signals import standby_read
from database.standby import FOLLOWS, IS_COMPLETE, POSITION, Position
from database.statements import Row, Statement

logger = logging.getLogger(__name__)

Parameters = Mapping[str, Any]
AskPrimary = Callable[[Statement], list[Row]]

PAUSE = 0.5
"""Seconds between two questions to the primary."""

SECONDS = 1.0
"""How long a server may take to respond. Connecting has its own time."""

LEASE = 4.0
"""Seconds from the last response of the primary until the standbys have been asked.

A primary replaces a standby that it no longer hears after `wal_sender_timeout` (5 s in deploy/ha). So in this time it
is still the same one.
"""

PATIENCE = 1.5
"""How long a read waits for the standby to replay what it received, or for a new primary when it was promoted."""

# `sync` are those that each COMMIT of this role waits for. It needs pg_read_all_stats: deploy/postgresql/roles.sql.
ASK_PRIMARY = f"""
SELECT position.*, ARRAY(
    SELECT slot_name::text FROM pg_replication_slots JOIN pg_stat_replication ON pid = active_pid
    WHERE sync_state = 'sync' AND current_setting('synchronous_commit') IN ('on', 'remote_apply'))
FROM ({POSITION}) AS position"""  # noqa: S608 - a constant

ASK_STANDBY = f"""
SELECT {FOLLOWS}, current_setting('primary_slot_name'), coalesce(pg_last_wal_receive_lsn(), '0/0')::text,
       EXISTS (SELECT FROM pg_stat_wal_receiver)"""  # noqa: S608 - a constant

ANYWHERE = "0/0"

INCOMPLETE = "The standby has not replayed all it received, or was promoted."
NONE_KNOWN = "No standby is known that confirms each commit."
LATE = "The standbys did not respond in time."
TOO_FEW = "More than one server does not respond as a standby."
ADVANCED = "Another standby has received more, so the primary may go on."


class UnprovenError(Exception):
    """No standby can prove that it has everything; the text says why."""


class Primary(NamedTuple):
    """What the primary said of itself."""

    position: Position
    """Where it was when it first named these standbys. They have everything before that, or are not read."""
    confirming: frozenset[str]
    """The replication slots of the standbys that each COMMIT waits for."""
    asked_at: float


class Standby(NamedTuple):
    """What a standby said of itself."""

    follows: bool
    slot: str
    received: str
    receives: bool
    """Whether it is connected to a server that sends."""


class StandIn(NamedTuple):
    """The standby that is read, and what each other one had received when it was chosen."""

    server: "Server"
    position: Position
    others: dict["Server", str]
    latest: float
    """Until then no other one can have confirmed a commit, whatever it receives."""


class Server:
    """A server, and the connections to it that no one uses."""

    def __init__(self, parameters: Parameters) -> None:
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

    def _open(self) -> psycopg.Connection[Row]:
        with suppress(IndexError):
            while has_ended(kept := self._idle.pop()):
                kept.close()
            return kept
        return psycopg.connect(autocommit=True, **self._parameters)

    def ask(self, position: Position) -> Standby:
        """Ask a standby about itself."""
        with self.connection() as used:
            return Standby(*used.execute(ASK_STANDBY, position._replace(flushed=ANYWHERE)).fetchone() or ())

    def close(self) -> None:
        """Close what no one uses."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


class Fallback:
    """Reads from the primary, and from its standby while it is lost."""

    def __init__(self, primary: Parameters, servers: Sequence[Parameters]) -> None:
        """Take the primary's address, and those of its only standby or of all servers."""
        self._server = Server(primary)
        self._servers = [Server(each) for each in servers]
        self._primary: Primary | None = None
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

    def read(self, statement: Statement, ask_primary: AskPrimary) -> list[Row]:
        """Return the rows of a statement that reads; raises what `ask_primary` raises."""
        if not self.primary_is_lost:
            try:
                return ask_primary(statement)
            except OperationalError:
                if not breaker.failed:
                    raise
        try:
            rows = self.rows(statement)
        except UnprovenError:
            return ask_primary(statement)
        reading.mark_standby()
        standby_read.send(sender=None)
        return rows

    def rows(self, statement: Statement) -> list[Row]:
        """Return the rows that the standby has; raises `UnprovenError`, at once if the primary responds again."""
        stand_in = self._chosen()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return _rows(stand_in.server, _position(stand_in), statement)
            except (UnprovenError, psycopg.Error) as error:
                if not breaker.failed or time.monotonic() > deadline:
                    raise UnprovenError(str(error)) from error
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Return whether reads would survive the loss of the primary; while it is lost, whether they do."""
        if not breaker.failed:
            return bool(self._primary and self._primary.confirming)
        try:
            return self.rows(Statement("SELECT 1", {})) == [(1,)]
        except UnprovenError:
            return False

    def look(self) -> None:
        """Ask the primary once. If it does not respond, it is lost, and a standby is chosen."""
        asked_at = time.monotonic()
        try:
            with self._server.connection() as used:
                row = used.execute(ASK_PRIMARY).fetchone() or ()
        except psycopg.OperationalError as error:
            self._lose(error)
        else:
            self._keep(Position(*row[:3]), frozenset(row[3]), asked_at)

    def _watch(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                logger.exception("The primary could not be asked for its standbys")
            time.sleep(PAUSE)

    def _keep(self, position: Position, confirming: frozenset[str], asked_at: float) -> None:
        before = self._primary
        if before and before.confirming == confirming and before.position[:2] == position[:2]:
            position = before.position
        with self._lock:
            self._primary = Primary(position, confirming, asked_at)
            self._stand_in = None
        for each in self._servers:
            each.close()
        if self._silent:
            self._silent = False
            breaker.succeed()
            logger.warning("The primary responds.")

    def _lose(self, error: Exception) -> None:
        if not self._silent:
            logger.warning("The primary does not respond: %s", " ".join(str(error).split()))
        self._silent = True
        breaker.fail()
        with suppress(UnprovenError):
            self._chosen()

    def _chosen(self) -> StandIn:
        with self._lock:
            if self._stand_in is None:
                self._stand_in = self._choose()
            return self._stand_in

    def _choose(self) -> StandIn:
        primary = self._primary
        if primary is None or not primary.confirming:
            raise UnprovenError(NONE_KNOWN)
        latest = primary.asked_at + LEASE
        if time.monotonic() > latest:
            raise UnprovenError(LATE)
        found = self._ask_all(primary.position)
        chosen = next((each for each, said in found.items() if said.slot in primary.confirming), None)
        if chosen is None or time.monotonic() > latest:
            raise UnprovenError(LATE)
        others = {each: said.received for each, said in found.items() if each is not chosen}
        logger.warning("A standby can be read instead of the primary.")
        return StandIn(chosen, primary.position, others, latest)

    def _ask_all(self, position: Position) -> dict[Server, Standby]:
        """Return what the standbys say, as soon as all but one of the servers have responded, which is the primary."""
        enough = max(1, len(self._servers) - 1)
        found: dict[Server, Standby] = {}
        pool = ThreadPoolExecutor(len(self._servers))
        try:
            asked = {pool.submit(each.ask, position): each for each in self._servers}
            for answer in as_completed(asked, timeout=SECONDS):
                with suppress(psycopg.Error):
                    if answer.result().follows:
                        found[asked[answer]] = answer.result()
                if len(found) == enough:
                    return found
        except TimeoutError:
            pass
        finally:
            pool.shutdown(wait=False)
        raise UnprovenError(TOO_FEW)


def _position(stand_in: StandIn) -> Position:
    """Return what the standby must have replayed at least, when no other one can have confirmed a commit."""
    flushed = stand_in.position.flushed
    for other, received in stand_in.others.items():
        said = other.ask(stand_in.position)
        if said.follows and time.monotonic() < stand_in.latest:
            stand_in.others[other] = said.received
        elif not said.follows or said.received != received:
            raise UnprovenError(ADVANCED)
        elif said.receives:  # the primary may still count what it has as confirmed
            flushed = max(flushed, received, key=_number)
    return stand_in.position._replace(flushed=flushed)


def _number(position: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in position.split("/"))


def _rows(server: Server, position: Position, statement: Statement) -> list[Row]:
    """Return the rows of a standby that lacks nothing. That is asked before them, in the same round trip."""
    with server.connection() as used, used.pipeline():
        condition = used.execute(f"SELECT {IS_COMPLETE}", position)
        rows = used.execute(statement.sql, statement.parameters)
        if condition.fetchone() != (True,):
            raise UnprovenError(INCOMPLETE)
        return rows.fetchall()
