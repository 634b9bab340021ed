"""Animals as rows of text: read by one statement, so of one moment, and never all held at once."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from django.db import connections, transaction
from django.db.models import Case, CharField, F, QuerySet, Value, When
from django.db.models.functions import Concat, Left
from django.db.models.lookups import In

from files.spreadsheets import FORMULA_STARTS
from pets.columns import COLUMNS, ID
from pets.models import Pet

if TYPE_CHECKING:
    from psycopg import Copy  # a shop with SQLite never loads psycopg
    from psycopg.abc import Buffer

BATCH = 5000


def headers(*, ids: bool) -> list[str]:
    """Return the names of the columns of a file."""
    return [*([ID] if ids else []), *(column.header for column in COLUMNS)]


class Output(Protocol):
    """What bytes are written to."""

    def write(self, data: "Buffer", /) -> object:
        """Take all of them."""


Row: TypeAlias = tuple[Any, ...]
"""The id, if it is exported, and a text or None for each of `COLUMNS`."""
Rows: TypeAlias = QuerySet[Pet, Any]
Progress: TypeAlias = Callable[[int], object]
"""Gets how many more animals are written, every now and then."""


def no_progress(more: int) -> None:
    """Be a `Progress` that shows nothing."""


def rows(pets: QuerySet[Pet], *, ids: bool, formula_safe: bool) -> Rows:
    """Return the query for the columns, by id; `formula_safe` puts a `'` before what may be a formula."""
    paths = [column.path for column in COLUMNS]
    columns = [_guarded(path) for path in paths] if formula_safe else paths
    return pets.order_by("pk").values_list(*(["pk"] if ids else []), *columns)


def _guarded(field: str) -> Case:
    formula = When(In(Left(field, 1), FORMULA_STARTS), then=Concat(Value("'"), field, output_field=CharField()))
    return Case(formula, default=F(field), output_field=CharField())


def write_csv(rows: Rows, names: Sequence[str], out: Output, progress: Progress) -> int:
    """Write a header and the rows (RFC 4180 but for its line ends, which are line feeds); return how many rows."""
    header = csv_lines([names])
    if connections[rows.db].vendor == "postgresql":
        return _copy_csv(rows, out, progress, header=header)
    return write_batches(rows, out, csv_lines, progress, before=header)


def csv_lines(batch: Sequence[Sequence[Any]]) -> bytes:
    """Return lines that are, byte for byte, what PostgreSQL's COPY would write."""
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(batch)
    return text.getvalue().encode()


def write_batches(
    rows: Rows, out: Output, encode: Callable[[list[Row]], bytes], progress: Progress, *, before: bytes = b""
) -> int:
    """Write `before`, if the database responds, and what `encode` makes of some rows at a time; return how many."""
    written = 0
    with _batches(rows) as batches:
        out.write(before)
        for batch in batches:
            out.write(encode(batch))
            written += len(batch)
            progress(len(batch))
    return written


@contextmanager
def _batches(rows: Rows) -> Iterator[Iterator[list[Row]]]:
    # PostgreSQL: a cursor of the server's, which lives in a transaction; behind PgBouncer `iterator()` would do without
    # one and hold every row here. SQLite: a transaction of ours would keep every writer out, a statement does not.
    connection = connections[rows.db]
    steady = transaction.atomic(rows.db) if connection.vendor == "postgresql" else nullcontext()
    with steady, connection.chunked_cursor() as cursor:
        cursor.execute(*rows.query.sql_with_params())
        yield iter(partial(cursor.fetchmany, BATCH), [])


def _copy_csv(rows: Rows, out: Output, progress: Progress, *, header: bytes) -> int:
    sql, parameters = rows.query.sql_with_params()
    connection, written = connections[rows.db], 0
    with connection.wrap_database_errors, connection.cursor() as cursor:
        statement = cursor.mogrify(f"COPY ({sql}) TO STDOUT (FORMAT csv)", parameters)
        with cursor.copy(statement) as copy:
            out.write(header)
            for written, line in enumerate(_lines(copy), 1):
                out.write(line)
                if written % BATCH == 0:
                    progress(BATCH)
    progress(written % BATCH)
    return written


def _lines(copy: "Copy") -> "Iterator[Buffer]":
    """Yield what `copy` yields, in half the time: only where libpq has no line ready is psycopg asked, and waits."""
    from psycopg.errors import error_from_result  # noqa: PLC0415 - only here it is loaded for sure
    from psycopg.pq import ExecStatus  # noqa: PLC0415

    pgconn = copy.connection.pgconn
    size, line = pgconn.get_copy_data(1)  # 1: do not wait
    while size >= 0:
        ready = line if size else copy.read()
        if not ready:
            return  # psycopg met the end, and has seen to it
        yield ready
        size, line = pgconn.get_copy_data(1)
    for result in list(iter(pgconn.get_result, None)):
        if result.status != ExecStatus.COMMAND_OK:
            raise error_from_result(result)
