"""The two operations of categories, an addition to the interface document."""

from categories import statements
from database.statements import Steps
from rest.errors import ErrorCode
from rest.lists import Listing, one, page
from rest.request import Request, Result

CATEGORIES = Listing(statements)


def list_categories(request: Request) -> Steps[Result]:
    """Return a page of categories, newest first."""
    return page(request, CATEGORIES)


def get_category(request: Request) -> Steps[Result]:
    """Return the category that the path names."""
    return one(request, CATEGORIES, missing=ErrorCode.CATEGORY_NOT_FOUND)
