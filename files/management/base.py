"""What the commands for files share: arguments, progress, and how an import or an undo ends."""

import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Any

from commands.exits import Exit, ExitError
from files.errors import BusyError, ImportRejectedError, OutcomeUnknownError
from files.progress import Note
from files.stopping import stoppable, too_late

STOPPED = "Stopped. Nothing changed."
PHASES = {"read": "Reading (1 of 2)", "check": "Checking (2 of 2)", "write": "Writing (2 of 2)"}


def count(text: str) -> int:
    """Return the number from 1 on that an argument writes."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ArgumentTypeError("must be a number from 1 on.")
    return int(text)


@contextmanager
def counting(what: str, unit: str, *, shown: bool) -> Iterator[Callable[[int], Any]]:
    """Yield what counts units that are done, and shows how many on a terminal."""
    with _bar(shown=shown, desc=what, unit=f" {unit}") as bar:
        yield int if bar is None else bar.update


@contextmanager
def noting(*, shown: bool) -> Iterator[Note]:
    """Yield what shows the notes of a `Progress` on a terminal."""
    with _bar(shown=shown, total=1, bar_format="{desc}|{bar}|") as bar:

        def note(*, phase: str, rows: int, left: float, share: float = 1) -> None:
            if bar is not None:
                bar.n = share if rows else 0
                about = f", about {left:.0f} s{' left' if phase == 'read' else ''}" if left > 0 else ""
                bar.set_description_str(f"{PHASES[phase]}: {rows:,} rows{about} ")

        yield note


@contextmanager
def _bar(*, shown: bool, **options: Any) -> Iterator[Any]:
    """Yield tqdm's bar on standard error, or None if that is no terminal."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    from tqdm import tqdm  # noqa: PLC0415 - it takes a fifth of the start

    columns, rows = get_terminal_size()  # the usual ones if the terminal has none: tqdm would show nothing
    with tqdm(file=sys.stderr, leave=False, ncols=columns, nrows=rows, **options) as bar:
        yield bar


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
