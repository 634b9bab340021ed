"""What can be wrong with a file as a whole, and with one row of it."""

from dataclasses import dataclass

VALIDATION_FAILED, MALFORMED_JSON = "validation_failed", "malformed_json"
"""The API's codes (docs/api.md)."""


class ImportRefusedError(Exception):
    """The import cannot be done; nothing was written. The text is for the person who started it."""


class FileError(ImportRefusedError):
    """The file cannot be read on, whatever the options."""


class AlreadyImportedError(ImportRefusedError):
    """The same file would add the same animals a second time."""


class BusyError(ImportRefusedError):
    """Another import or undo is running."""


class OutcomeUnknownError(Exception):
    """The database does not answer, so nobody knows whether the last COMMIT was done."""


@dataclass(frozen=True, slots=True)
class RowError:
    """What is wrong with one row; `member` is empty if it is the row as a whole."""

    line: int
    member: str
    message: str
    code: str = VALIDATION_FAILED

    @property
    def sentence(self) -> str:
        """Return the message as the API words it, the member in front."""
        return f"{self.member} {self.message}".lstrip()

    def as_json(self) -> dict[str, int | str]:
        """Return the four things that are told of an error."""
        return {"line": self.line, "member": self.member, "code": self.code, "message": self.sentence}
