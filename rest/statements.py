"""Run the statements that are written once as text: prepared on PostgreSQL, rows as tuples."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Protocol

from django.db import connection

Row = tuple[Any, ...]
Statement = tuple[str, Mapping[str, Any]]
"""The text, and its parameters by their names."""

Shown = Callable[[Row], dict[str, Any]]
"""Returns a row as the API shows it."""

Steps = Generator[Statement, list[Row], list[Row]]
"""Yields statements, is sent the rows of each, and returns rows. So it is the caller who decides how to wait."""


class Statements(Protocol):
    """The statements of one list: a module has them."""

    def page(self, vendor: str, chosen: Mapping[str, str], newest: int, count: int, /) -> Steps:
        """Return the first `count` rows with an ID of at most `newest`, newest first, on this kind of database.

        The ID is the first column.
        """

    def one(self, pk: int, /) -> Steps:
        """Return the row with this ID, or nothing."""


def run(steps: Steps) -> list[Row]:
    """Run the statements on this thread's connection and return the rows."""
    try:
        statement = next(steps)
        while True:
            statement = steps.send(rows(*statement))
    except StopIteration as done:
        returned: list[Row] = done.value
        return returned


async def run_async(steps: Steps, rows: Callable[[str, Mapping[str, Any]], Awaitable[list[Row]]]) -> list[Row]:
    """Run the statements, each with `rows`, and return the rows."""
    try:
        statement = next(steps)
        while True:
            statement = steps.send(await rows(*statement))
    except StopIteration as done:
        returned: list[Row] = done.value
        return returned


def rows(sql: str, parameters: Mapping[str, Any]) -> list[Row]:
    """Run one statement and return its rows."""
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())
    with _preparing_cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _preparing_cursor() -> Any:
    """Return a cursor that prepares its statements; Django's own writes the parameters into the text."""
    from psycopg import Cursor  # noqa: PLC0415 - with SQLite, psycopg is never loaded

    connection.ensure_connection()
    return connection._prepare_cursor(Cursor(connection.connection))  # type: ignore[attr-defined]  # noqa: SLF001
