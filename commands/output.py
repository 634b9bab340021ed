"""Write to a standard output that may be closed, full or an unread pipe."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, NoReturn, TextIO

from django.core.management.base import OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder

from commands.exits import Exit, ExitError


def to_json(value: Any) -> str:
    """Return a value as one line of JSON; times are ISO 8601 in UTC."""
    return json.dumps(value, cls=DjangoJSONEncoder)


def keep_descriptors() -> None:
    """Open what the shell closed (`>&-`), or the next file opened, perhaps the database, becomes standard output.

    A closed standard output then fails at each write, as gnulib's `stdopen` does it; a closed standard error is silent.
    What standard output cannot show, such as the name of a file that is not UTF-8, is shown escaped.
    """
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_RDWR)):
        if getattr(sys, name) is None:  # the lowest number that is free is its own
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def printed() -> Iterator[None]:
    """End the process like a shell tool if standard output, which this block prints to, is closed or full."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError) and (error.filename is not None or _can_be_written(sys.stdout)):
            raise  # it is about another file
        failure = _unwritable(error, sys.stdout)
        end(str(failure), Exit(failure.returncode))


def _can_be_written(out: TextIO) -> bool:
    try:
        out.flush()
        os.write(out.fileno(), b"\n")  # after an error, there may be nothing left to flush
    except OSError:
        return False
    return True


def write(out: OutputWrapper, text: str) -> None:
    """Write `text` and return only when it has left the process, and is on the disk if `out` is a file.

    Raises `ExitError`; nothing can be written after that.
    """
    try:
        out.write(text)
        out.flush()
        _sync(out)
    except OSError as error:
        raise _unwritable(error, out) from None


def _unwritable(error: OSError, out: OutputWrapper | TextIO) -> ExitError:
    silence(out)
    if isinstance(error, BrokenPipeError):
        return ExitError(status=Exit.BROKEN_PIPE)
    return ExitError(f"Standard output cannot be written: {error.strerror}.", status=Exit.FAILED)


def end(message: str, exit_status: Exit) -> NoReturn:
    """End the process with a sentence, which is printed as JSON too if the command line asks for that."""
    if "--json" in sys.argv:
        with suppress(ExitError):
            write(OutputWrapper(sys.stdout), to_json({"state": exit_status.state, "message": message}))
    sys.stderr.write(f"{message}\n" if message else "")
    sys.exit(exit_status)


def _sync(out: OutputWrapper) -> None:
    with suppress(AttributeError, ValueError):  # a test's StringIO
        descriptor = out.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


def silence(out: OutputWrapper | TextIO) -> None:
    """Throw away what Python still holds, or it fails again when the process ends."""
    with suppress(AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
