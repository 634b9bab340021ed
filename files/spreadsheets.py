"""How text survives a file: lines of CSV, the escapes of XLSX, and what a program may take for a formula."""

import csv
import re
from collections.abc import Sequence
from io import StringIO
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""A cell that begins with one of these gets a `'` before it by `--for-spreadsheets`, and loses it on the way back.

The first six are those of OWASP, "CSV Injection"; `'` itself is there so that every text differs from its guarded form.
"""


def guarded(text: str) -> str:
    """Return `text` with a `'` before it if a spreadsheet may take it for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def unguarded(text: str) -> str:
    """Return `text` without the `'` that `guarded` put before it; any other `'` is part of it, as in `'t Vosje`."""
    return text[1:] if text.startswith("'") and text.startswith(FORMULA_STARTS, 1) else text


_FORBIDDEN = "\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff"
"""What XML 1.0 (section 2.2) cannot hold, and the carriage return, which its readers turn into a line feed."""

_ESCAPED = re.compile(f"[{_FORBIDDEN}]|_(?=x[0-9A-Fa-f]{{4}}[_{_FORBIDDEN}])")
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


def escape(text: str) -> str:
    """Return `text` as an ST_Xstring (ECMA-376 part 1, section 22.9.2.19): `_xFFFF_` for U+FFFF, for what XML forbids.

    Text that looks like such an escape has its first `_` escaped. `unescape` gives back every text as it was.
    """
    if text.isascii() and text.isprintable() and "_x" not in text:
        return text  # nearly every text, in a tenth of the time
    return _ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def unescape(text: str) -> str:
    """Return the text that an ST_Xstring encodes."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def csv_lines(batch: Sequence[Sequence[Any]]) -> bytes:
    """Return the rows as CSV, with quotes where they are needed, and line feeds."""
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(batch)
    return text.getvalue().encode()
