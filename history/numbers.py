"""Numbers of rows, as addresses and forms have them."""

import re


def row_number(text: str) -> int | None:
    """Return the number of a row; None for what is no number, or is too large for one that we gave."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None
