"""Arguments that commands about files share."""

from argparse import ArgumentTypeError
from pathlib import Path


def new_file(text: str) -> Path:
    """Return the path of a file to write; raises `ArgumentTypeError` for an empty one."""
    if not text:
        message = "must be the name of a new file."
        raise ArgumentTypeError(message)
    return Path(text)
