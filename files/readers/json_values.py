"""JSON values, as exact as the API reads them (docs/decisions/0001), and in words what is wrong with one."""

import json
import math
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn


def _integer(digits: str) -> int | Decimal:
    """Return the integer; a `Decimal` for one so long that making an `int` of it would take long."""
    return int(digits) if len(digits) <= 20 else Decimal(digits)


def _decimal(text: str) -> Decimal | float:
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent is beyond all bounds; what replaces it is rejected everywhere
        return math.inf


class ConstantError(ValueError):
    """`NaN` or an infinity, which Python's reader takes and JSON does not have (RFC 8259, section 6)."""


class Twice(dict[str, Any]):
    """An object in which a name is there twice."""

    name: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    twice = Twice(fields)
    ((twice.name, _),) = Counter(name for name, _ in pairs).most_common(1)
    return twice


def _no_constant(constant: str) -> NoReturn:
    raise ConstantError(constant)


DECODER = json.JSONDecoder(
    parse_int=_integer, parse_float=_decimal, parse_constant=_no_constant, object_pairs_hook=_object
)

CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<constant>-?Infinity|NaN)', re.DOTALL)


def mistake(text: str, start: int, error: Exception, whole: str) -> tuple[int, str]:
    """Return where in the text the value that begins at `start` is wrong, and a sentence without its full stop.

    `whole` is what ends with the text: "line" or "file". The place is the end of the text if that is what is wrong.
    """
    if isinstance(error, ConstantError):
        found = next(each for each in CONSTANT.finditer(text, start) if each["constant"])
        return found.start(), f"{found[0]} is not a JSON value. Use null or a number"
    if not isinstance(error, json.JSONDecodeError):
        return start, "Brackets are nested too deeply"
    at = error.pos + error.msg.startswith("Illegal trailing comma")  # Python 3.13 and later stop at the comma
    if at >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return len(text), f"The {whole} ends in the middle of an animal. It was cut short"
    before, after = text[:at].rstrip(), text[at:].lstrip()
    if after[0] in "}]" and before.endswith(","):
        return len(before) - 1, f"There is a comma before {after[0]}"
    control = error.msg.startswith("Invalid control character")
    return at, "A line break or another control character is inside quotes" if control else "This is not JSON"
