"""An index of the history by X-Request-ID, for the request desk: of single changes, not of imports and bulk changes.

One value of them is in many thousand rows, and nobody looks for them by it.
"""

from django.db import migrations

NAME = "pet_change_request"
INDEX = (
    f"{NAME} ON pets_petchange (request_id, history_id) "
    "WHERE import_run_id IS NULL AND bulk_change_id IS NULL AND undo_of_id IS NULL"
)


def _create(apps, schema_editor):
    _drop(apps, schema_editor)  # what a migration that was stopped has left is not valid
    schema_editor.execute(f"CREATE INDEX {_concurrently(schema_editor)} {INDEX}")


def _drop(apps, schema_editor):
    schema_editor.execute(f"DROP INDEX {_concurrently(schema_editor)} IF EXISTS {NAME}")


def _concurrently(schema_editor):
    return "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The index is made CONCURRENTLY: nobody waits for it."
    dependencies = [("pets", "0005_previews_of_imports")]

    operations = [migrations.RunPython(_create, _drop)]
