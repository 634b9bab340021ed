"""What is read of the parts of a workbook (ECMA-376 part 1, chapter 18): each from a `Package`."""

import functools
import os
import posixpath
from array import array
from collections.abc import Sized
from typing import IO

from files.errors import FileError
from files.readers.number_formats import BUILT_IN, NumberFormat
from files.readers.package import TOO_LARGE, Package, is_true, whole

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

    def __init__(self, package: Package) -> None:
        self.sheets: dict[str, tuple[str, bool]] = {}  # by its name: the part that a sheet is, and whether it is hidden
        self.from_1904 = False
        part = Relations(package, "").first("officeDocument") or ""
        self.relations = Relations(package, part)
        for each in package.elements(part, "sheet", "workbookPr"):
            if each.name == "workbookPr":
                self.from_1904 = is_true(each, "date1904")
                continue
            identifier = next((value for key, value in each.attributes.items() if key.rpartition(":")[2] == "id"), "")
            kind, part = self.relations[identifier]
            if kind == "worksheet":  # and no chart
                name = each.attributes["name"]
                _reject_too_many(self.sheets, name)
                self.sheets[name] = part, each.attributes.get("state") in {"hidden", "veryHidden"}


class Styles:
    """The number formats, by the styles of cells."""

    def __init__(self, package: Package, book: Book) -> None:
        self._codes = dict(BUILT_IN)
        self._styles = array("L")
        self._from_1904 = book.from_1904
        of_cells = False
        for each in package.elements(book.relations.first("styles"), "numFmt", "cellXfs", "cellStyleXfs", "xf"):
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
        return NumberFormat(self._codes.get(number, f"built-in {number}"), from_1904=self._from_1904)


class Strings:
    """The strings that cells share, in a file: there can be more than fit into memory."""

    def __init__(self, package: Package, book: Book, file: IO[bytes]) -> None:
        self._file = file
        self._ends = array("Q", [0])
        for each in package.elements(book.relations.first("sharedStrings"), "si"):
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
