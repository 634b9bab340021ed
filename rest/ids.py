"""How an ID is written in a path, and the row that it names."""

import re

from rest.errors import APIError, ErrorCode
from rest.statements import Row, Statements, run

INT64_MAX = 2**63 - 1


def find(statements: Statements, segment: str, *, missing: ErrorCode) -> Row:
    """Return the row whose ID the path segment writes; raises `APIError` with the code `missing`.

    `0`, `01`, `1.0` and `abc` are never IDs, so they give the same error as an ID that does not exist.
    """
    pk = parse_id(segment)
    found = run(statements.one(pk)) if pk else []
    if not found:
        raise APIError(missing)
    return found[0]


def parse_id(segment: str) -> int | None:
    """Return a positive int64, or None."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", segment) and int(segment) <= INT64_MAX:
        return int(segment)
    return None
