"""Places to serve in: one worker more than there are places waits, loaded, for the end of another one.

gunicorn's master imports this file, so that it must not import ours.
"""

import fcntl
import os
from tempfile import TemporaryFile


class Places:
    """As many places as workers serve. The kernel frees the place of a process that ends, however it ends."""

    def __init__(self, number: int) -> None:
        """Make them, before the workers that share them are forked."""
        self._number = number
        self._file = TemporaryFile()  # noqa: SIM115 - it lasts as long as the workers

    def take(self) -> bool:
        """Take a free place for this process, if there is one."""
        return any(self._is_taken(place) for place in range(self._number))

    def leave(self) -> None:
        """Free the place of this process, which goes on with the requests that it has."""
        fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _is_taken(self, place: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place, os.SEEK_SET)
        except OSError:
            return False
        return True
