"""A file of secrets: written once, for its owner alone, and on the disk before anything is committed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commands.exits import Exit, ExitError


@contextmanager
def removed_if_it_fails(path: Path) -> Iterator[None]:
    """Remove the file if the block, which writes it, fails: what it says never came true."""
    is_ours = False
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        is_ours = True
        yield
    except FileExistsError:
        raise ExitError(f"Nothing changed. {path} exists. Name a new file.") from None
    except BaseException as error:
        if is_ours:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            message = f"Nothing changed. {path} cannot be written: {error.strerror}."
            raise ExitError(message, status=Exit.FAILED) from None
        raise


def write(path: Path, text: str) -> None:
    """Write the text. Return when the disk has it, and the name of the file. Raises `OSError`."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
