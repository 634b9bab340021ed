"""Rows of history know their transaction, for the feed of changes (PostgreSQL). Those written before have none.

The column gets its default after it is there, so no row is rewritten, and what the release before inserts has it too.
"""

from django.db import migrations

COLUMN = """
ALTER TABLE pets_petchange ADD COLUMN transaction_id xid8, ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id()
"""
NAME = "pet_change_feed"
INDEX = f"{NAME} ON pets_petchange (transaction_id, history_id) WHERE transaction_id IS NOT NULL"


def _create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        _drop(apps, schema_editor)  # what a migration that was stopped has left
        schema_editor.execute(COLUMN)
        schema_editor.execute(f"CREATE INDEX CONCURRENTLY {INDEX}")


def _drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}")
        schema_editor.execute("ALTER TABLE pets_petchange DROP COLUMN IF EXISTS transaction_id")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The column is added without a rewrite, and its index CONCURRENTLY. The release before ignores both."
    dependencies = [("pets", "0009_bulk_changes_in_blocks")]

    operations = [migrations.RunPython(_create, _drop)]
