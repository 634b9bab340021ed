"""What an operation asks of the database: statements that are written once as text, alone or in a transaction."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

from django.db import connection, transaction

from database.errors import committing

T = TypeVar("T")

Row = tuple[Any, ...]


class Statement(NamedTuple):
    """One statement; what runs it returns its rows."""

    sql: str
    parameters: Mapping[str, Any]
    commits: bool = False
    """Whether it writes. Outside a `Transaction` it is its own, so it may be done as soon as it was sent."""


class Transaction(NamedTuple):
    """Steps that SQLite does all or not at all; what runs them returns what they return. PostgreSQL has no need."""

    steps: "Steps[Any]"


class Addition(NamedTuple):
    """How to add a row with the first row of its history: parts of statements."""

    row: str
    """Adds one row, or none if what it refers to is missing. A condition and RETURNING may follow."""
    history: str
    """Copies the row from the table that follows."""
    table: str


Steps = Generator[Statement | Transaction, Any, T]
"""Yields what it asks of the database, is sent the outcome, and returns a result.

So it is the caller who decides how to wait: `run` in a thread, `run_async` in an event loop.
"""


class Statements(Protocol):
    """The statements of one list: a module has them."""

    def page(self, vendor: str, chosen: Mapping[str, Any], newest: int, count: int, /) -> Steps[list[Row]]:
        """Return the first `count` rows with an ID of at most `newest`, newest first, on this kind of database.

        The ID is the first column.
        """

    def one(self, pk: int, /) -> Steps[list[Row]]:
        """Return the row with this ID, or nothing."""

    def shown(self, row: Row, /) -> dict[str, Any]:
        """Return a row as the API shows it."""


@cache
def vendor() -> str:
    """Return the kind of database: `postgresql` or `sqlite`."""
    return connection.vendor


def parameter(at: datetime) -> Any:
    """Return a time as a parameter of a statement: SQLite takes text."""
    return at if vendor() == "postgresql" else connection.ops.adapt_datetimefield_value(at)


def add(addition: Addition, values: Mapping[str, Any]) -> Steps[int | None]:
    """Add the row and return its ID, or nothing if it refers to something missing."""
    if vendor() == "postgresql":
        rows = yield Statement(_in_one(addition), values, commits=True)
        return rows[0][0] if rows else None
    return (yield Transaction(add_in_two(addition, values)))  # type: ignore[no-any-return]


@cache
def _in_one(addition: Addition) -> str:
    return f'WITH "added" AS ({addition.row} RETURNING *) {addition.history} "added" RETURNING "id"'


def add_in_two(addition: Addition, values: Mapping[str, Any]) -> Steps[int | None]:
    """Do the same in a transaction of SQLite."""
    added: list[Row] = yield Statement(f'{addition.row} RETURNING "id"', values)
    for (pk,) in added:
        yield Statement(f'{addition.history} {addition.table} WHERE "id" = %(id)s', {**values, "id": pk})
        return pk  # type: ignore[no-any-return]
    return None


def run(steps: Steps[T]) -> T:
    """Run the steps on this thread's connection, and return their result. Errors are raised in the steps."""
    try:
        run_async(steps, _run_one).send(None)  # it awaits nothing, so it ends at once
    except StopIteration as done:
        returned: T = done.value
    return returned


async def run_async(steps: Steps[T], run_one: Callable[[Any], Awaitable[Any]]) -> T:
    """Run the steps, each with `run_one`, and return their result. Errors are raised in the steps."""
    try:
        step = next(steps)
        while True:
            try:
                outcome = await run_one(step)
            except Exception as error:  # noqa: BLE001 - the steps decide
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as done:
        returned: T = done.value
        return returned


async def _run_one(step: Statement | Transaction) -> Any:
    if isinstance(step, Transaction):
        with transaction.atomic():
            return run(step.steps)
    if step.commits and not connection.in_atomic_block:
        connection.ensure_connection()  # before anything can be done
        with committing():
            return rows(step)
    return rows(step)


def rows(statement: Statement) -> list[Row]:
    """Run one statement on this thread's connection and return its rows."""
    with _preparing_cursor() if vendor() == "postgresql" else connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.parameters)
        return list(cursor.fetchall()) if cursor.description else []


def _preparing_cursor() -> Any:
    """Return a cursor that prepares its statements; Django's own writes the parameters into the text."""
    from psycopg import Cursor  # noqa: PLC0415 - with SQLite, psycopg is never loaded

    connection.ensure_connection()
    return connection._prepare_cursor(Cursor(connection.connection))  # type: ignore[attr-defined]  # noqa: SLF001
