"""What commands about files share: arguments, and how an import or an undo ends its command."""

from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandParser

from commands.exits import Exit, ExitError
from files.errors import BusyError, ImportRejectedError, OutcomeUnknownError
from files.stopping import stoppable, too_late


def new_file(text: str) -> Path:
    """Return the path of a file to write; raises `ArgumentTypeError` for an empty one."""
    if not text:
        message = "must be the name of a new file."
        raise ArgumentTypeError(message)
    return Path(text)


def add_changes(parser: CommandParser) -> None:
    """Add `--changes`, for all changes of an import."""
    parser.add_argument(
        "--changes",
        type=new_file,
        metavar="NEWFILE",
        help="Write every change of a field to this file: CSV, or JSON lines if its name ends in .jsonl.",
    )


def add_run(parser: CommandParser) -> None:
    """Add `run`, the number of an import."""
    parser.add_argument(
        "run", type=_import_number, metavar="RUN", help="The number of the import, as list_imports shows it."
    )


def _import_number(text: str) -> int:
    if not text.isdecimal():
        message = "must be the number of an import, as list_imports shows it."
        raise ArgumentTypeError(message)
    return int(text)


STOPPED = "Stopped. Nothing changed."


@contextmanager
def ending() -> Iterator[None]:
    """Let signals stop the block until its work is saved, and turn what ends it early into an `ExitError`."""
    with stoppable():
        try:
            yield
        except BusyError as error:
            raise ExitError(str(error), status=Exit.BUSY) from None
        except ImportRejectedError as error:
            raise ExitError(str(error), status=Exit.REJECTED) from None
        except OutcomeUnknownError as error:
            raise ExitError(str(error), status=Exit.FAILED, result={"state": "unknown", "import": error.run}) from None
        except KeyboardInterrupt:
            raise ExitError(STOPPED, status=Exit.STOPPED) from None
        finally:
            too_late()
