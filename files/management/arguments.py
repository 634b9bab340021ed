"""Arguments that commands about files share."""

from argparse import ArgumentTypeError
from pathlib import Path


def new_file(text: str) -> Path:
    """Return the path of a file to write; raises `ArgumentTypeError` for an empty one."""
    if not text:
        message = "must be the name of a new file."
        raise ArgumentTypeError(message)
    return Path(text)


def import_number(text: str) -> int:
    """Return the number of an import; raises `ArgumentTypeError`."""
    if not text.isdecimal():
        message = "must be the number of an import, as list_imports shows it."
        raise ArgumentTypeError(message)
    return int(text)
