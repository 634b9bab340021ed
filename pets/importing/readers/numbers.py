"""JSON numbers, as exact as the API reads them (docs/decisions/0001)."""

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?")


def number(text: str) -> Any:
    """Return the value of a JSON number; what is none comes back as it is, for the rules to reject."""
    found = JSON_NUMBER.fullmatch(text)
    if not found:
        return text
    return decimal(text) if found["fraction"] or found["exponent"] else integer(text)


def integer(digits: str) -> int | Decimal:
    """Return the integer; a `Decimal` for one so long that making an `int` of it would take long."""
    return int(digits) if len(digits) <= 20 else Decimal(digits)


def decimal(text: str) -> Decimal | float:
    """Return the number, or infinity for one with an exponent beyond all bounds."""
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent is beyond all bounds; what replaces it is rejected everywhere
        return math.inf
