"""How an ID is written in a path or a query."""

import re

INT64_MAX = 2**63 - 1


def parse_id(text: str) -> int | None:
    """Return a positive int64, or None."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", text) and int(text) <= INT64_MAX:
        return int(text)
    return None
