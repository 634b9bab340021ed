"""An index of the changes that run: the process for work looks for them twice a second."""

from django.db import migrations, models

INDEX = "change_that_runs ON pets_bulkchange (id) WHERE state = 'running'"


def _create(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    _drop(apps, schema_editor)  # one that was stopped is not valid
    schema_editor.execute(f"CREATE INDEX {concurrently} {INDEX}")


def _drop(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {INDEX.split()[0]}")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The index is made CONCURRENTLY: nobody waits for it."
    dependencies = [("changes", "0001_squashed_0002_merges")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(_create, _drop)],
            state_operations=[
                migrations.AddIndex(
                    model_name="change",
                    index=models.Index(
                        condition=models.Q(("state", "running")), fields=["id"], name="change_that_runs"
                    ),
                )
            ],
        )
    ]
