"""What Django's models cannot say of the tables of animals: a constraint that is checked at once, and indexes.

They are made on empty tables. A later migration that adds an index to a table in use must make it CONCURRENTLY.
"""

from django.core.management import CommandError
from django.db import OperationalError, ProgrammingError, migrations

NO_EXTENSION = (
    "The search for a part of a name needs PostgreSQL's extension pg_trgm, which cannot be created: {why}. "
    "Ask the database administrator to run this in the database, then migrate again: CREATE EXTENSION pg_trgm"
)

CHECK_CATEGORY_AT_ONCE = """
DO $$
DECLARE found text;
BEGIN
    SELECT conname INTO STRICT found FROM pg_constraint
    WHERE conrelid = 'pets_pet'::regclass AND contype = 'f';
    EXECUTE format('ALTER TABLE pets_pet ALTER CONSTRAINT %I DEFERRABLE INITIALLY IMMEDIATE', found);
END $$
"""
"""With the INSERT and not with the COMMIT, so that an animal whose category was just deleted is rejected as a 400."""

TRANSACTION = "ALTER TABLE pets_petchange ADD COLUMN transaction_id xid8 DEFAULT pg_current_xact_id()"
"""The feed of changes shows what is committed in the order of transactions."""

SINGLE = "WHERE bulk_change_id IS NULL AND import_run_id IS NULL AND undo_of_id IS NULL"
"""What is written in thousands of rows at once is listed as one change."""

INDEXES = {
    "pet_change_before": "pets_petchange (id, history_id)",
    "pet_change_deletion": "pets_petchange (history_id) WHERE history_type = '-'",
    "pet_change_request": "pets_petchange (request_id, history_id) "
    "WHERE import_run_id IS NULL AND bulk_change_id IS NULL AND undo_of_id IS NULL",
    "pet_change_single": f"pets_petchange (history_date, history_id) {SINGLE}",
    "pet_change_single_by": f"pets_petchange (actor, history_date, history_id) {SINGLE}",
    "pet_change_import": "pets_petchange (import_run_id, history_id) WHERE import_run_id IS NOT NULL",
    "pet_change_of": "pets_petchange (bulk_change_id, history_id) WHERE bulk_change_id IS NOT NULL",
    "pet_change_user": "pets_petchange (history_user_id) WHERE history_user_id IS NOT NULL",
}
POSTGRESQL_INDEXES = {
    # One index over both texts costs each write half of what one index for each would.
    "pet_search": "pets_pet USING gin "
    "((search_fold(name) || chr(10) || coalesce(search_fold(external_reference), '')) gin_trgm_ops)",
    "pet_created_at": "pets_pet USING brin (created_at)",
    "pet_change_feed": "pets_petchange (transaction_id, history_id) WHERE transaction_id IS NOT NULL",
}


def _create(apps, schema_editor):
    indexes = dict(INDEXES)
    if schema_editor.connection.vendor == "postgresql":
        _create_extension(schema_editor)
        schema_editor.execute(CHECK_CATEGORY_AT_ONCE, params=None)
        schema_editor.execute(TRANSACTION)
        indexes |= POSTGRESQL_INDEXES
    schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(_by_account(schema_editor))}")
    for name, what in indexes.items():
        schema_editor.execute(f"CREATE INDEX {name} ON {what}")


def _create_extension(schema_editor):
    try:
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except (ProgrammingError, OperationalError) as error:  # no right to create it, or its files are not installed
        raise CommandError(NO_EXTENSION.format(why=str(error).splitlines()[0])) from error


def _by_account(schema_editor):
    """Return Django's index of all rows by their account, most of which have none."""
    with schema_editor.connection.cursor() as cursor:
        found = schema_editor.connection.introspection.get_constraints(cursor, "pets_petchange")
    [name] = [name for name, each in found.items() if each["index"] and each["columns"] == ["history_user_id"]]
    return name


def _drop(apps, schema_editor):
    for name in INDEXES | POSTGRESQL_INDEXES:
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
    schema_editor.execute("CREATE INDEX pets_petchange_history_user_id ON pets_petchange (history_user_id)")
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE pets_petchange DROP COLUMN transaction_id")


class Migration(migrations.Migration):
    replaces = [
        ("pets", "0002_constraints_and_indexes"),
        ("pets", "0003_triggers"),
        ("pets", "0006_additions_by_request"),
        ("pets", "0010_feed_of_changes"),
        ("pets", "0011_search_index"),
        ("pets", "0013_indexes_of_changes"),
        ("pets", "0015_old_changes"),
        ("pets", "0018_one_change"),
    ]

    dependencies = [("pets", "0001_squashed_0017_sales_by_day")]

    operations = [
        migrations.RunPython(_create, _drop),
    ]
