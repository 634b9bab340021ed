"""The exit statuses of our commands, and the exception that sets them."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError


class Exit(IntEnum):
    """How a command ends. Scripts branch on these numbers, so they never change."""

    DONE = 0
    FAILED = 1
    """The database, the disk or a bug of ours."""
    USAGE = 2
    """The command line is wrong; nothing was tried."""
    REJECTED = 3
    """Valid, but not allowed in the current state. Nothing changed."""
    DONE_WITH_REJECTED_ROWS = 4
    ALREADY_IMPORTED = 5
    BUSY = 6
    """Another import or undo is running."""
    STOPPED = 130
    """What a shell reports after SIGINT."""
    BROKEN_PIPE = 141
    """What a shell reports after SIGPIPE."""

    @property
    def state(self) -> str:
        """The `state` that `--json` shows."""
        return self.name.lower()


class ExitError(CommandError):
    """End the command: print `message` on standard error and, with `--json`, an object on standard output.

    The object has `state` and `message`, and what `result` adds or replaces; a list is printed instead of it.
    """

    def __init__(
        self, message: str = "", *, status: Exit = Exit.REJECTED, result: dict[str, Any] | list[Any] | None = None
    ) -> None:
        super().__init__(message, returncode=status)
        self.result = {} if result is None else result


def usage_error(error: ValidationError, arguments: Mapping[str, str]) -> ExitError:
    """Return the error for arguments whose values a model rejects: one line each. `arguments` has them by field."""
    lines = [f"argument {arguments[field]}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
    return ExitError("\n".join(lines), status=Exit.USAGE)
