"""The statements behind every request for animals, written once (docs/decisions/0002 and 0039)."""
# ruff: noqa: S608 - put together from constants and a number

from collections.abc import Mapping
from typing import Any

from pets.columns import CATEGORY, SHOWN, each
from rest.statements import Row, Statement, Steps, Transaction

SET = ", ".join(f'"{column.name}"' for column in SHOWN)
COLUMNS = f'"id", {SET}'

# The range of IDs that a running import writes. A list would have to visit each of them to learn that it is not
# committed. The statement reads the range with the rows, so that they appear as soon as they are committed.
HIDDEN = """(SELECT "{}" FROM "pets_importrun" WHERE "state" = 'running' LIMIT 1)"""
FIRST_HIDDEN, LAST_HIDDEN = HIDDEN.format("first_id"), HIDDEN.format("last_id")

# On PostgreSQL the status is compared as a range and leads the order: it forgets an equality in ORDER BY, and then
# walks the primary key past every row with another status, which the planner takes for cheap.
LISTS = {
    ("postgresql", False): f"""
        SELECT {COLUMNS}, {LAST_HIDDEN} FROM "pets_pet"
        WHERE "id" <= LEAST(%(newest)s, {FIRST_HIDDEN} - 1)
        ORDER BY "id" DESC LIMIT """,
    ("postgresql", True): f"""
        SELECT {COLUMNS}, {LAST_HIDDEN} FROM "pets_pet"
        WHERE "status" >= %(status)s AND ("status", "id") <= (%(status)s, LEAST(%(newest)s, {FIRST_HIDDEN} - 1))
        ORDER BY "status" DESC, "id" DESC LIMIT """,
    ("sqlite", False): f"""
        SELECT {COLUMNS} FROM "pets_pet" WHERE "id" <= %(newest)s ORDER BY "id" DESC LIMIT """,
    ("sqlite", True): f"""
        SELECT {COLUMNS} FROM "pets_pet" WHERE "status" = %(status)s AND "id" <= %(newest)s
        ORDER BY "id" DESC LIMIT """,
}
"""By database, and whether a status is chosen. The limit is a part of the text, so that a prepared plan knows it."""

BEHIND = {
    False: f"""
        SELECT {COLUMNS} FROM "pets_pet" WHERE "id" > %(hidden)s AND "id" <= %(newest)s ORDER BY "id" DESC LIMIT """,
    True: f"""
        SELECT {COLUMNS} FROM "pets_pet" WHERE "status" = %(status)s AND "id" > %(hidden)s AND "id" <= %(newest)s
        ORDER BY "id" DESC LIMIT """,
}
"""The animals that were added after those that are being written, by whether a status is chosen."""

ONE = f'SELECT {COLUMNS} FROM "pets_pet" WHERE "id" = %(id)s'


VALUES = ", ".join('"id"' if column is CATEGORY else f"%({column.name})s" for column in SHOWN)
ADDED = f"""
    INSERT INTO "pets_pet" ({SET}, "created_at", "updated_at")
    SELECT {VALUES}, %(now)s, %(now)s FROM "categories_category" WHERE "id" = %(category_id)s
    RETURNING """
HISTORY = f"""
    INSERT INTO "pets_petchange" ("id", {each('"{c}"')}, "history_type", "history_date", "actor", "request_id")
    SELECT "id", {each('"{c}"')}, '+', %(now)s, %(actor)s, %(request_id)s FROM """
ADD = f'WITH "animal" AS ({ADDED} *) {HISTORY} "animal" RETURNING "id"'
"""Adds an animal to a category, if there is one with this ID, and the first row of its history: in one round trip."""


def add(vendor: str, values: Mapping[str, Any]) -> Steps[list[Row]]:
    """Add an animal with its history, and return its ID, or nothing if its category is missing.

    `values` are those of its columns, and `now`, `actor` and `request_id` for the history. SQLite needs two statements.
    """
    if vendor == "postgresql":
        return (yield Statement(ADD, values, commits=True))  # type: ignore[no-any-return]
    return (yield Transaction(_add_in_two(values)))  # type: ignore[no-any-return]


def _add_in_two(values: Mapping[str, Any]) -> Steps[list[Row]]:
    added: list[Row] = yield Statement(f'{ADDED} "id"', values)
    for (pk,) in added:
        yield Statement(f'{HISTORY} "pets_pet" WHERE "id" = %(id)s', {**values, "id": pk})
    return added


def page(vendor: str, chosen: Mapping[str, Any], newest: int, count: int) -> Steps[list[Row]]:
    """Return the first `count` animals with an ID of at most `newest`, newest first, without those being written.

    On PostgreSQL a row may have one column more.
    """
    by_status = "status" in chosen
    values: dict[str, Any] = {"newest": newest, **chosen}
    rows: list[Row] = yield Statement(f"{LISTS[vendor, by_status]}{count}", values)
    if vendor != "postgresql":
        return rows
    last_hidden = rows[0][-1] if rows else (yield Statement(f"SELECT {LAST_HIDDEN}", {}))[0][0]
    if last_hidden is None or last_hidden >= newest:
        return rows
    after = yield Statement(f"{BEHIND[by_status]}{count}", values | {"hidden": last_hidden})
    return [*after, *rows][:count]


def one(pk: int) -> Steps[list[Row]]:
    """Return the animal with this ID, or nothing."""
    return (yield Statement(ONE, {"id": pk}))  # type: ignore[no-any-return]
