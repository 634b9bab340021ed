"""What the commands for files share: arguments, and how an import or an undo ends."""

import re
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager

from commands.exits import Exit, ExitError
from files.errors import BusyError, ImportRejectedError, OutcomeUnknownError
from files.stopping import stoppable, too_late

STOPPED = "Stopped. Nothing changed."


def count(text: str) -> int:
    """Return the number from 1 on that an argument writes."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ArgumentTypeError("must be a number from 1 on.")
    return int(text)


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
