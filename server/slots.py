"""Slots for workers: one worker more than there are slots waits, loaded, for the end of another one."""

import fcntl
import os
from tempfile import TemporaryFile


class WorkerSlots:
    """As many slots as workers serve. The kernel frees the slot of a process that ends, however it ends."""

    def __init__(self, number: int) -> None:
        """Make them, before the workers that share them are forked."""
        self._number = number
        self._file = TemporaryFile()  # noqa: SIM115 - it lasts as long as the workers

    def take(self) -> bool:
        """Take a free slot for this process, if there is one."""
        return any(self._is_taken(slot) for slot in range(self._number))

    def leave(self) -> None:
        """Free the slot of this process, which goes on with the requests that it has."""
        fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _is_taken(self, slot: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot, os.SEEK_SET)
        except OSError:
            return False
        return True
