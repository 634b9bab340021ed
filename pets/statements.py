"""The statements behind every request for animals, written once (docs/decisions/0002 and 0040)."""
# ruff: noqa: S608 - put together from constants and a number

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from database.statements import Addition, Row, Statement, Steps
from pets.columns import CATEGORY, SHOWN, each
from pets.models import PetStatus

SET = ", ".join(f'"{column.name}"' for column in SHOWN)
COLUMNS = f'"id", {SET}'

# The range of IDs that a running import writes. A list would have to visit each of them to learn that it is not
# committed. The statement reads the range with the rows, so that they appear as soon as they are committed.
HIDDEN = """(SELECT "{}" FROM "pets_importrun" WHERE "state" = 'running' LIMIT 1)"""
FIRST_HIDDEN, LAST_HIDDEN = HIDDEN.format("first_id"), HIDDEN.format("last_id")

FILTERS = {"categoryId": "category_id", "status": "status"}
"""Query parameter → column, in the order of the index of both."""


def _walk(vendor: str, equal: Mapping[str, str]) -> str:
    """Return the list of the animals whose columns have these values (as SQL), as a walk along one index.

    PostgreSQL forgets an equality in ORDER BY, and then walks the primary key past every row with another value, which
    the planner takes for cheap. So there the first column leads the order, compared with a list of twice its value,
    since once is an equality. SQLite takes the primary key for cheap too if most animals are of one category.
    """
    alike = [f'"{column}" = {value} AND ' for column, value in equal.items()]
    if vendor == "sqlite":
        index = 'INDEXED BY "pet_category_status_id"' if "category_id" in equal else ""
        shown, newest, first = f'{COLUMNS} FROM "pets_pet" {index}', "%(newest)s", ""
    else:
        shown, newest = f'{COLUMNS}, {LAST_HIDDEN} FROM "pets_pet"', f"LEAST(%(newest)s, {FIRST_HIDDEN} - 1)"
        first = "".join(f'"{column}" DESC, ' for column in [*equal][:1])
        alike[:1] = [f'"{column}" IN ({value}, {value}) AND ' for column, value in [*equal.items()][:1]]
    return f'SELECT {shown} WHERE {"".join(alike)}"id" <= {newest} ORDER BY {first}"id" DESC LIMIT '


@lru_cache(maxsize=2048)
def list_of(vendor: str, filters: frozenset[str], count: int) -> str:
    """Return the list by these filters. That of a category alone merges its lists by status: one index for both.

    They have one order on PostgreSQL, which then reads each only as far as the page needs. The limit is a part of
    the text, so that a prepared plan knows it.
    """
    equal = {column: f"%({name})s" for name, column in FILTERS.items() if name in filters}
    if filters != {"categoryId"}:
        return f"{_walk(vendor, equal)}{count}"
    by_status = [_walk(vendor, {**equal, "status": f"'{status}'"}) for status in PetStatus.values]
    walks = " UNION ALL ".join(f"SELECT * FROM ({walk}{count}) AS a" for walk in by_status)
    return f'{walks} ORDER BY "category_id" DESC, "id" DESC LIMIT {count}'


def _behind(filters: frozenset[str], count: int) -> str:
    """Return the animals that were added after those that are being written."""
    equal = "".join(f'"{column}" = %({name})s AND ' for name, column in FILTERS.items() if name in filters)
    return (
        f'SELECT {COLUMNS} FROM "pets_pet" WHERE {equal}"id" > %(hidden)s AND "id" <= %(newest)s '
        f'ORDER BY "id" DESC LIMIT {count}'
    )


ONE = f'SELECT {COLUMNS} FROM "pets_pet" WHERE "id" = %(id)s'


VALUES = ", ".join('"id"' if column is CATEGORY else f"%({column.name})s" for column in SHOWN)
ADDITION = Addition(
    row=f"""
    INSERT INTO "pets_pet" ({SET}, "created_at", "updated_at")
    SELECT {VALUES}, %(now)s, %(now)s FROM "categories_category" WHERE "id" = %(category_id)s""",
    history=f"""
    INSERT INTO "pets_petchange" ("id", {each('"{c}"')}, "history_type", "history_date", "actor", "request_id")
    SELECT "id", {each('"{c}"')}, '+', %(now)s, %(actor)s, %(request_id)s FROM""",
    table='"pets_pet"',
)
"""Adds an animal to a category, if there is one with this ID.

Its values are those of its columns, and `now`, `actor` and `request_id` for the history.
"""


def page(vendor: str, chosen: Mapping[str, Any], newest: int, count: int) -> Steps[list[Row]]:
    """Return the first `count` animals with an ID of at most `newest`, newest first, without those being written.

    On PostgreSQL a row may have one column more.
    """
    filters = frozenset(chosen)
    values: dict[str, Any] = {"newest": newest, **chosen}
    rows: list[Row] = yield Statement(list_of(vendor, filters, count), values)
    if vendor != "postgresql":
        return rows
    last_hidden = rows[0][-1] if rows else (yield Statement(f"SELECT {LAST_HIDDEN}", {}))[0][0]
    if last_hidden is None or last_hidden >= newest:
        return rows
    after = yield Statement(_behind(filters, count), values | {"hidden": last_hidden})
    return [*after, *rows][:count]


def one(pk: int) -> Steps[list[Row]]:
    """Return the animal with this ID, or nothing."""
    return (yield Statement(ONE, {"id": pk}))  # type: ignore[no-any-return]


FIELDS = ("id", *(column.field for column in SHOWN))


def shown(row: Row) -> dict[str, Any]:
    """Return a row as the API shows it, a Pet."""
    return dict(zip(FIELDS, row, strict=False))  # that of a list has one column more
