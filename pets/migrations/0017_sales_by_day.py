"""The index of sales by day has their animals too: the last sold first is a walk along it, also after 50,000 on a day."""

from django.db import migrations, models

DAY = models.DateField("sold on", help_text="In UTC.")
INDEX = models.Index(fields=["day", "pet"], name="sale_day")


def _create(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    quoted = schema_editor.quote_name
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS sale_day")  # one that was stopped is not valid
    schema_editor.execute(f"CREATE INDEX {concurrently} sale_day ON pets_sale (day, pet_id)")
    for name in _only_by_day(schema_editor):
        schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {quoted(name)}")


def _only_by_day(schema_editor):
    """Return the index that this one replaces, whatever Django called it."""
    with schema_editor.connection.cursor() as cursor:
        found = schema_editor.connection.introspection.get_constraints(cursor, "pets_sale")
    return [name for name, each in found.items() if each["index"] and each["columns"] == ["day"]]


def _back(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"CREATE INDEX {concurrently} pets_sale_day ON pets_sale (day)")
    schema_editor.execute(f"DROP INDEX {concurrently} sale_day")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The index is made and dropped CONCURRENTLY: nobody waits for it. The release before uses it too."
    dependencies = [("pets", "0016_large_uploads")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("sale", "day", DAY),
                migrations.AddIndex("sale", INDEX),
            ],
            database_operations=[migrations.RunPython(_create, _back)],
        )
    ]
