"""The two operations of categories, an addition to the interface document."""

from functools import partial

from categories import statements
from rest.errors import ErrorCode
from rest.lists import Listing, one, page

CATEGORIES = Listing(statements)

list_categories = partial(page, listing=CATEGORIES)
"""Returns a page of categories, newest first."""

get_category = partial(one, listing=CATEGORIES, missing=ErrorCode.CATEGORY_NOT_FOUND)
"""Returns the category that the path names."""
