"""A file of any supported kind as a stream of text or, for a workbook, of bytes."""

import codecs
import contextlib
import gzip
import hashlib
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pets.importing.errors import FileError

STANDARD_INPUT = "-"
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
FORMATS = ("csv", "json", "jsonl", "xlsx")
LONGEST_LINE = 10 * 1024 * 1024
"""Characters that a line, or a quoted cell, may have, so that memory is bounded."""

BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
BLOCK = 1024 * 1024
GZIP = b"\x1f\x8b"
OLE = bytes.fromhex("d0cf11e0a1b11ae1")
UNMARKED = "The file looks like UTF-16 without a byte order mark: say that its encoding is utf-16-le or utf-16-be."


@dataclass
class Source:
    """An opened file: `raw` as it lies there, `plain` without gzip; both can be rewound."""

    name: str
    raw: IO[bytes]
    plain: IO[bytes]
    size: int
    """Bytes of `raw`, by which progress is told."""

    def sha256(self) -> str:
        """Return the digest of the file as it lies there, in hexadecimal."""
        self.raw.seek(0)
        digest = hashlib.sha256()
        while block := self.raw.read(BLOCK):
            digest.update(block)
        self.rewind()
        return digest.hexdigest()

    def rewind(self) -> None:
        """Go back to the beginning."""
        self.raw.seek(0)
        self.plain.seek(0)

    def beginning(self) -> bytes:
        """Return the first bytes, enough to tell the kind of the file; raises `FileError` if there is none."""
        self.rewind()
        with _readable():
            start = self.plain.read(4096)
        self.rewind()
        if not start:
            message = "The file is empty."
            raise FileError(message)
        return start

    def format(self, encoding: str | None = None) -> str:
        """Return what kind of file its beginning shows: one of `FORMATS`; raises `FileError` for an old workbook."""
        start = self.beginning()
        if start.startswith(b"PK\x03\x04"):
            return "xlsx"
        if start.startswith(OLE):
            message = "This is a workbook of an old kind (.xls), or one with a password. Save it as .xlsx, or as CSV."
            raise FileError(message)
        text = start.decode(self.encoding(encoding), errors="ignore").lstrip()
        return {"[": "json", "{": "jsonl"}.get(text[:1], "csv")

    def encoding(self, given: str | None = None) -> str:
        """Return the encoding: what a byte order mark announces, unless cp1252 is given; else what is, else UTF-8."""
        start = self.beginning()
        marked = next((name for mark, name in BOMS.items() if start.startswith(mark)), None)
        if given is None and marked is None and b"\0" in start[:64] and b"\0\0" not in start[:64]:
            raise FileError(UNMARKED)
        return (marked if given != "cp1252" else None) or given or "utf-8"

    def lines(self, encoding: str) -> Iterator[str]:
        """Yield the lines with their ends, none longer than `LONGEST_LINE`; raises `FileError`."""
        with self._text(encoding) as text:
            number = 0
            while line := text.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    message = f"Line {number} is longer than {LONGEST_LINE:,} characters."
                    raise FileError(message)
                yield line

    def blocks(self, encoding: str) -> Iterator[str]:
        """Yield the text in pieces that end anywhere; raises `FileError`."""
        with self._text(encoding) as text:
            while block := text.read(BLOCK // 16):
                yield block

    @contextmanager
    def _text(self, encoding: str) -> Iterator[io.TextIOWrapper]:
        self.rewind()
        text = io.TextIOWrapper(self.plain, encoding=encoding, newline="")
        try:
            with _readable(undecodable=lambda: self._undecodable(encoding)):
                yield text
        finally:
            with contextlib.suppress(ValueError):  # the file was closed before whoever read it ended
                text.detach()

    def _undecodable(self, encoding: str) -> str:
        """Return the sentence about the first line that is not in the encoding."""
        self.rewind()
        decoder, line = codecs.getincrementaldecoder(encoding)(), 1
        try:
            while block := self.plain.read(BLOCK):
                line += decoder.decode(block).count("\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
        except UnicodeError:
            return UNMARKED
        cure = "" if encoding == "cp1252" else " If it comes from an older Windows program, try cp1252 as its encoding."
        return f"Line {line} is not text in {encoding.removesuffix('-sig').upper()}.{cure}"


@contextmanager
def open_source(name: str) -> Iterator[Source]:
    """Open a file by its name, or standard input for "-"; raises `FileError` with the reason."""
    try:
        raw = _standard_input() if name == STANDARD_INPUT else _seekable(Path(name).open("rb"))  # noqa: SIM115 - closed below
        raw.seek(0, io.SEEK_END)
    except OSError as error:
        message = f"{name or 'The empty name'} cannot be read: {error.strerror or error}."
        raise FileError(message) from None
    with raw:
        yield source_of(os.fsencode(Path(name).name).decode("utf-8", "replace"), raw)


def source_of(name: str, raw: IO[bytes]) -> Source:
    """Return an open file that can be rewound as a source called `name`; the caller closes it."""
    size = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    zipped = raw.read(2) == GZIP
    raw.seek(0)
    plain = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if zipped else raw
    return Source(name, raw, plain, size)


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        message = "Standard input is closed."
        raise FileError(message)
    return _copy(sys.stdin.buffer)


def _seekable(file: IO[bytes]) -> IO[bytes]:
    """Return the file, or a copy of what cannot be read twice, such as a pipe."""
    if file.seekable():
        return file
    with file:
        return _copy(file)


def _copy(file: IO[bytes]) -> IO[bytes]:
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    shutil.copyfileobj(file, copy, BLOCK)
    return cast("IO[bytes]", copy)


@contextmanager
def _readable(undecodable: Callable[[], str] | None = None) -> Iterator[None]:
    """Turn what reading can raise into a `FileError`."""
    try:
        yield
    except UnicodeError:
        if undecodable is None:
            raise
        raise FileError(undecodable()) from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        message = "The gzip file is damaged or was cut short."
        raise FileError(message) from None
    except OSError as error:
        message = f"The file cannot be read: {error.strerror or error}."
        raise FileError(message) from None
