"""Activity finds deletions without reading all that keys added."""

from django.db import migrations

NAME = "pet_change_removal"
INDEX = (
    "pets_petchange (history_date, history_id) "
    "WHERE bulk_change_id IS NULL AND import_run_id IS NULL AND undo_of_id IS NULL AND history_type = '-'"
)


def _concurrently(schema_editor):
    return "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""


def _create(apps, schema_editor):
    schema_editor.execute(f"DROP INDEX {_concurrently(schema_editor)} IF EXISTS {NAME}")  # one that failed halfway
    schema_editor.execute(f"CREATE INDEX {_concurrently(schema_editor)} {NAME} ON {INDEX}")


def _drop(apps, schema_editor):
    schema_editor.execute(f"DROP INDEX {_concurrently(schema_editor)} IF EXISTS {NAME}")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The index is made CONCURRENTLY: nobody waits for it."
    dependencies = [("pets", "0024_merged_cells_of_profiles")]

    operations = [migrations.RunPython(_create, _drop)]
