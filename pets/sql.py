"""Statements on Django's connection, for what is done to many animals at once."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection

BATCH = 10_000
"""Rows that are held at a time."""

BYTES = {"postgresql": "octet_length({})", "sqlite": "length(CAST({} AS BLOB))"}


def is_not_ascii(text: str) -> str:
    """Return the condition that a text has characters of several bytes."""
    return f"{BYTES[connection.vendor].format(text)} <> length({text})"


# PostgreSQL expects ten rows of such an array, and looks them up; of a list of 1,000 it would read a whole table.
AMONG = {
    "postgresql": "= ANY(ARRAY(SELECT unnest(%s::bigint[])))",
    "sqlite": "IN (SELECT value FROM json_each(%s))",
}
DIFFERS = {"postgresql": "IS DISTINCT FROM", "sqlite": "IS NOT"}


def listed(numbers: Iterable[int]) -> str:
    """Return numbers as a parameter for `AMONG`: as text, of which psycopg looks at the whole and not at each."""
    text = ",".join(map(str, numbers))
    return f"{{{text}}}" if connection.vendor == "postgresql" else f"[{text}]"


def matches(text: str, pattern: str) -> str:
    """Return the condition that a text has a match; the pattern has no quote."""
    return f"{text} {'~' if connection.vendor == 'postgresql' else 'REGEXP'} '{pattern}'"


def execute(statement: str, parameters: Any = None) -> int:
    """Run a statement that gives no rows, and return how many it wrote."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def read(statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def stream(statement: str, parameters: Any = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query without holding them all."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, parameters)
        while batch := cursor.fetchmany(BATCH):
            yield from batch
