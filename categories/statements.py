"""The statements behind every read of categories, written once."""

from collections.abc import Mapping
from typing import Any

from rest.statements import Row, Steps

LIST = 'SELECT "id", "name" FROM "categories_category" WHERE "id" <= %(newest)s ORDER BY "id" DESC LIMIT '
ONE = 'SELECT "id", "name" FROM "categories_category" WHERE "id" = %(id)s'


def page(_vendor: str, _chosen: Mapping[str, str], newest: int, count: int) -> Steps:
    """Return the first `count` categories with an ID of at most `newest`, newest first."""
    return (yield f"{LIST}{count}", {"newest": newest})


def one(pk: int) -> Steps:
    """Return the category with this ID, or nothing."""
    return (yield ONE, {"id": pk})


def shown(row: Row) -> dict[str, Any]:
    """Return a row as the API shows it, a Category."""
    pk, name = row
    return {"id": pk, "name": name}
