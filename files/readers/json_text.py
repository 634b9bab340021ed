"""JSON arrays and JSON lines, their values as exact as the API reads them (docs/decisions/0001)."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from files.errors import MALFORMED_JSON, FileError, quoted
from files.readers.header import REMARKS, names_of_columns, plain, unknown_columns
from files.readers.rows import Cells, DamagedRow, Reading, Row
from pets.columns import HEADERS, REFERENCE


class ValueOfJSONError(ValueError):
    """What Python's reader takes and JSON does not have: `NaN` and the infinities (RFC 8259, section 6)."""


class Ambiguous(NamedTuple):
    """An object that has a name twice: which value counts is not known."""

    twice: str
    fields: dict[str, Any]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Ambiguous:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
    return Ambiguous(twice, fields)


def _no_constant(constant: str) -> NoReturn:
    message = f"{constant}, which is not a JSON value"
    raise ValueOfJSONError(message)


DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)
REJECTED = (ValueError, ArithmeticError, RecursionError)
"""What it raises: also for an integer of more than 4,300 digits, and for an exponent beyond all bounds."""

LARGEST_ARRAY = 3 * 512 * 1024
"""Characters of an array. It is held in memory as a whole, and can take 40 times as much there."""

TOO_LARGE = "A JSON array can have {:,} characters. `jq -c '.[]' FILE` makes it JSON lines, one object per line."


def read_json_lines(lines: Iterator[str], how: Reading) -> Iterator[Row]:
    """Yield a row for each line that is not blank."""
    names = names_of_columns(how)
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            value = DECODER.decode(text)
        except REJECTED as error:
            message = "The line is not valid JSON. It must be one object in { }, with all quotes, colons and commas."
            if isinstance(error, ValueOfJSONError):
                message = f"The line has {error}."
            yield line, DamagedRow(message, [text.rstrip("\r\n")], MALFORMED_JSON)
        else:
            yield line, _cells(value, names, ignore_unknown=how.ignore_unknown)


def read_json_array(blocks: Iterator[str], how: Reading) -> Iterator[Row]:
    """Yield the elements of one array; raises `FileError`."""
    text, names = "", names_of_columns(how)
    for block in blocks:
        text += block
        if len(text) > LARGEST_ARRAY:
            raise FileError(TOO_LARGE.format(LARGEST_ARRAY))
    try:
        animals = DECODER.decode(text)
    except REJECTED as error:
        message = "The file is not valid JSON."
        if isinstance(error, ValueOfJSONError):
            message = f"The file has {error}."
        elif isinstance(error, json.JSONDecodeError):
            message = f"Line {error.lineno:,}, character {error.colno:,}: this is not valid JSON."
        raise FileError(message) from None
    for number, animal in enumerate(animals, 1):
        yield number, _cells(animal, names, ignore_unknown=how.ignore_unknown)


def _cells(value: Any, names: Mapping[str, str], *, ignore_unknown: bool) -> Cells | DamagedRow:
    if isinstance(value, Ambiguous):
        return DamagedRow(f"The field {quoted(value.twice)} is there twice.", [value.fields], MALFORMED_JSON)
    if not isinstance(value, dict):
        return DamagedRow("The row must be a JSON object.", [value])
    cells = {names.get(name) or names.get(plain(name), name): each for name, each in value.items()}
    if len(cells) < len(value):
        ((twice, _),) = Counter(names.get(plain(name), name) for name in value).most_common(1)
        return DamagedRow(f"The field {quoted(twice)} is there twice.", [value])
    if unknown := dict.fromkeys(name for name in cells if name not in HEADERS and name not in REMARKS):
        if not ignore_unknown:
            return DamagedRow(f"{unknown_columns(list(unknown))} Columns: {', '.join(HEADERS)}.", [value])
        cells = {name: each for name, each in cells.items() if name not in unknown}
    return {name: each for name, each in cells.items() if not (name == REFERENCE.header and each in (None, ""))}
