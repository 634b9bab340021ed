"""Files that are there whole or not at all: exports, and the rejects of an import."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

BLOCK = 2**20


class FileInTheWayError(Exception):
    """The file is there already, or is nothing that can be replaced."""


class WholeFile:
    """A file beside its place until `publish`, or the end of the `with` block, gives it its name; else nothing is left.

    A file that is replaced passes on its permissions; a symbolic link stays and what it points at is replaced. A
    process that is killed leaves a `.part`.
    """

    def __init__(self, path: Path, *, replace: bool) -> None:
        """Open `file` in the folder of `path`; raises `FileInTheWayError` and `OSError`."""
        self._path = Path(os.path.realpath(path))
        self._replace = replace
        self.published = False
        _reject_what_is_in_the_way(self._path, replace=replace)
        # `tempfile` would hide it from those whom the umask lets read it.
        self._part = self._path.with_name(f".petstore-{secrets.token_hex(8)}.part")
        descriptor = os.open(self._part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        self.file: BinaryIO = os.fdopen(descriptor, "wb", buffering=BLOCK)

    def __enter__(self) -> BinaryIO:
        return self.file

    def __exit__(self, error: object, *_of_it: object) -> None:
        """Raise as `publish` does, if another program was faster."""
        try:
            if error is None:
                self.publish()
        finally:
            self.close()

    def publish(self) -> None:
        """Give the file its name, both on the disk when this returns; raises `FileInTheWayError` and `OSError`."""
        self.file.flush()
        mode = _reject_what_is_in_the_way(self._path, replace=self._replace)
        if mode is not None:
            os.fchmod(self.file.fileno(), stat.S_IMODE(mode))
        os.fsync(self.file.fileno())  # or a power cut could leave the name and no content
        self._part.replace(self._path)
        self.published = True
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def withdraw(self) -> None:
        """Remove the file if it was published."""
        if self.published:
            self.published = False
            with suppress(OSError):
                self._path.unlink()

    def close(self) -> None:
        """Close it; nothing is left of a file that was not published."""
        with suppress(OSError):  # of a full disk, for what is thrown away
            self.file.close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)


def _reject_what_is_in_the_way(path: Path, *, replace: bool) -> int | None:
    """Return the mode of the file that is replaced, or None if there is none."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        message = "is not a file that can be replaced."
        raise FileInTheWayError(message)
    if not replace:
        message = "exists already. Nothing was written. To replace it: --force"
        raise FileInTheWayError(message)
    return mode
