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

INDEXES = {
    "pet_change_before": "pets_petchange (id, history_id)",
    "pet_change_bulk": "pets_petchange (bulk_change_id) WHERE bulk_change_id IS NOT NULL",
    "pet_change_deletion": "pets_petchange (history_id) WHERE history_type = '-'",
}
POSTGRESQL_INDEXES = {
    # One index over both texts costs each write half of what one index for each would.
    "pet_words": "pets_pet USING gin (upper(name || chr(10) || coalesce(external_reference, '')) gin_trgm_ops)",
    "pet_created_at": "pets_pet USING brin (created_at)",
}


def _create(apps, schema_editor):
    indexes = dict(INDEXES)
    if schema_editor.connection.vendor == "postgresql":
        _create_extension(schema_editor)
        schema_editor.execute(CHECK_CATEGORY_AT_ONCE, params=None)
        indexes |= POSTGRESQL_INDEXES
    for name, what in indexes.items():
        schema_editor.execute(f"CREATE INDEX {name} ON {what}")


def _create_extension(schema_editor):
    try:
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except (ProgrammingError, OperationalError) as error:  # no right to create it, or its files are not installed
        raise CommandError(NO_EXTENSION.format(why=str(error).splitlines()[0])) from error


def _drop(apps, schema_editor):
    for name in INDEXES | POSTGRESQL_INDEXES:
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")


class Migration(migrations.Migration):
    dependencies = [("pets", "0001_pets")]

    operations = [migrations.RunPython(_create, _drop)]
