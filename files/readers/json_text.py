"""JSON arrays and JSON lines, their values as exact as the API reads them (docs/decisions/0001)."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from files.errors import MALFORMED_JSON, FileError, quoted
from files.readers.header import REMARKS, names_of_columns, plain, unknown_columns
from files.readers.rows import Cells, DamagedRow, Reading, Row
from pets.columns import HEADERS, REFERENCE


def _integer(digits: str) -> int | Decimal:
    """Return the integer; a `Decimal` for one so long that making an `int` of it would take long."""
    return int(digits) if len(digits) <= 20 else Decimal(digits)


def _decimal(text: str) -> Decimal | float:
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent is beyond all bounds; what replaces it is rejected everywhere
        return math.inf


class ValueOfJSONError(ValueError):
    """What Python's reader takes and JSON does not have (RFC 8259, sections 4 and 6)."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        message = f"the field {quoted(twice)} twice"
        raise ValueOfJSONError(message)
    return fields


def _no_constant(constant: str) -> NoReturn:
    message = f"{constant}, which is not a JSON value"
    raise ValueOfJSONError(message)


DECODER = json.JSONDecoder(
    parse_int=_integer, parse_float=_decimal, parse_constant=_no_constant, object_pairs_hook=_object
)

LONGEST_VALUE = 64 * 1024  # characters of one animal in a JSON array: what a request's body may have
BLANKS = " \t\r\n"
NOT_JSON = "Animal {:,} is not valid JSON, or has more than {:,} characters. It begins with {}."


def read_json_lines(lines: Iterator[str], how: Reading) -> Iterator[Row]:
    """Yield a row for each line that is not blank."""
    names = names_of_columns(how)
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            value = DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            message = "The line is not valid JSON. It must be one object in { }, with all quotes, colons and commas."
            if isinstance(error, ValueOfJSONError):
                message = f"The line has {error}."
            yield line, DamagedRow(message, [text.rstrip("\r\n")], MALFORMED_JSON)
        else:
            yield line, _cells(value, names, ignore_unknown=how.ignore_unknown)


def read_json_array(blocks: Iterator[str], how: Reading) -> Iterator[Row]:
    """Yield the elements of one array, holding hardly more than one of them."""
    window, names = _Window(blocks), names_of_columns(how)
    if window.take() != "[":
        message = "The file must be a JSON array of animals."
        raise FileError(message)
    for number in itertools.count(1):
        if number == 1 and window.peek() == "]":
            window.take()
            break
        yield number, _cells(window.value(number), names, ignore_unknown=how.ignore_unknown)
        if (behind := window.take()) == "]":
            break
        if behind != ",":
            there = f"there is {quoted(behind + window.rest())}" if behind else "the file ends"
            message = f"After animal {number:,}, there must be a comma or ], but {there}."
            raise FileError(message)
    if window.take():
        message = "Nothing may follow the array."
        raise FileError(message)


class _Window:
    """The part of a JSON text that was needed last, and where it is read on. Nothing is copied for a value."""

    def __init__(self, blocks: Iterator[str]) -> None:
        self._blocks, self._text, self._at = blocks, "", 0

    def peek(self) -> str:
        """Return the next character that is no blank, "" at the end of the file."""
        while True:
            while (character := self._text[self._at : self._at + 1]) and character in BLANKS:
                self._at += 1
            if character or not self._refill():
                return character

    def take(self) -> str:
        """Return the next character that is no blank, and step behind it."""
        character = self.peek()
        self._at += 1
        return character

    def value(self, number: int) -> Any:
        """Return the next value, the animal of this number, and step behind it; raises `FileError`."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except ValueOfJSONError as error:
                message = f"Animal {number:,} has {error}."
                raise FileError(message) from None
            except (ValueError, RecursionError):
                if len(self._text) - self._at <= LONGEST_VALUE and self._refill():
                    continue
                raise FileError(NOT_JSON.format(number, LONGEST_VALUE, quoted(self.rest()))) from None
            if end == len(self._text) and self._refill():  # a number may go on in it
                continue
            self._at = end
            return value

    def rest(self) -> str:
        """Return the beginning of what is not read yet, to show it."""
        return self._text[self._at : self._at + LONGEST_VALUE]

    def _refill(self) -> bool:
        """Put the next block behind what is not read yet; return whether there was one."""
        block = next(self._blocks, "")
        self._text, self._at = self._text[self._at :] + block, 0
        return bool(block)


def _cells(value: Any, names: Mapping[str, str], *, ignore_unknown: bool) -> Cells | DamagedRow:
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
