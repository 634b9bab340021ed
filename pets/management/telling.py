"""How the long commands of animals speak: to a machine one object whatever happens; and nobody needs to listen."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import BaseCommand, CommandError

from pets.importing.errors import ImportRefusedError

STOPPED = 130
"""The exit status that a shell has for what SIGINT ended."""


def tell(command: BaseCommand, text: str) -> None:
    """Write `text` to standard output; what was done stays done if that is closed or full."""
    try:
        command.stdout.write(text)
        command.stdout.flush()
    except (OSError, AttributeError):  # AttributeError: Python has no sys.stdout if it began closed
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its end


@contextmanager
def refusals(command: BaseCommand, *, as_json: bool, stopped: str) -> Iterator[None]:
    """Turn what ends the work in this block into a `CommandError`; `stopped` is the sentence for Ctrl-C."""

    def told(state: str, message: str) -> None:
        if as_json:
            tell(command, json.dumps({"state": state, "message": message}))

    try:
        yield
    except ImportRefusedError as error:
        told("refused", str(error))
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:
        told("stopped", stopped)
        raise CommandError(stopped, returncode=STOPPED) from None
    except Exception as error:
        told("failed", f"{type(error).__name__}; list_imports says what became of it.")
        raise
