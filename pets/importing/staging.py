"""The set-based half of an import: rows wait in a temporary table and go from there into the catalogue.

The statements are the same for PostgreSQL and SQLite; only how rows get into the temporary table, and where new ids
come from, differs. The temporary tables belong to the connection, and nobody else sees them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db import connection

from categories.models import Category
from pets.importing.checking import Checked
from pets.importing.preview import Watch, planned
from pets.importing.sql import BATCH, execute, stream
from pets.models import ImportRun, PetStatus

TABLES = ("import_rows", "import_duplicates", "import_categories", "import_writes")
BLOCK_LINES = 2_000


@dataclass(frozen=True)
class Written:
    """How many animals were added and changed, and how many rows changed nothing."""

    created: int
    updated: int
    unchanged: int


def stage(rows: Iterable[Checked]) -> None:
    """Fill the temporary table with `rows`, holding a few of them at a time."""
    clear()
    execute(
        "CREATE TEMPORARY TABLE import_rows "
        "(line bigint, name text, category_id bigint, status text, external_reference text, refused boolean)"
    )
    execute("CREATE TEMPORARY TABLE import_duplicates (line bigint, first_line bigint)")
    execute("CREATE TEMPORARY TABLE import_categories (number bigint, id bigint)")
    if connection.vendor == "postgresql":
        _copy(rows)
        execute("ANALYZE import_rows")
    else:
        _insert(rows)


def clear() -> None:
    """Forget what is staged."""
    for table in TABLES:
        execute(f"DROP TABLE IF EXISTS {table}")


def duplicates() -> Iterator[tuple[Checked, int]]:
    """Take out the rows whose reference an earlier row has, refused or not; yield each with the earlier one's line."""
    execute(
        "INSERT INTO import_duplicates SELECT r.line, first.line FROM import_rows r JOIN ("
        "  SELECT external_reference, min(line) AS line FROM import_rows"
        "  WHERE external_reference IS NOT NULL GROUP BY external_reference HAVING count(*) > 1"
        ") first ON first.external_reference = r.external_reference WHERE r.line > first.line AND NOT r.refused"
    )
    for *row, first in stream(
        "SELECT r.line, r.name, r.category_id, r.status, r.external_reference, d.first_line"
        " FROM import_duplicates d JOIN import_rows r ON r.line = d.line ORDER BY r.line"
    ):
        yield Checked(*row), first
    execute("DELETE FROM import_rows WHERE refused OR line IN (SELECT line FROM import_duplicates)")


INCOMPLETE = (
    "FROM import_rows r WHERE (r.name IS NULL OR r.category_id IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM pets_pet p WHERE p.external_reference = r.external_reference)"
)


def incomplete() -> Iterator[Checked]:
    """Take out the rows that add an animal and leave blank what it must have; yield them."""
    for row in stream(
        f"SELECT r.line, r.name, r.category_id, r.status, r.external_reference {INCOMPLETE} ORDER BY line"
    ):
        yield Checked(*row)
    execute(f"DELETE FROM import_rows WHERE line IN (SELECT r.line {INCOMPLETE})")  # noqa: S608 - a constant


def add_categories(names: dict[str, int]) -> list[int]:
    """Store the categories that staged rows need, out of `names` and their numbers; return the new ids."""
    needed = {number for (number,) in stream("SELECT DISTINCT category_id FROM import_rows WHERE category_id < 0")}
    wanted = [name for name, number in names.items() if number in needed]
    there = dict(Category.objects.filter(name__in=wanted).values_list("name", "pk")) if wanted else {}
    added = [Category.objects.create(name=name) for name in wanted if name not in there]
    ids = there | {category.name: category.pk for category in added}
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO import_categories VALUES (%s, %s)", [(names[name], ids[name]) for name in wanted]
        )
    return [category.pk for category in added]


def write(run: ImportRun, now: datetime, *, request_id: str = "", watch: Watch | None = None) -> Written:
    """Write the staged rows and their history; the caller's transaction makes it all or nothing."""
    rows = _count("SELECT count(*) FROM import_rows")
    execute(f"CREATE TEMPORARY TABLE import_writes AS {_writes()}")
    if watch is not None:
        watch(planned())
    created = _count("SELECT count(*) FROM import_writes WHERE is_new")
    total = _count("SELECT count(*) FROM import_writes")
    at = connection.ops.adapt_datetimefield_value(now)
    if total > created:
        execute(
            "UPDATE pets_pet SET name = w.name, category_id = w.category_id, status = w.status, updated_at = %s"
            " FROM import_writes w WHERE w.id = pets_pet.id AND NOT w.is_new",
            [at],
        )
    if total:
        execute(
            "INSERT INTO pets_petchange (id, name, category_id, status, external_reference,"
            " history_date, history_type, actor, request_id, import_run_id, import_line)"
            " SELECT id, name, category_id, status, external_reference,"
            " %s, CASE WHEN is_new THEN '+' ELSE '~' END, %s, %s, %s, line FROM import_writes",
            [at, str(run), request_id, run.pk],
        )
    if created:
        # Last, as a list of the newest animals must step over each one that is there and not yet committed.
        execute(
            "INSERT INTO pets_pet (id, name, category_id, status, external_reference, created_at, updated_at)"
            " SELECT id, name, category_id, status, external_reference, %s, %s FROM import_writes WHERE is_new",
            [at, at],
        )
    return Written(created, total - created, rows - total)


def _writes() -> str:
    """Return the query for what is to be written: a row for each animal that is new or differs."""
    return f"""
        SELECT line, is_new, CASE WHEN is_new THEN {_new_id()} ELSE known_id END AS id,
            name, category_id, status, external_reference
        FROM (
            SELECT r.line, p.id IS NULL AS is_new, p.id AS known_id,
                COALESCE(r.name, p.name) AS name,
                COALESCE(c.id, r.category_id, p.category_id) AS category_id,
                COALESCE(r.status, p.status, '{PetStatus.AVAILABLE.value}') AS status,
                r.external_reference
            FROM import_rows r
            LEFT JOIN import_categories c ON c.number = r.category_id
            LEFT JOIN pets_pet p ON p.external_reference = r.external_reference
            WHERE p.id IS NULL OR p.name <> COALESCE(r.name, p.name)
                OR p.category_id <> COALESCE(c.id, r.category_id, p.category_id)
                OR p.status <> COALESCE(r.status, p.status)
            ORDER BY r.line
        ) differing
    """  # noqa: S608 - made of constants


def _new_id() -> str:
    """Return the expression for the id of an animal that is added."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_get_serial_sequence('pets_pet', 'id')")
            return (
                f"nextval('{cursor.fetchone()[0]}')"  # asking once: to ask for each row takes longer than to write it
            )
    return (
        "(SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'pets_pet')"
        " + row_number() OVER (ORDER BY line)"
    )


def _copy(rows: Iterable[Checked]) -> None:
    """Fill the table by COPY; the values hold no control characters, so that only the backslash is escaped."""
    lines = (
        f"{line}\t{_text(name)}\t{_null(category)}\t{_null(status)}\t{_text(reference)}\t{refused}\n"
        for line, name, category, status, reference, refused in rows
    )
    with connection.cursor() as cursor, cursor.copy("COPY import_rows FROM STDIN") as copy:
        while block := "".join(islice(lines, BLOCK_LINES)):
            copy.write(block)


def _text(value: str | None) -> str:
    return r"\N" if value is None else value.replace("\\", r"\\")


def _null(value: object) -> object:
    return r"\N" if value is None else value


def _insert(rows: Iterable[Checked]) -> None:
    """Fill the table in one transaction of its own, which locks no table of the catalogue."""
    waiting = iter(rows)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            while batch := list(islice(waiting, BATCH)):
                cursor.executemany("INSERT INTO import_rows VALUES (%s, %s, %s, %s, %s, %s)", batch)
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")


def _count(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])
