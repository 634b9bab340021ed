"""What can be wrong with a file as a whole, and with one row of it."""

import json
from dataclasses import dataclass
from typing import Any

VALIDATION_FAILED, MALFORMED_JSON = "validation_failed", "malformed_json"  # the API's codes (docs/api.md)


class ImportRejectedError(Exception):
    """The import cannot be done; nothing was written. The text is for the person who started it."""


class FileError(ImportRejectedError):
    """The file cannot be read on, whatever the options."""


class HeaderError(FileError):
    """The columns of the file are not those of an import."""


class UndecodableError(FileError):
    """Not all of the file is text in UTF-8, and nothing says what else it is."""


class AlreadyImportedError(ImportRejectedError):
    """The same file would add the same animals a second time."""


class BusyError(ImportRejectedError):
    """Another import or undo is running."""


class LockedError(ImportRejectedError):
    """Something else kept the database, or what is written, locked for longer than a statement waits."""


class OutcomeUnknownError(Exception):
    """The database does not respond, so it is not known whether the last COMMIT was done."""

    def __init__(self, run: int) -> None:
        super().__init__(
            f"The database was lost while import {run} was being saved or undone, so it is not known whether it was. "
            "When the database responds again, list_imports shows its result."
        )
        self.run = run


SHOWN = 40  # characters of a value that are shown


@dataclass(frozen=True, slots=True)
class RowError:
    """What is wrong with one row; `field` is empty if it is the row as a whole."""

    line: int
    field: str
    message: str
    code: str = VALIDATION_FAILED
    value: str | None = None  # the beginning of what the file says, if that is what is wrong
    is_text: bool = True  # whether it is text, which is shown in quotes

    @property
    def sentence(self) -> str:
        """Return the message as the API words it, the field in front."""
        return f"{self.field} {self.message}".lstrip()

    @property
    def text(self) -> str:
        """Return the message for people, with the value."""
        if self.value is None:
            return self.sentence
        shown = f'"{self.value}"' if self.is_text else self.value
        return f"{self.field} {shown} {self.message}"

    def as_json(self) -> dict[str, int | str]:
        """Return it for a machine; `value` is left out if there is none."""
        value = {} if self.value is None else {"value": self.value}
        return {"line": self.line, "field": self.field, "code": self.code, "message": self.sentence, **value}


def error_in(line: int, field: str, message: str, value: Any) -> RowError:
    """Return the error of a value: text, or what JSON has."""
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False, default=float)
    return RowError(line, field, message, value=printable(text), is_text=is_text)


def quoted(text: str) -> str:
    """Return the text in quotes, shortened, as it can be printed in one line."""
    return f'"{printable(text)}"'


def printable(text: str, most: int = SHOWN) -> str:
    """Return the text, shortened, with what cannot be printed replaced."""
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text[:most])
    return f"{shown}…" if len(text) > most else shown
