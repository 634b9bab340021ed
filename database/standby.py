"""What a standby must be before its rows count: statement parts in SQL, and how far the primary is.

A server is read instead of the primary only if it is in recovery, belongs to the same cluster, knows no newer timeline,
and has replayed a position that the primary had flushed. A promoted server fails the first of these, a standby of one
the third: their positions are higher than the primary's and say nothing.
"""

from typing import NamedTuple


class Position(NamedTuple):
    """How far a primary is: the parameters of `FOLLOWS` and `IS_COMPLETE`, in their order."""

    system: int
    """The identifier of the cluster. All standbys of a primary have the same."""
    timeline: int
    """It rises by one with each promotion."""
    flushed: str
    """A `pg_lsn`. Every commit that the primary had confirmed is before it."""


POSITION = """\
SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int,
       pg_current_wal_flush_lsn()::text
FROM pg_control_system()"""
"""Ask the primary for its `Position`. Fails with 55000 on a server in recovery."""

# A standby writes the history of a timeline before it follows it, and never removes it. The first timeline has none.
# Neither the control file nor `pg_stat_wal_receiver` can say it: the first is up to `checkpoint_timeout` late, the
# second is empty as soon as the primary is gone. The role needs EXECUTE on `pg_ls_waldir`: deploy/postgresql/roles.sql.
FOLLOWS = """\
pg_is_in_recovery() AND (SELECT system_identifier FROM pg_control_system()) = %s
AND (SELECT coalesce(max(('x' || left(name, 8))::bit(32)::int), 1)
     FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{8}[.]history$') = %s
AND pg_last_wal_replay_lsn() >= %s::pg_lsn"""
"""The server has everything before this `Position`."""

IS_COMPLETE = f"{FOLLOWS} AND coalesce(pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn(), false)"
"""And it has replayed all it received. So a synchronous standby has every commit that the primary ever confirmed to
anyone. One that was restarted and has not asked for WAL yet may have more on its disk: it is not complete.

Ask this before the rows, in a statement of its own, in autocommit; both can be sent at once. A statement takes its
snapshot before it evaluates this, so in one statement with the rows, a commit replayed between the two is missing from
the rows although this is true. Inside a transaction that keeps its snapshot, it is the same.
"""
