"""A file of any supported kind as a stream of text or, for a workbook, of bytes."""

import codecs
import hashlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, cast

from files.errors import FileError, UndecodableError
from pets.models import STANDARD_INPUT

LONGEST_LINE = 512 * 1024
"""Characters that a line, or a row of several lines, may have: a row takes up to 100 times as many bytes of memory."""

MOST_PIPED = 20 * 1000**3  # bytes of a pipe that are read

BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The byte order marks; that of UTF-16 begins one of UTF-32."""

BLOCK = 1024 * 1024
PIECE = BLOCK // 16  # bytes and characters that are read at a time

FIRST_PIECE = 4096
"""Characters for the header: what is wrong further on is found, and recorded, when the import has begun."""

GZIP = b"\x1f\x8b"
DOCUMENT = re.compile(r"%PDF|\{\\rtf|<(!|\?|[a-z]+[ >])", re.IGNORECASE)  # or a web page, or XML
MOST_CONTROLS = 3  # control characters that the beginning of a text can have by mistake, or one in 20 bytes
NO_TABLE = (
    "This is no CSV, JSON or XLSX file. Open it in the program that it is from, and save the table as CSV, or as .xlsx "
    "without a password. If the file is packed, unpack it first."
)
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
END_OF_DOS = "\x1a"  # in the last line of a file by a program for DOS
EMPTY = "The file is empty."
CHANGED = "The file changed while it was read. Import it again when it is complete."


class Source:
    """An opened file, which can be read from its beginning as often as needed."""

    def __init__(self, name: str, raw: IO[bytes]) -> None:
        """`raw` can be rewound; the caller closes it."""
        self.name = name
        self.raw = raw
        self.size = raw.seek(0, io.SEEK_END)

    @cached_property
    def sha256(self) -> str:
        """The digest of the file, in hexadecimal."""
        return self._digest()

    def reject_changes(self) -> None:
        """Raise `FileError` if the file is not what it was when `sha256` was computed."""
        if self._digest() != self.sha256:
            raise FileError(CHANGED)

    def open(self) -> IO[bytes]:
        """Return the file from its beginning. What an earlier call returned is there too."""
        self.raw.seek(0)
        return self.raw

    def beginning(self) -> bytes:
        """Return the first bytes, enough to recognise the format; raises `FileError` if the file is empty."""
        with _readable():
            start = self.open().read(4096)
        if not start:
            raise FileError(EMPTY)
        return start

    def format(self, encoding: str | None = None) -> str:
        """Return the format that the beginning shows: csv, json, jsonl or xlsx; raises `FileError` for no table."""
        start = self.beginning()
        if start.startswith(b"PK\x03\x04"):
            return "xlsx"
        text = start.decode(self.encoding(encoding), errors="ignore").lstrip()
        controls = sum(byte < 0x20 and byte not in b"\t\n\f\r\x1b" for byte in start)
        is_binary = controls > max(MOST_CONTROLS, len(start) / 20) and encoding is None and self.encoding() == "utf-8"
        if is_binary or start.startswith(GZIP) or DOCUMENT.match(text):
            raise FileError(NO_TABLE)
        return {"[": "json", "{": "jsonl"}.get(text[:1], "csv")

    def encoding(self, given: str | None = None) -> str:
        """Return what a byte order mark shows; otherwise `given`, or UTF-8."""
        start = self.beginning()
        marked = next((name for mark, name in BOMS.items() if start.startswith(mark)), None)
        return marked or given or "utf-8"

    def is_text_in(self, encoding: str) -> bool:
        """Return whether all its bytes fit an encoding; raises `FileError` for what cannot be read at all."""
        decoder, file = codecs.getincrementaldecoder(encoding)(), self.open()
        try:
            with _readable():
                while block := file.read(BLOCK):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def lines(self, encoding: str) -> Iterator[str]:
        """Return the lines with their ends, none more than a piece longer than `LONGEST_LINE`; raises `FileError`."""
        return chain.from_iterable(self.line_blocks(encoding))

    def line_blocks(self, encoding: str) -> Iterator[list[str]]:
        """Yield the lines like `lines`, those of a piece of the text at a time."""
        with self._text(encoding, newline="") as text:
            number, rest, size = 0, "", FIRST_PIECE
            while piece := text.read(size):
                lines = list(io.StringIO(rest + piece, newline=""))
                if len(lines[-1]) > LONGEST_LINE:
                    message = f"Line {number + len(lines):,} is longer than {LONGEST_LINE:,} characters."
                    raise FileError(message)
                # The last one may go on, if only with the second half of a line end, unless the file ends here.
                rest = lines.pop() if len(piece) == size or lines[-1] == END_OF_DOS else ""
                number, size = number + len(lines), PIECE
                yield lines
            if rest not in {"", END_OF_DOS}:
                yield [rest]

    def blocks(self, encoding: str) -> Iterator[str]:
        """Yield the text in pieces that end anywhere, each line end as a line feed; raises `FileError`."""
        with self._text(encoding, newline=None) as text:
            while block := text.read(PIECE):
                yield block

    @contextmanager
    def _text(self, encoding: str, *, newline: str | None) -> Iterator[io.TextIOWrapper]:
        text = io.TextIOWrapper(self.open(), encoding=encoding, newline=newline)
        try:
            with _readable():
                yield text
        except UnicodeError:
            raise self._undecodable(encoding) from None
        finally:
            with suppress(ValueError):  # the file was closed before its last reader
                text.detach()

    def _undecodable(self, encoding: str) -> FileError:
        """Return the error of the first line that is not in the encoding, or has a letter that was lost before."""
        text = io.TextIOWrapper(self.open(), encoding=encoding, errors="replace")
        line = 1
        with suppress(UnicodeError):  # of UTF-16 without its mark
            while (piece := text.readline(BLOCK)) and REPLACEMENT not in piece:
                line += piece.endswith("\n")
        text.detach()
        message = f"Line {line:,} is not text in {encoding.removesuffix('-sig').upper()}."
        return UndecodableError(message) if encoding == "utf-8" else FileError(message)

    def _digest(self) -> str:
        self.raw.seek(0)
        with _readable():
            return hashlib.file_digest(cast("io.BufferedReader", self.raw), "sha256").hexdigest()


@contextmanager
def open_source(name: str) -> Iterator[Source]:
    """Open a file by its name, or standard input for "-"; raises `FileError` with the reason."""
    try:
        if name != STANDARD_INPUT:
            raw: IO[bytes] = Path(name).open("rb")  # noqa: SIM115 - closed below
            if not raw.seekable():
                with raw as pipe:
                    raw = _copy(pipe)
        elif sys.stdin is None:
            message = "Standard input is closed."
            raise FileError(message)
        else:
            raw = _copy(sys.stdin.buffer)
        raw.seek(0, io.SEEK_END)
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror or error}." if name else "The name of the file is empty."
        raise FileError(message) from None
    with raw:
        yield Source(os.fsencode(Path(name).name).decode("utf-8", "replace"), raw)


def _copy(pipe: IO[bytes]) -> IO[bytes]:
    """Return a copy that can be read from its beginning again; raises `FileError` for a pipe without an end."""
    with ExitStack() as unless_complete:
        copy = unless_complete.enter_context(tempfile.TemporaryFile())
        while block := pipe.read(BLOCK):
            if copy.write(block) and copy.tell() > MOST_PIPED:
                message = f"The file has more than {MOST_PIPED:,} bytes."
                raise FileError(message)
        unless_complete.pop_all()
    return cast("IO[bytes]", copy)


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what reading can raise into a `FileError`."""
    try:
        yield
    except OSError as error:
        message = f"The file cannot be read: {error.strerror or error}."
        raise FileError(message) from None
