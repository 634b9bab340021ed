"""Whether what is on disk can be loaded, as the last process that tried it found."""

import os


class LastLoad:
    """How the last attempt to load the application ended, in a file that the master shares with all its processes.

    The file is empty until a worker has loaded. The master keeps it when a reload brings new code.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    def is_known(self) -> bool:
        return os.fstat(self._file).st_size > 0

    def has_failed(self) -> bool:
        return os.pread(self._file, 1, 0) == b"0"

    def is_awaited(self) -> bool:
        """Return whether a worker is being replaced, and the new one has not loaded yet."""
        return os.pread(self._file, 1, 0) == b"?"

    def begin_replacement(self) -> bool:
        """Return whether a worker may end: another one could take its place, and none is being replaced already."""
        if os.pread(self._file, 1, 0) != b"1":
            return False
        os.pwrite(self._file, b"?", 0)  # until the other one has loaded, or failed
        return True

    def note(self, *, failed: bool) -> None:
        os.pwrite(self._file, b"0" if failed else b"1", 0)
