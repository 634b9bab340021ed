"""The parts of an XLSX file (ECMA-376 part 2), each read as a stream of XML in little memory, whatever it holds."""

import functools
import os
import posixpath
import zipfile
from array import array
from collections.abc import Iterator, Sequence, Sized
from typing import IO, Any, cast
from xml.parsers import expat

from files.errors import FileError
from files.readers.number_formats import BUILT_IN, NumberFormat

LARGEST_DIRECTORY = 1024 * 1024  # bytes of the list of parts, which zipfile holds in memory
LARGEST_TOKEN = 1024 * 1024  # bytes of a tag or comment. expat holds it in memory and begins it again with each block

DEEPEST, MOST_NAMES = 100, 5_000
"""Of elements in each other, and of names of elements and attributes: expat holds them in memory."""

LONGEST_TEXT = 32_767 * len("_x0000_")
"""Characters of a cell (Microsoft, "Excel specifications and limits"), of which each can be escaped."""

BLOCK = 64 * 1024
TOO_LARGE = "The workbook is too large, or made to take too much memory. Save it as CSV."

Attributes = dict[str, str]
LEVELS = {"t": 1, "v": 1, "rPh": -1}  # text counts in these, but not how it is pronounced
NOTED, NONE = {"f", "v"}, frozenset[str]()


class Element:
    """An element of a part: its name without a prefix, its attributes, the text, and which of `NOTED` is in it."""

    __slots__ = ("attributes", "inside", "name", "text")

    def __init__(self, name: str, attributes: Attributes) -> None:
        self.name = name
        self.attributes = attributes
        self.text = ""
        self.inside = NONE


class Package:
    """An opened XLSX file, of which at most `most` bytes are unpacked. Raises `FileError` and what `zipfile` raises."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._archive = zipfile.ZipFile(cast("IO[bytes]", _Sparing(file)))
        self._entries = {_plain(entry.filename): entry for entry in self._archive.infolist()}
        self._left = most

    def has(self, name: str) -> bool:
        return _plain(name) in self._entries

    def elements(self, name: str | None, *wanted: str) -> Iterator[Element]:
        """Yield the elements of a part that have these names, once they end, or one of these begins in them.

        None is no part. Raises `FileError`, `KeyError`, `ExpatError`, as `zipfile` does.
        """
        if name is None:
            return
        taken, names, read = _Handlers(wanted), dict[str, str](), 0
        parser = expat.ParserCreate(intern=names)
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = taken.start, taken.end
        parser.CharacterDataHandler = taken.add_text
        parser.StartDoctypeDeclHandler = _no_document_type
        for block in self._blocks(name):
            parser.Parse(block)
            read += len(block)
            if read - parser.CurrentByteIndex > LARGEST_TOKEN or taken.depth > DEEPEST or len(names) > MOST_NAMES:
                raise FileError(TOO_LARGE)
            yield from taken.ended
            taken.ended.clear()
        parser.Parse(b"", True)  # noqa: FBT003 - its own signature
        yield from taken.ended

    def mentions(self, name: str, word: bytes) -> bool:
        """Return whether a block of a part has this word, also in UTF-16, in little of the time its elements take."""
        return any(word in block.replace(b"\0", b"") for block in self._blocks(name))

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


class _Handlers:
    """What expat is asked to call; `ended` are the elements of the wanted names."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self.ended: list[Element] = []
        self.depth = self._level = 0
        self._names = _Names(wanted)
        self._outside = self._current = Element("", {})

    def start(self, name: str, attributes: Attributes) -> None:
        name, level, is_wanted = self._names[name]
        self.depth += 1
        self._level += level
        if is_wanted:
            if self._current is not self._outside:
                self.ended.append(self._current)
            self._current = Element(name, attributes)
        elif name in NOTED:
            self._current.inside |= {name}

    def end(self, name: str) -> None:
        name, level, _ = self._names[name]
        self.depth -= 1
        self._level -= level
        if name == self._current.name:
            self.ended.append(self._current)
            self._current = self._outside

    def add_text(self, text: str) -> None:
        if self._level > 0 and self._current is not self._outside:
            self._current.text += text
            if len(self._current.text) > LONGEST_TEXT:
                raise FileError(TOO_LARGE)


class _Names(dict[str, tuple[str, int, bool]]):
    """Finds under `x:row` its name without the prefix, its level, and whether it is wanted."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted

    def __missing__(self, name: str) -> tuple[str, int, bool]:
        local = name.rpartition(":")[2]
        found = self[name] = local, LEVELS.get(local, 0), local in self._wanted
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


def numeral(text: str) -> str:
    """Return the text of a number; raises `ValueError` for `1_0` and digits beyond ASCII, which Python would take."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def whole(text: str) -> int:
    """Return an integer of XML; raises `ValueError`."""
    return int(numeral(text))


MOST_STRINGS, MOST_STYLES, MOST_ENTRIES, LONGEST_ENTRY = 2**22, 2**16, 10_000, 255
"""What is held in memory: the places of shared strings, styles, and what a workbook has names for."""


class Relations(dict[str, tuple[str, str]]):
    """The parts that a part refers to: kind and name, by the ID of the reference."""

    def __init__(self, package: Package, part: str) -> None:
        self._has = package.has
        folder, name = posixpath.split(part)
        for each in package.elements(posixpath.join(folder, "_rels", f"{name}.rels"), "Relationship"):
            attributes = each.attributes
            if attributes.get("TargetMode") != "External":
                name = posixpath.join("/", folder, attributes["Target"].replace("\\", "/"))
                target = attributes["Type"].rpartition("/")[2], posixpath.normpath(name)
                _reject_too_many(self, attributes["Id"], *target)
                self[attributes["Id"]] = target

    def first(self, kind: str) -> str | None:
        """Return the first part of this kind that is there, None for none."""
        return next((name for each, name in self.values() if each == kind and self._has(name)), None)


class Book:
    """The workbook itself: its sheets in their order, and which parts it has."""

    def __init__(self, package: Package, strings_file: IO[bytes]) -> None:
        """Begin to read; the caller closes the file."""
        self.package, self._strings_file = package, strings_file
        self.sheets: dict[str, tuple[str, bool]] = {}  # by its name: the part that a sheet is, and whether it is hidden
        part = Relations(package, "").first("officeDocument") or ""
        self.relations = Relations(package, part)
        for each in package.elements(part, "sheet"):
            identifier = next((value for key, value in each.attributes.items() if key.rpartition(":")[2] == "id"), "")
            kind, part = self.relations[identifier]
            if kind == "worksheet":  # and no chart
                name = each.attributes["name"]
                _reject_too_many(self.sheets, name)
                self.sheets[name] = part, each.attributes.get("state") in {"hidden", "veryHidden"}

    @functools.cached_property
    def strings(self) -> "Strings":
        return Strings(self.package, self.relations.first("sharedStrings"), self._strings_file)

    @functools.cached_property
    def styles(self) -> "Styles":
        return Styles(self.package, self.relations.first("styles"))


class Styles:
    """The number formats, by the styles of cells."""

    def __init__(self, package: Package, part: str | None) -> None:
        self._codes = dict(BUILT_IN)
        self._styles = array("L")
        of_cells = False
        for each in package.elements(part, "numFmt", "cellXfs", "cellStyleXfs", "xf"):
            if each.name == "numFmt":
                number, code = each.attributes["numFmtId"], each.attributes.get("formatCode", "")
                _reject_too_many(self._codes, number, code)
                self._codes[whole(number)] = code
            elif each.name != "xf":
                of_cells = each.name == "cellXfs"
            elif of_cells:
                if len(self._styles) >= MOST_STYLES:
                    raise FileError(TOO_LARGE)
                self._styles.append(whole(each.attributes.get("numFmtId", "0")))

    @functools.lru_cache(maxsize=1_000)  # noqa: B019 - it lives as long as the file is read
    def format(self, style: int) -> NumberFormat:
        """Return the number format of a style, General for one that is not there."""
        number = self._styles[style] if 0 <= style < len(self._styles) else 0
        return NumberFormat(self._codes.get(number, f"built-in {number}"))


class Strings:
    """The strings that cells share, in a file: there can be more than fit into memory."""

    def __init__(self, package: Package, part: str | None, file: IO[bytes]) -> None:
        self._file = file
        self._ends = array("Q", [0])
        for each in package.elements(part, "si"):
            if len(self._ends) > MOST_STRINGS:
                raise FileError(TOO_LARGE)
            self._ends.append(self._ends[-1] + file.write(each.text.encode()))
        file.flush()

    def __getitem__(self, number: int) -> str:
        if number < 0:
            raise IndexError
        start, end = self._ends[number : number + 2]
        return os.pread(self._file.fileno(), end - start, start).decode()


def _reject_too_many(entries: Sized, *texts: str) -> None:
    if len(entries) >= MOST_ENTRIES or max(map(len, texts)) > LONGEST_ENTRY:
        raise FileError(TOO_LARGE)
