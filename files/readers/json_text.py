"""JSON arrays and JSON lines, their values as exact as the API reads them (docs/decisions/0001)."""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from files.errors import MALFORMED_JSON, FileError, quoted
from files.readers.header import REMARKS, names_of_columns, plain, unknown_columns
from files.readers.rows import Cells, DamagedRow, Reading, Row
from files.source import line_ends
from pets.columns import HEADERS, REFERENCE


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


BLANKS = re.compile(r"[ \t\r\n]*")
LONGEST_VALUE = 64 * 1024  # characters of one animal in a JSON array: what a request's body may have


def read_json_lines(lines: Iterator[str], how: Reading) -> Iterator[Row]:
    """Yield a row for each line that is not blank; raises `FileError` if the first object takes several lines."""
    names = names_of_columns(how)
    for line, text in enumerate(_one_object_a_line(lines), 1):
        if not text.strip():
            continue
        try:
            value = DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            at, complaint = mistake(text, 0, error, "line")
            message = f"Column {at + 1:,}: {complaint}. The line must be one JSON object."
            yield line, DamagedRow(message, [text.rstrip("\r\n")], MALFORMED_JSON)
        else:
            yield line, _cells(value, names, ignore_unknown=how.ignore_unknown)


def _one_object_a_line(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; raises `FileError` if a JSON object begins in the first ones and ends in another line."""
    ahead, size = [], 0
    for line in lines:
        ahead.append(line)
        size += len(line)
        if size > LONGEST_VALUE:
            break
    text = "".join(ahead).lstrip()
    try:
        _, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        end = 0
    if line_ends(text[:end]):
        message = "An object takes several lines. Put each object on one line, or all of them into one array: [ ]."
        raise FileError(message)
    return itertools.chain(ahead, lines)


def read_json_array(blocks: Iterator[str], how: Reading) -> Iterator[Row]:
    """Yield the elements of one array, holding hardly more than one of them."""
    scanner, names = _Scanner(blocks), names_of_columns(how)
    scanner.expect("[", "The file must be a JSON array of animals")
    if scanner.peek() != "]":
        for number in itertools.count(1):
            yield number, _cells(scanner.value(), names, ignore_unknown=how.ignore_unknown)
            if scanner.peek() != ",":
                break
            scanner.expect(",", "")
    if not scanner.peek():
        scanner.fail("The file ends before the array does. It was cut short")
    scanner.expect("]", "The array must go on with a comma or end with ]")
    if scanner.peek():
        scanner.fail("Nothing may follow the array")


def _cells(value: Any, names: Mapping[str, str], *, ignore_unknown: bool) -> Cells | DamagedRow:
    if not isinstance(value, dict):
        return DamagedRow("The row must be a JSON object.", [value])
    if isinstance(value, Twice):
        return DamagedRow(f"The field {quoted(value.name)} is there twice.", [value])
    cells = {names.get(name) or names.get(plain(name), name): each for name, each in value.items()}
    if len(cells) < len(value):
        ((twice, _),) = Counter(names.get(plain(name), name) for name in value).most_common(1)
        return DamagedRow(f"The field {quoted(twice)} is there twice.", [value])
    if unknown := dict.fromkeys(name for name in cells if name not in HEADERS and name not in REMARKS):
        if not ignore_unknown:
            return DamagedRow(f"{unknown_columns(list(unknown))} Columns: {', '.join(HEADERS)}.", [value])
        cells = {name: each for name, each in cells.items() if name not in unknown}
    return {name: each for name, each in cells.items() if not (name == REFERENCE.header and each in (None, ""))}


class _Scanner:
    """A window on a JSON text; what is wrong in it is raised as a `FileError` with its place."""

    def __init__(self, blocks: Iterator[str]) -> None:
        self._blocks = blocks
        self._text = ""
        self._at = 0
        self._line = self._column = 1

    def peek(self) -> str:
        """Return the next character that is no blank, "" at the end."""
        while True:
            self._step_to(BLANKS.match(self._text, self._at).end())  # type: ignore[union-attr]  # it matches always
            if self._at < len(self._text) or not self._refill():
                return self._text[self._at : self._at + 1]

    def expect(self, character: str, complaint: str) -> None:
        if self.peek() != character:
            self.fail(complaint)
        self._step_to(self._at + 1)

    def value(self) -> Any:
        """Return the next value and step behind it."""
        if self.peek() == "]":
            self.fail("There is a comma before ]")
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if len(self._text) - self._at > LONGEST_VALUE or not self._refill():
                    self._fail_in_value(error)
                continue
            if end < len(self._text) or not self._refill():  # a number may go on in the next block
                self._step_to(end)
                return value

    def fail(self, complaint: str) -> NoReturn:
        message = f"Line {self._line:,}, column {self._column:,}: {complaint}."
        raise FileError(message)

    def _fail_in_value(self, error: Exception) -> NoReturn:
        at, complaint = mistake(self._text, self._at, error, "file")
        if at >= len(self._text) and len(self._text) - self._at > LONGEST_VALUE:
            self.fail(f"An animal has more than {LONGEST_VALUE:,} characters")
        self._step_to(at)
        self.fail(complaint)

    def _step_to(self, end: int) -> None:
        lines = self._text.count("\n", self._at, end)
        self._line += lines
        self._column = end - self._text.rindex("\n", self._at, end) if lines else self._column + end - self._at
        self._at = end

    def _refill(self) -> bool:
        """Add a block and forget what lies behind; False at the end of the file."""
        if block := next(self._blocks, ""):
            self._text, self._at = self._text[self._at :] + block, 0
        return bool(block)
