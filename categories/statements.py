"""The statements behind every read of categories, written once."""

from collections.abc import Mapping

from rest.statements import Steps

LIST = 'SELECT "id", "name" FROM "categories_category" WHERE "id" <= %(newest)s ORDER BY "id" DESC LIMIT '
ONE = 'SELECT "id", "name" FROM "categories_category" WHERE "id" = %(id)s'


def page(_vendor: str, _chosen: Mapping[str, str], newest: int, count: int) -> Steps:
    """Return the first `count` categories with an ID of at most `newest`, newest first."""
    return (yield f"{LIST}{count}", {"newest": newest})


def one(pk: int) -> Steps:
    """Return the category with this ID, or nothing."""
    return (yield ONE, {"id": pk})
