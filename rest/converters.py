"""How an id is written in a path."""

import re

INT64_MAX = 2**63 - 1


class Int64Converter:
    """A path segment as the id it writes, or None where it writes none.

    `0`, `01`, `1.0` and `abc` are ids of nothing: the operation answers 404, not the router.
    """

    regex = "[^/]+"

    def to_python(self, segment: str) -> int | None:
        """Return a positive int64, or None."""
        if re.fullmatch(r"[1-9][0-9]{0,18}", segment) and int(segment) <= INT64_MAX:
            return int(segment)
        return None

    def to_url(self, value: int | str) -> str:
        """Return the id as a path segment."""
        return str(value)
