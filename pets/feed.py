"""The statement behind the feed of changes, and what its cursors say (docs/decisions/0069).

Rows of history are shown in the order of their transactions, as soon as every transaction that began before theirs has
ended: then none can come before them any more. An animal can change in another order, so the feed shows it as it
is in the same snapshot. On SQLite one transaction writes at a time, so there the row's ID is the order.
"""
# ruff: noqa: S608 - put together from constants and a number

from functools import lru_cache
from typing import Any, NamedTuple

from database.statements import Row, Statement, Steps
from pets.statements import COLUMNS, shown
from rest.errors import APIError, ErrorCode


class Place(NamedTuple):
    """Where a follower is: the last row of history that it was shown, and the server that showed it."""

    server: str = ""
    """Names the cluster and the table. Another cluster has its own count of transactions, a dump another table."""
    timeline: int = 0
    wal: str = "0/0"
    """What was shown had been committed before this position of the timeline."""
    transaction: str = "0"
    row: int = 0
    at: str = ""
    """When the row was written: one that is added after a restore can have its number."""


PATIENCE = 10
"""Seconds after which an open transaction that writes is worth a header."""

SQLITE = {
    "server": 'SELECT \'\' AS "server", 0 AS "timeline", \'0/0\' AS "wal", TRUE AS "has_all"',
    "since": "NULL",
    "transaction": "'0'",
    "at": 'CAST("history_date" AS text)',
    "after": '"history_id" > %(row)s',
    "settled": "TRUE",
    "order": '"history_id" {0}',
    "pet": f'LEFT JOIN (SELECT {COLUMNS} FROM "pets_pet") AS "pet" ON "pet"."id" = "listed"."of"',
}

# What was shown is there after a promotion if it was committed before the position at which the timeline changed. A
# server knows that position until it is restarted: after a crash it knows another one, but no time of a transaction.
# OFFSET keeps the planner, which may see a small table, from reading all animals.
POSTGRESQL = {
    "server": """
        SELECT "server", "timeline", "wal"::text, "server" = %(server)s AND CASE %(timeline)s::int
            WHEN "timeline" THEN %(wal)s::pg_lsn <= "wal"
            WHEN "timeline" - 1 THEN pg_last_xact_replay_timestamp() IS NOT NULL
                AND %(wal)s::pg_lsn <= pg_last_wal_replay_lsn()
            ELSE FALSE END AS "has_all"
        FROM (
            SELECT "system_identifier" || '/' || 'pets_petchange'::regclass::oid AS "server",
                ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS "timeline",
                pg_current_wal_flush_lsn() AS "wal"
            FROM pg_control_system()
        ) AS "asked"
    """,
    # A role without pg_read_all_stats sees none of other roles. A standby sees none of the primary.
    "since": f"""(
        SELECT date_part('epoch', "began")::bigint FROM (SELECT COALESCE(
            (SELECT xact_start FROM pg_stat_activity WHERE backend_xid = "oldest"),
            (SELECT prepared FROM pg_prepared_xacts WHERE transaction = "oldest")
        ) AS "began" FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::xid AS "oldest") AS "a") AS "b"
        WHERE "began" < clock_timestamp() - {PATIENCE} * interval '1 second'
    )""",
    "transaction": '"transaction_id"::text',
    "at": """(date_part('epoch', "history_date") * 1000000)::bigint::text""",
    "after": '("transaction_id", "history_id") > (%(transaction)s::xid8, CAST(%(row)s AS bigint))',
    "settled": '"transaction_id" < pg_snapshot_xmin(pg_current_snapshot())',
    "order": '"transaction_id" {0}, "history_id" {0}',
    "pet": f"""
        LEFT JOIN LATERAL (SELECT {COLUMNS} FROM "pets_pet" WHERE "id" = "listed"."of" OFFSET 0) AS "pet" ON TRUE
    """,
}


@lru_cache(maxsize=256)
def feed(vendor: str, count: int | None) -> str:
    """Return the statement of a page, of `count` rows of history after a place; of the last row shown if it is None."""
    part = POSTGRESQL if vendor == "postgresql" else SQLITE
    where = part["settled"] if count is None else f"{part['after']} AND {part['settled']}"
    order = part["order"].format("DESC" if count is None else "ASC")
    return f"""
        SELECT "here".*, "listed".*, "pet".*
        FROM (
            SELECT "server", "timeline", "wal", "has_all" AND (CAST(%(row)s AS bigint) = 0 OR EXISTS (
                SELECT 1 FROM "pets_petchange" WHERE "history_id" = %(row)s
                AND {part["transaction"]} = %(transaction)s AND {part["at"]} = %(at)s
            )), {part["since"]} FROM ({part["server"]}) AS "checked"
        ) AS "here"
        LEFT JOIN (
            SELECT {part["transaction"]} AS "transaction", "history_id", {part["at"]} AS "at", "id" AS "of"
            FROM "pets_petchange" WHERE {where} ORDER BY {order} LIMIT {count or 1}
        ) AS "listed" ON TRUE
        {part["pet"]}
    """


class FeedPage(NamedTuple):
    """What is shown after a place, each animal once."""

    changes: list[dict[str, Any]]
    after: Place
    delayed_since: int | None
    """Since when the oldest transaction that writes has been open, in seconds of Unix, if that is long."""


def changes_after(vendor: str, place: Place | None, count: int) -> Steps[FeedPage]:
    """Return the page after a place; of None, an empty one at the end.

    Raises `APIError` if what was shown before is not what this database would have shown.
    """
    here = place or Place()
    rows: list[Row] = yield Statement(feed(vendor, None if place is None else count), here._asdict())
    server, timeline, wal, is_good, delayed_since = rows[0][:5]
    if place and not is_good:
        raise APIError(ErrorCode.CURSOR_EXPIRED)
    listed = [row for row in rows if row[6] is not None]
    if listed or timeline != here.timeline:  # else the same place, so that an empty page has the same link
        here = here._replace(server=server, timeline=timeline, wal=wal)
    if listed:
        transaction, row, at = max(listed, key=lambda row: (int(row[5]), row[6]))[5:8]  # a join keeps no order
        here = here._replace(transaction=transaction, row=row, at=at)
    changes: dict[int, dict[str, Any]] = {}
    for row in listed if place else ():
        pk, pet = row[8], row[9:]
        saved = {"change": "removed"} if pet[0] is None else {"change": "saved", "pet": shown(pet)}
        changes[pk] = {"petId": pk, **saved}
    return FeedPage([*changes.values()], here, delayed_since)
