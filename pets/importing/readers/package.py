"""The parts of an XLSX file (ECMA-376 part 2), each read as a stream of XML in little memory, whatever it holds."""

import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any, cast
from xml.parsers import expat

from pets.importing.errors import FileError

LARGEST_DIRECTORY = 1024 * 1024
"""Bytes of the list of parts, which zipfile holds in memory."""

LARGEST_TOKEN = 1024 * 1024
"""Bytes of a tag or comment. expat holds it in memory and begins it again with each block."""

DEEPEST, MOST_NAMES = 100, 5_000
"""Of elements in each other, and of names of elements and attributes: expat holds them in memory."""

BLOCK = 64 * 1024
TOO_LARGE = "The workbook is too large, or made to take too much memory. Save it as CSV."

Attributes = dict[str, str]
Starts = dict[str, Callable[[Attributes], object]]
Ends = dict[str, Callable[[], object]]


class Part:
    """What is called for the elements of a part, by their names without a prefix, and for text, in pieces."""

    def __init__(self, starts: Starts, ends: Ends | None = None) -> None:
        self.starts = starts
        self.ends = ends or {}

    def text(self, text: str) -> None:
        """Pass over it."""


class Package:
    """An opened XLSX file, of which at most `most` bytes are unpacked. Raises `FileError` and what `zipfile` raises."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._archive = zipfile.ZipFile(cast("IO[bytes]", _Sparing(file)))
        self._entries = {_plain(entry.filename): entry for entry in self._archive.infolist()}
        self._left = most

    def has(self, name: str) -> bool:
        return _plain(name) in self._entries

    def parse(self, name: str, part: Part) -> Iterator[None]:
        """Read a part and yield after each block; raises `FileError`, `KeyError`, `ExpatError`, as `zipfile` does."""
        depth = 0
        starts, ends = _ByLocalName(part.starts), _ByLocalName(part.ends)

        def start(name: str, attributes: Attributes) -> None:
            nonlocal depth
            depth += 1
            if (handler := starts[name]) is not None:
                handler(attributes)

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            if (handler := ends[name]) is not None:
                handler()

        names: dict[str, str] = {}
        parser = expat.ParserCreate(intern=names)
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = part.text
        parser.StartDoctypeDeclHandler = _no_document_type
        read = 0
        for block in self._blocks(name):
            parser.Parse(block)
            read += len(block)
            if read - parser.CurrentByteIndex > LARGEST_TOKEN or depth > DEEPEST or len(names) > MOST_NAMES:
                raise FileError(TOO_LARGE)
            yield
        parser.Parse(b"", True)  # noqa: FBT003 - its own signature
        yield

    def read(self, name: str, part: Part) -> None:
        for _ in self.parse(name, part):
            pass

    def _blocks(self, name: str) -> Iterator[bytes]:
        entry = self._entries[_plain(name)]
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise zipfile.BadZipFile  # the others unpack a few bytes to many megabytes at once
        with self._archive.open(entry) as stream:
            while block := stream.read(BLOCK):
                self._left -= len(block)
                if self._left < 0:
                    raise FileError(TOO_LARGE)
                yield block


def _plain(name: str) -> str:
    r"""Return what a part is found by: some programs write `\` and another case (ECMA-376 part 2, section 6.3.5)."""
    return name.replace("\\", "/").lstrip("/").lower()


class _ByLocalName(dict[str, Any]):
    """Finds `x:row` under `row`, and None under any other name."""

    def __missing__(self, name: str) -> Any:
        found = self[name] = self.get(name.rpartition(":")[2])
        return found


class _Sparing:
    """A file of which a large piece is never read at once: zipfile reads as much as the file asks it to."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size > LARGEST_DIRECTORY:
            raise FileError(TOO_LARGE)
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _no_document_type(*_declaration: Any) -> None:
    raise ValueError


def is_true(attributes: Attributes, name: str) -> bool:
    """Return the value of a boolean attribute, false by default (ECMA-376 part 1, section 22.9.2.1)."""
    return attributes.get(name) in {"1", "true", "on"}


def numeral(text: str) -> str:
    """Return the text of a number; raises `ValueError` for `1_0` and digits beyond ASCII, which Python would take."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def whole(text: str) -> int:
    """Return an integer of XML; raises `ValueError`."""
    return int(numeral(text))


def attribute(attributes: Attributes, name: str) -> str:
    """Return the attribute of this name, whatever its prefix; "" if there is none."""
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), "")
