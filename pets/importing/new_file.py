"""The files that an import writes: what is wrong with their names is said before anything is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pets.files import FileInTheWayError
from pets.importing.errors import ImportRejectedError, printable
from pets.importing.source import Source

IN_THE_WAY = "{path} exists already. Choose another name."
NO_FOLDER = "The working folder no longer exists. Change to another folder."


def absolute(path: Path) -> Path:
    """Return the path from the root; raises `ImportRejectedError`."""
    try:
        return path.absolute()
    except FileNotFoundError:
        raise ImportRejectedError(NO_FOLDER) from None


def reject_unusable(path: Path, source: Source | None) -> None:
    """Raise `ImportRejectedError` if no file can be written there, or if it is the file that is imported.

    Whether there is another file in the way is for the caller.
    """
    with sentences(path):
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


@contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Turn what writing the file can raise into an `ImportRejectedError`."""
    try:
        yield
    except FileInTheWayError:
        raise ImportRejectedError(IN_THE_WAY.format(path=path)) from None
    except OSError as error:
        message = f"{printable(str(path), 200)} cannot be written: {error.strerror or error}."
        raise ImportRejectedError(message) from None
