"""A file that is there whole, or not at all."""

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

BLOCK = 2**20
PART = ".petstore-", ".part"
"""How the name of an unfinished file begins and ends, where the file system has no files without a name."""

STALE_SECONDS = 60
NO_NAMELESS_FILES = {errno.EISDIR, errno.EOPNOTSUPP, errno.EINVAL}


class FileInTheWayError(Exception):
    """The file is there already, or is nothing that can be replaced."""


@contextmanager
def whole_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Give a file to write that is called `path` once the block has ended well; else nothing of it is left.

    A file that is replaced passes on its permissions; a symbolic link stays and what it points at is replaced. Raises
    `FileInTheWayError` before the block, and after it if another program was faster; `OSError` as the operating system
    does.
    """
    whole = WholeFile(path, replace=replace)
    try:
        yield whole.file
        whole.publish()
    finally:
        whole.close()


class WholeFile:
    """A file without a name, so that a killed process leaves nothing, until `publish` gives it one."""

    def __init__(self, path: Path, *, replace: bool) -> None:
        """Open `file` in the folder of `path`; raises `FileInTheWayError` and `OSError`."""
        self._path = Path(os.path.realpath(path))
        self._replace = replace
        self.published = False
        _reject_what_is_in_the_way(self._path, replace=replace)
        self._folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _remove_stale_parts(self._path.parent)
            self._part: str | None = None
            descriptor = _nameless(self._path.parent)
            if descriptor is None:
                self._part = _new_part()
                descriptor = os.open(self._part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666, dir_fd=self._folder)
        except OSError:
            os.close(self._folder)
            raise
        with suppress(OSError):  # some network disks have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # a part that is locked is not stale
        self.file: BinaryIO = os.fdopen(descriptor, "wb", buffering=BLOCK)

    def publish(self) -> None:
        """Give the file its name, both on the disk when this returns; raises `FileInTheWayError` and `OSError`."""
        if self.published:
            return
        self.file.flush()
        mode = _reject_what_is_in_the_way(self._path, replace=self._replace)
        if mode is not None:
            os.fchmod(self.file.fileno(), stat.S_IMODE(mode))
        os.fsync(self.file.fileno())  # or a power cut could leave the name and no content
        self._give_name()
        self.published = True
        os.fsync(self._folder)

    def withdraw(self) -> None:
        """Remove the published file."""
        if self.published:
            self.published = False
            with suppress(OSError):
                os.unlink(self._path.name, dir_fd=self._folder)

    def close(self) -> None:
        """Close it; nothing is left of a file that was not published."""
        with suppress(OSError):  # of a full disk, for what is thrown away
            self.file.close()
        if self._part is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._part, dir_fd=self._folder)
        os.close(self._folder)

    def _give_name(self) -> None:
        name = self._path.name
        if self._part is None and not self._replace:
            try:
                self._link(name)
            except FileExistsError:
                _reject_what_is_in_the_way(self._path, replace=False)
            return
        if self._part is None:
            self._part = _new_part()
            self._link(self._part)
        os.replace(self._part, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._part = None

    def _link(self, name: str) -> None:
        """Name the file without a name (open(2), O_TMPFILE); Python follows the link only if it is given a folder."""
        os.link(f"/proc/self/fd/{self.file.fileno()}", name, dst_dir_fd=self._folder, follow_symlinks=True)


def _nameless(folder: Path) -> int | None:
    """Return the descriptor of a new file without a name, or None where there are none (Linux has, on most disks)."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno in NO_NAMELESS_FILES:
            return None
        raise


def _new_part() -> str:
    return secrets.token_hex(8).join(PART)


def _remove_stale_parts(folder: Path) -> None:
    """Remove what killed processes left: parts that nobody has locked and nobody wrote to for a minute."""
    for path in folder.glob("*".join(PART)):
        with suppress(OSError), path.open("rb") as part:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


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
