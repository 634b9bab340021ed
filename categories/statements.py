"""The statements behind every read of categories, written once."""

from collections.abc import Mapping
from typing import Any

from database.statements import Row, Statement, Steps

LIST = 'SELECT "id", "name" FROM "categories_category" WHERE "id" <= %(newest)s ORDER BY "id" DESC LIMIT '
ONE = 'SELECT "id", "name" FROM "categories_category" WHERE "id" = %(id)s'


def page(_vendor: str, _chosen: Mapping[str, Any], newest: int, count: int) -> Steps[list[Row]]:
    """Return the first `count` categories with an ID of at most `newest`, newest first."""
    return (yield Statement(f"{LIST}{count}", {"newest": newest}))  # type: ignore[no-any-return]


def one(pk: int) -> Steps[list[Row]]:
    """Return the category with this ID, or nothing."""
    return (yield Statement(ONE, {"id": pk}))  # type: ignore[no-any-return]


def shown(row: Row) -> dict[str, Any]:
    """Return a row as the API shows it, a Category."""
    return {"id": row[0], "name": row[1]}
