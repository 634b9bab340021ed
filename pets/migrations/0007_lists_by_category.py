"""The index of category and ID becomes one of category, status and ID, for lists by category and by both."""

from django.db import migrations, models

OLD = "pet_category_id ON pets_pet (category_id, id)"
NEW = "pet_category_status_id ON pets_pet (category_id, status, id)"


def _replace(schema_editor, old, new):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    name = new.split()[0]
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")  # one that was stopped is not valid
    schema_editor.execute(f"CREATE INDEX {concurrently} {new}")
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {old.split()[0]}")


def _forward(apps, schema_editor):
    _replace(schema_editor, OLD, NEW)


def _back(apps, schema_editor):
    _replace(schema_editor, NEW, OLD)


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The indexes are made and dropped CONCURRENTLY: nobody waits for them."
    dependencies = [("pets", "0006_additions_by_request")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(_forward, _back)],
            state_operations=[
                migrations.RemoveIndex(model_name="pet", name="pet_category_id"),
                migrations.AddIndex(
                    model_name="pet",
                    index=models.Index(fields=["category", "status", "id"], name="pet_category_status_id"),
                ),
            ],
        )
    ]
