"""How an ID is written in a path, and the object that it names."""

import re
from typing import TypeVar

from django.db.models import Model, QuerySet

from rest.errors import APIError, ErrorCode

INT64_MAX = 2**63 - 1

M = TypeVar("M", bound=Model)


def find(queryset: QuerySet[M], segment: str, *, missing: ErrorCode) -> M:
    """Return the object whose ID the path segment writes; raises `APIError` with the code `missing`.

    `0`, `01`, `1.0` and `abc` are never IDs, so they give the same error as an ID that does not exist.
    """
    pk = parse_id(segment)
    found = queryset.filter(pk=pk).first() if pk else None
    if found is None:
        raise APIError(missing)
    return found


def parse_id(segment: str) -> int | None:
    """Return a positive int64, or None."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", segment) and int(segment) <= INT64_MAX:
        return int(segment)
    return None
