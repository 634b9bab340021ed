"""Activity finds edits, and what people did, without reading all that keys added."""

from django.db import migrations

SINGLE = "bulk_change_id IS NULL AND import_run_id IS NULL AND undo_of_id IS NULL"
INDEXES = {
    "pet_change_edit": f"pets_petchange (history_date, history_id) WHERE {SINGLE} AND history_type = '~'",
    "pet_change_person": f"pets_petchange (history_date, history_id) WHERE {SINGLE} AND history_user_id IS NOT NULL",
}


def _concurrently(schema_editor):
    return "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""


def _create(apps, schema_editor):
    for name, what in INDEXES.items():
        schema_editor.execute(f"DROP INDEX {_concurrently(schema_editor)} IF EXISTS {name}")  # one that failed halfway
        schema_editor.execute(f"CREATE INDEX {_concurrently(schema_editor)} {name} ON {what}")


def _drop(apps, schema_editor):
    for name in INDEXES:
        schema_editor.execute(f"DROP INDEX {_concurrently(schema_editor)} IF EXISTS {name}")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The indexes are made CONCURRENTLY: nobody waits for them."
    dependencies = [("pets", "0021_shared_views")]

    operations = [migrations.RunPython(_create, _drop)]
