"""A file that is there whole, or not at all."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

BLOCK = 2**20


class FileInTheWayError(Exception):
    """The file is there already, or is nothing that can be replaced."""


@contextmanager
def whole_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Give a file to write that is called `path` once the block has ended well; else nothing of it is left.

    Until then its name is `.….part`, in the same folder. A file that is replaced passes on its permissions; a
    symbolic link stays and what it points at is replaced. Raises `FileInTheWayError` before the block, and after it if
    another program was faster; `OSError` as the operating system does.
    """
    path = Path(os.path.realpath(path))
    _refuse_what_is_in_the_way(path, replace=replace)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb", buffering=BLOCK) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # or a power cut could leave the name and no content
        if _refuse_what_is_in_the_way(path, replace=replace):
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _refuse_what_is_in_the_way(path: Path, *, replace: bool) -> bool:
    """Return whether there is a file that may be replaced."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        message = "is not a file that can be replaced."
        raise FileInTheWayError(message)
    if not replace:
        message = "exists already. Nothing was written; --force replaces it."
        raise FileInTheWayError(message)
    return True
