"""The set-based half of an import: rows wait in a temporary table and go from there into the catalogue.

The statements are the same for PostgreSQL and SQLite; only how rows get into the temporary table, and where new ids
begin, differs. The temporary tables belong to the connection, and no one else sees them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import groupby, islice
from typing import Any, NamedTuple, cast

from django.db import connection

from categories.models import Category
from files.changes import ADDED, Tally
from files.doubts.altered import IS_NO_VALUE, NEW_REFERENCE, note_near_references
from files.errors import ImportRejectedError
from files.transactions import CATALOGUE_CHANGED
from history.acting import acting
from pets.columns import COLUMNS, ColumnValues, RowValues, each
from pets.models import ImportRun
from pets.sql import execute, stream
from pets.stock import by_status

FIELDS = ", ".join(RowValues._fields)
TABLES = ("rows", "wrong", "rejected", "categories", "known", "odd_rows", "odd_pets", "near")
BLOCK_LINES = 2_000
NOTHING = "\1"  # NULL in a COPY. No value can be it
MOST_MISSING = 100  # animals that are not in the file, by ID, that are listed
MARGIN = 100  # ids left out before those of an import, for animals that are added while they are set aside


class MissingAnimal(NamedTuple):
    """An animal of the catalogue that is not in the file."""

    id: int
    external_reference: str | None
    name: str


def stage(parts: Iterable[RowValues | ColumnValues]) -> None:
    """Fill the temporary table with rows, single ones and blocks of them, holding a few at a time."""
    execute(f"CREATE TEMPORARY TABLE import_rows (line bigint, id bigint, {each('{c} {type}')}, rejected boolean)")
    execute("CREATE TEMPORARY TABLE import_wrong (line bigint PRIMARY KEY, kind text, other bigint)")
    execute("CREATE TEMPORARY TABLE import_categories (number bigint, id bigint)")
    if connection.vendor == "postgresql":
        _copy(_blocks(parts))
        execute("ANALYZE import_rows")
    else:
        _insert(_blocks(parts))


def clear() -> None:
    """Forget what is staged."""
    for table in TABLES:
        execute(f"DROP TABLE IF EXISTS import_{table}")


class Conflict(StrEnum):
    """What only the database can see to be wrong with a row."""

    UNKNOWN_ID = "unknown id"
    SAME_ANIMAL = "same animal"
    SAME_REFERENCE = "same reference"
    TAKEN_REFERENCE = "taken reference"
    NEAR_REFERENCE = "near reference"
    NO_REFERENCE = "no reference"
    INCOMPLETE = "incomplete"


MATCHED = (
    "SELECT line, rejected, id FROM import_rows WHERE id IS NOT NULL UNION ALL"
    " SELECT r.line, r.rejected, p.id FROM import_rows r JOIN pets_pet p ON p.external_reference = r.external_reference"
    " WHERE r.id IS NULL"
)
WRONG_IDS = {
    Conflict.UNKNOWN_ID: (
        "SELECT r.line, 0 AS other FROM import_rows r"
        " WHERE r.id IS NOT NULL AND NOT r.rejected AND NOT EXISTS (SELECT 1 FROM pets_pet p WHERE p.id = r.id)"
    ),
    Conflict.SAME_ANIMAL: (
        f"SELECT r.line, first.line AS other FROM ({MATCHED}) r JOIN"
        f" (SELECT id, min(line) AS line FROM ({MATCHED}) m GROUP BY id HAVING count(*) > 1) first"
        " ON first.id = r.id WHERE r.line > first.line AND NOT r.rejected"
    ),
    Conflict.TAKEN_REFERENCE: (
        "SELECT r.line, p.id AS other FROM import_rows r JOIN pets_pet p"
        " ON p.external_reference = r.external_reference AND p.id <> r.id WHERE NOT r.rejected"
    ),
}
WRONG = {
    Conflict.SAME_REFERENCE: (
        "SELECT r.line, first.line AS other FROM import_rows r JOIN"
        " (SELECT external_reference, min(line) AS line FROM import_rows"
        "  WHERE external_reference IS NOT NULL GROUP BY external_reference HAVING count(*) > 1) first"
        " ON first.external_reference = r.external_reference WHERE r.line > first.line AND NOT r.rejected"
    ),
    Conflict.INCOMPLETE: (
        "SELECT r.line, 0 AS other FROM import_rows r WHERE r.id IS NULL AND NOT r.rejected AND ({lacking})"
        f" AND {NEW_REFERENCE}"
    ),
}
NO_REFERENCE = f"""
    SELECT r.line, 0 AS other FROM import_rows r
    WHERE r.external_reference {IS_NO_VALUE} AND NOT r.rejected AND {NEW_REFERENCE}
"""
RIGHT = "NOT EXISTS (SELECT 1 FROM import_wrong e WHERE e.line = w.line)"
NEAR = {Conflict.NEAR_REFERENCE: "SELECT line, other FROM import_near"}
ROW = ", ".join(f"r.{field}" for field in RowValues._fields)
FOUND = f"""
    SELECT {ROW}, w.kind, w.other, n.line, p.id, p.external_reference, p.name
    FROM (SELECT line FROM import_wrong UNION SELECT line FROM import_near) f JOIN import_rows r ON r.line = f.line
    LEFT JOIN import_wrong w ON w.line = r.line
    LEFT JOIN import_near n ON n.line = r.line LEFT JOIN pets_pet p ON p.id = n.other ORDER BY r.line
"""


class Near(NamedTuple):
    """A row with a reference that no animal has, and the animal of whose reference it is a near miss."""

    line: int
    reference: str
    id: int
    theirs: str
    name: str


class Finding(NamedTuple):
    """A row that is wrong, or has a near miss of a reference."""

    row: RowValues
    kind: Conflict | None  # None if it is not wrong
    other: int  # the line of the earlier row about the same animal, or the id of the animal that has the reference
    near: Near | None


def take_out_wrong(*, near: bool = True, stays: bool = False, defaults: Mapping[str, Any] = {}) -> Iterator[Finding]:
    """Take out the rows that do not go with the catalogue or with earlier rows; yield them by line, with what is wrong.

    A row counts as earlier whether it is wrong itself or not. `near`: also yield rows whose reference only looks like
    that of an animal; if it `stays`, such a row is taken out for nothing but another error. `defaults`: what a new
    animal need not say.
    """
    needed = [column.name for column in COLUMNS if column.required and column.name not in defaults]
    lacking = " OR ".join(f"r.{name} IS NULL" for name in needed)
    execute("CREATE TEMPORARY TABLE import_near (line bigint, other bigint)")
    if near:
        note_near_references()
    wrong = (WRONG_IDS if _given_ids() else {}) | ({Conflict.NO_REFERENCE: NO_REFERENCE} if near or stays else {})
    for kind, statement in (wrong | WRONG | ({} if stays else NEAR)).items():
        found = f"SELECT w.line, '{kind}', w.other FROM ({statement.format(lacking=lacking)}) w"
        execute(f"INSERT INTO import_wrong {found} WHERE {RIGHT}")
    for *values, kind, other, line, pet_id, theirs, name in stream(FOUND):
        row = RowValues(*values)
        missed = None if line is None else Near(line, row.external_reference or "", pet_id, theirs, name)
        yield Finding(row, kind and Conflict(kind), other, missed)
    rejected = "FROM import_rows WHERE rejected OR line IN (SELECT line FROM import_wrong)"
    execute(f"CREATE TEMPORARY TABLE import_rejected AS SELECT id, external_reference {rejected}")
    execute(f"DELETE {rejected}")


def _given_ids() -> int:
    """Return how many rows say by its id which animal they are about."""
    return _count("SELECT count(id) FROM import_rows")


def add_categories(names: dict[str, int]) -> list[int]:
    """Store the categories that staged rows need, out of `names` and their numbers; return the new ids."""
    if not names:
        return []
    needed = {number for (number,) in stream("SELECT DISTINCT category_id FROM import_rows WHERE category_id < 0")}
    wanted = [name for name, number in names.items() if number in needed]
    there = dict(Category.objects.filter(name__in=wanted).values_list("name", "pk")) if wanted else {}
    added = [Category.objects.create(name=name) for name in wanted if name not in there]
    ids = there | {category.name: category.pk for category in added}
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO import_categories VALUES (%s, %s)", [(names[name], ids[name]) for name in wanted]
        )
    execute("UPDATE import_rows SET category_id = c.id FROM import_categories c WHERE c.number = category_id")
    return [category.pk for category in added]


def set_ids_aside(run: ImportRun) -> None:
    """Choose a range of ids for the animals that `run` adds, and let the lists know (PostgreSQL).

    A list of the newest animals would have to look at each row that is there and not yet committed; knowing the
    range it steps over all of them at once. SQLite keeps its readers from such rows by itself.
    """
    if connection.vendor != "postgresql":
        return
    most = _count("SELECT COALESCE(max(line), 0) FROM import_rows")
    run.last_id = _count(
        "SELECT setval(sequence, nextval(sequence) + %s) FROM pg_get_serial_sequence('pets_pet', 'id') AS sequence",
        [MARGIN + most],
    )
    run.first_id = run.last_id - most + 1
    run.save(update_fields=["first_id", "last_id"])


def clear_blanks(cleared: Mapping[str, Any]) -> None:
    """Give the rows of known animals these values where they say nothing, by the name of the column."""
    for column, value in cleared.items():
        known = f"(r.id IS NOT NULL OR NOT {NEW_REFERENCE})"
        execute(f"UPDATE import_rows AS r SET {column} = %s WHERE {column} IS NULL AND {known}", [value])


def compare(run: ImportRun, *, watch: Callable[[], None], defaults: Mapping[str, Any] = {}) -> None:
    """Count what `write` will do.

    `watch` is called once it is known what will be written; what it raises ends the import. `defaults`: what new
    animals get that their rows leave out, by the name of the column.
    """
    _find_known()
    if defaults:
        values = ", ".join(f"{column} = COALESCE({column}, %s)" for column in defaults)
        execute(f"UPDATE import_rows SET {values} WHERE line IN (SELECT r.line {ADDED})", [*defaults.values()])
    watch()
    rows, known, run.updated, run.matched_by_id = tally()
    run.created, run.unchanged = rows - known, known - run.updated


def write(run: ImportRun, now: datetime) -> None:
    """Write the staged rows, and their history as a part of the change; the transaction makes it all or nothing."""
    at = connection.ops.adapt_datetimefield_value(now)
    values = [at, str(run), acting().request_id, run.change_id]
    if run.updated:
        execute(CHANGE, [at])
        execute(HISTORY_OF_CHANGED, values)
    if run.created:
        before = run.first_id - 1 if run.first_id else _count(LAST_ID_OF_SQLITE)  # plus its line, the id of an animal
        execute(ADD, [before, at, at])
        execute(HISTORY_OF_ADDED, [before, *values])


def tally() -> list[int]:
    """Return how many rows there are: all, and those of known animals as `KNOWN` counts them; call it in `watch`."""
    return [_count("SELECT count(*) FROM import_rows"), *next(stream(KNOWN))]


KNOWN = """
    SELECT count(*), count(CASE WHEN differs THEN 1 END), count(CASE WHEN by_id THEN 1 END) FROM import_known
"""


REJECTED = """
    SELECT p.id FROM import_rejected r JOIN pets_pet p ON p.id = r.id UNION
    SELECT p.id FROM import_rejected r JOIN pets_pet p ON p.external_reference = r.external_reference
    WHERE r.id IS NULL
"""
ONLY_REJECTED = f"({REJECTED}) r LEFT JOIN import_known k ON k.id = r.id WHERE k.id IS NULL"
MISSING = f"""
    SELECT p.id, p.external_reference, p.name
    FROM pets_pet p LEFT JOIN (SELECT id FROM import_known UNION ALL SELECT id FROM ({REJECTED}) w) f ON f.id = p.id
    WHERE f.id IS NULL ORDER BY p.id LIMIT {MOST_MISSING}
"""


def missing() -> Tally[MissingAnimal]:
    """Return the animals that no row of the file is about, not even a rejected one; call it in `watch`."""
    in_file = next(stream(KNOWN))[0] + _count(f"SELECT count(*) FROM {ONLY_REJECTED}")
    count = sum(by_status().values()) - in_file  # nothing counts the catalogue
    return Tally(count, [MissingAnimal(*row) for row in stream(MISSING)] if count else [])


def adds_without_reference() -> bool:
    """Whether what is staged adds animals that have no reference: a second time they would be there twice."""
    return bool(_count(f"SELECT count(*) {ADDED} AND r.external_reference IS NULL"))


def _find_known() -> None:
    """Note the rows whose animal is there, and whether they say anything new of it.

    Raises `ImportRejectedError` if an animal of an id was deleted, or given a reference of the file, a moment ago.
    """
    compared = f"{NEW_VALUES} FROM import_rows r JOIN pets_pet p"
    execute(
        f"CREATE TEMPORARY TABLE import_known AS SELECT *, {each('new_{c}', ' OR ')} AS differs FROM ("
        f"SELECT r.line, p.id, TRUE AS by_id, {compared} ON p.id = r.id WHERE r.id IS NOT NULL"
        f" UNION ALL SELECT r.line, p.id, FALSE, {compared} ON p.external_reference = r.external_reference"
        " WHERE r.id IS NULL) compared"
    )
    if connection.vendor == "postgresql":
        execute("ANALYZE import_known")
    if ids := _given_ids():
        found = _count("SELECT count(*) FROM import_known WHERE by_id")
        twice = _count("SELECT count(*) - count(DISTINCT id) FROM import_known")
        if found < ids or twice:
            raise ImportRejectedError(CATALOGUE_CHANGED)


NEW_VALUES = each("(r.{c} IS NOT NULL AND (p.{c} IS NULL OR r.{c} <> p.{c})) AS new_{c}")
"""Of each column, whether the row says something else than the animal."""

CHANGE = f"""
    UPDATE pets_pet SET {each("{c} = COALESCE(r.{c}, pets_pet.{c})")}, updated_at = %s
    FROM import_known k JOIN import_rows r ON r.line = k.line WHERE k.id = pets_pet.id AND k.differs
"""

NEW = each("COALESCE(r.{c}, {default})")

ADD = f"""
    INSERT INTO pets_pet (id, {each("{c}")}, created_at, updated_at) SELECT %s + r.line, {NEW}, %s, %s {ADDED}
"""
"""Its id is a number plus its line, so that animals come in the order of the file, in whatever order rows are read."""

HISTORY = (
    f"INSERT INTO pets_petchange (id, {each('{c}')},"
    " history_type, history_date, actor, request_id, bulk_change_id, import_line)"
)

HISTORY_OF_CHANGED = f"""
    {HISTORY} SELECT p.id, {each("p.{c}")}, '~', %s, %s, %s, %s, k.line
    FROM import_known k JOIN pets_pet p ON p.id = k.id WHERE k.differs
"""

HISTORY_OF_ADDED = f"{HISTORY} SELECT %s + r.line, {NEW}, '+', %s, %s, %s, %s, r.line {ADDED}"

LAST_ID_OF_SQLITE = "SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'pets_pet'"


def _blocks(parts: Iterable[RowValues | ColumnValues]) -> Iterator[ColumnValues]:
    """Yield blocks as they are, and single rows gathered into blocks, in the order of the file."""
    for kind, some in groupby(parts, type):
        if kind is RowValues:
            while single := list(islice(some, BLOCK_LINES)):
                yield list(zip(*single, strict=True))
        else:
            yield from cast("Iterator[ColumnValues]", some)


def _copy(blocks: Iterable[ColumnValues]) -> None:
    """Fill the table by COPY; the values hold no control characters, so that only the backslash is escaped."""
    statement = f"COPY import_rows ({FIELDS}) FROM STDIN (NULL '{NOTHING}')"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for columns in blocks:
            texts = [
                [NOTHING if value is None else str(value) for value in column] if None in column else map(str, column)
                for column in columns
            ]
            copy.write("\n".join(map("\t".join, zip(*texts, strict=True))).replace("\\", r"\\") + "\n")


INSERT = f"INSERT INTO import_rows ({FIELDS}) VALUES ({', '.join(['%s'] * len(RowValues._fields))})"


def _insert(blocks: Iterable[ColumnValues]) -> None:
    """Fill the table in one transaction of its own, which locks no table of the catalogue."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            for columns in blocks:
                cursor.executemany(INSERT, list(zip(*columns, strict=True)))
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")


def _count(statement: str, parameters: Any = None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0])
