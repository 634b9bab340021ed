"""Files that are there whole or not at all: exports, and what an import writes beside the catalogue."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from files.errors import ImportRejectedError, printable
from files.source import Source

BLOCK = 2**20


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
    """A file beside its place until `publish` gives it its name. A process that is killed leaves a `.part`."""

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

    def publish(self) -> None:
        """Give the file its name, both on the disk when this returns; raises `FileInTheWayError` and `OSError`."""
        if self.published:
            return
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
        """Remove the published file."""
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


IN_THE_WAY = "{path} exists already. Choose another name."
NO_FOLDER = "The working folder no longer exists. Change to another folder."


class NewFile:
    """A file that `publish` gives its name; it is removed again when the `with` block ends, unless it is `kept`."""

    def __init__(self, path: Path, source: Source | None = None) -> None:
        """Raise `ImportRejectedError`, before anything is read, if no file can be written there.

        `source`: the file that is imported.
        """
        try:
            self.path = path.absolute()
        except FileNotFoundError:
            raise ImportRejectedError(NO_FOLDER) from None
        self.kept = False
        self._whole: WholeFile | None = None
        with self.sentences():
            self._reject_unusable(source)
            self._reject_what_is_in_the_way()

    def open(self) -> BinaryIO:
        """Open it, still beside its place."""
        with self.sentences():
            self._whole = WholeFile(self.path, replace=self.path.exists())
        return self._whole.file

    def publish(self) -> None:
        """Give it its name, complete and on the disk; raises `ImportRejectedError` if that cannot be done."""
        if self._whole is not None:
            with self.sentences():
                if not self._whole.published:
                    self._reject_what_is_in_the_way()  # someone may have written it since
                self._whole.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it, and remove it unless it is kept; nothing here can fail."""
        if self._whole is not None:
            if not self.kept:
                self._whole.withdraw()
            self._whole.close()

    def may_replace(self) -> bool:
        """Return whether the file that is there can go."""
        return False

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn what writing it can raise into an `ImportRejectedError`."""
        try:
            yield
        except FileInTheWayError:
            raise ImportRejectedError(IN_THE_WAY.format(path=self.path)) from None
        except OSError as error:
            message = f"{printable(str(self.path), 200)} cannot be written: {error.strerror or error}."
            raise ImportRejectedError(message) from None

    def _reject_unusable(self, source: Source | None) -> None:
        path = self.path
        try:
            str(path).encode()
        except UnicodeEncodeError:
            message = f"The name {printable(str(path))} is not UTF-8. Choose another name."
            raise ImportRejectedError(message) from None
        if path.is_dir():
            message = f"{path} is a folder. Name a new file in it."
        elif source is not None and source.is_at(path):
            message = f"{path} is the file that is imported. Choose another name."
        elif path.exists() and not path.is_file():
            message = f"{path} is a device or a pipe. Name a new file."
        elif not path.parent.is_dir():
            message = f"The folder of {path} does not exist."
        else:
            return
        raise ImportRejectedError(message)

    def _reject_what_is_in_the_way(self) -> None:
        if self.path.exists() and not self.may_replace():
            raise ImportRejectedError(IN_THE_WAY.format(path=self.path))
