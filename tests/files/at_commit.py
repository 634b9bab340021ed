"""What a test does in the moment in which an import or an undo commits, in this process or in one of its own."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections


def nothing() -> None:
    pass


@contextmanager
def at_commit(*, before: Callable[[], None] = nothing, after: Callable[[], None] = nothing) -> Iterator[None]:
    """Call `before` and `after` around the COMMIT of the transaction that writes the record of an import."""
    armed: list[str] = []
    wrapper: Any = type(connections["default"])
    commit = wrapper._commit

    def watch(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith('UPDATE "pets_importrun"') and connection.in_atomic_block:
            armed.append(sql)
        return execute(sql, *rest)

    def commit_and_call(self: Any) -> None:
        is_it = bool(armed)
        armed.clear()
        if is_it:
            before()
        commit(self)
        if is_it:
            after()

    wrapper._commit = commit_and_call
    try:
        with connection.execute_wrapper(watch):
            yield
    finally:
        wrapper._commit = commit


def killed_at_commit(moment: str, *arguments: str) -> None:
    """Run a command and die by SIGKILL before or after its COMMIT."""
    from django.core.management import call_command  # noqa: PLC0415 - Django is set up by the caller

    with at_commit(**{moment: lambda: os.kill(os.getpid(), signal.SIGKILL)}):
        call_command(*arguments)


if __name__ == "__main__":
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "petstore_site.settings"
    django.setup()
    killed_at_commit(*sys.argv[1:])
