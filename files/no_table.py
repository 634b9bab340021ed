"""Says of a file that holds no table what it is, by its content: the ending of its name can be wrong."""

import re
from collections.abc import Callable

from files.errors import FileError

SAVE = "Open it in a spreadsheet program and save it as .xlsx, or as CSV."
STARTS: dict[bytes | tuple[bytes, ...], str] = {
    b"\xd0\xcf\x11\xe0\xa1\xb1": f"an old workbook (.xls), or one with a password. {SAVE[:-1]}, without a password.",
    b"%PDF": "a PDF. Ask its sender for the table as .xlsx or CSV.",
    (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"): "a picture. Import the table as .xlsx or CSV.",
    b"Rar!\x1a": "an archive (RAR). Unpack it and import a file from it.",
    b"7z\xbc\xaf": "an archive (7z). Unpack it and import a file from it.",
    b"BZh": "compressed with bzip2. Unpack it, or compress it with gzip.",
    b"\xfd7zXZ": "compressed with xz. Unpack it, or compress it with gzip.",
    b"(\xb5/\xfd": "compressed with zstd. Unpack it, or compress it with gzip.",
    b"SQLite format 3": "an SQLite database. Export the table as CSV.",
    b"\0\1\0\0Standard ": "an Access database. Export the table as CSV.",
    b"{\\rtf": "a text document (RTF). Import the table as .xlsx or CSV.",
}
DRAWN = "-+|=:─━═│┃┌┐├┤┬┼╭╮╔╗╦ "
TEXTS = {
    r"<(!doctype html|html|head|meta|table|style|tr)\b": f"a web page (HTML). {SAVE}",
    r"<(\?xml|workbook)": f"XML. {SAVE}",
    r"(--\n)?-- (postgresql|mysql|mariadb|sqlite)|create table|insert into": (
        "a dump of a database (SQL). Export the table as CSV."
    ),
    rf"(.*\n)?(?=.*(---|───|━━━|═══))[{DRAWN}]+(\n|$)": "a table drawn with lines. Export it as CSV.",
    r"table\n0,1\n|id;p\w*(;\w*)*\n[a-z];": f"a spreadsheet in an old format (DIF or SYLK). {SAVE}",
}
"""By what matches the beginning, in lower case."""

MOST_CONTROLS = 3

PARTS = {
    "content.xml": f"an OpenDocument file (.ods). {SAVE}",
    "xl/workbook.bin": f"a binary workbook (.xlsb). {SAVE}",
    "index/document.iwa": "a Numbers file. Export it as Excel or CSV.",
    "word/document.xml": "a text document (.docx). Import the table as .xlsx or CSV.",
}


def reject_other_bytes(start: bytes) -> None:
    """Raise `FileError` for a file that begins like something else than a table."""
    _reject(next((what for mark, what in STARTS.items() if start.startswith(mark)), None))


def reject_binary(start: bytes) -> None:
    """Raise `FileError` for a file with more control characters than text can have by mistake."""
    controls = sum(byte < 0x20 and byte not in b"\t\n\f\r\x1b" for byte in start)
    _reject(
        "a binary file. Import the table as .xlsx or CSV." if controls > max(MOST_CONTROLS, len(start) / 20) else None
    )


def reject_other_text(text: str) -> None:
    """Raise `FileError` for text that begins like something else than a table."""
    begins = text.lstrip().lower().replace("\r", "")
    _reject(next((what for pattern, what in TEXTS.items() if re.match(pattern, begins)), None))


def reject_other_archive(has_part: Callable[[str], bool]) -> None:
    """Raise `FileError` for a zip file that is no workbook."""
    _reject(next((what for part, what in PARTS.items() if has_part(part)), None))
    if not has_part("_rels/.rels"):
        _reject("a zip file without a workbook. Unpack it and import a file from it.")


def _reject(what: str | None) -> None:
    if what is not None:
        message = f"This is {what}"
        raise FileError(message)
