"""Indexes by which the back office finds animals among a million: built while the service goes on working.

PostgreSQL builds each CONCURRENTLY; one that was cut short leaves an index that is never used, so each is dropped
first. Django's own operations for this do not work on SQLite, which gets those that it can use.
"""

from django.db import migrations, models
import django.db.models.deletion

BOTH = {
    "pet_category_id": "pets_pet (category_id, id)",
    "pet_change_bulk": "pets_petchange (bulk_change_id) WHERE bulk_change_id IS NOT NULL",
    "pet_change_deletion": "pets_petchange (history_id) WHERE history_type = '-'",
}
POSTGRESQL_ONLY = {
    # One index over both texts costs each write half of what one index for each would.
    "pet_words": "pets_pet USING gin (upper(name || chr(10) || coalesce(external_reference, '')) gin_trgm_ops)",
    "pet_created_at": "pets_pet USING brin (created_at)",
}
FORMER = "pets_pet_category_id_only"
"""What the index that Django made of the category alone is called when it is made again."""


def _indexes(schema_editor):
    return BOTH | (POSTGRESQL_ONLY if schema_editor.connection.vendor == "postgresql" else {})


def _create(schema_editor, name, what):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {what}")
    else:
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
        schema_editor.execute(f"CREATE INDEX {name} ON {what}")


def _drop(schema_editor, name):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")


def _by_category_alone(connection):
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, "pets_pet")
    return [name for name, what in found.items() if what["index"] and what["columns"] == ["category_id"]]


def _patiently(work):
    """Let `work` wait for longer transactions of others, such as an import: it stops nobody meanwhile."""

    def run(apps, schema_editor):
        postgresql = schema_editor.connection.vendor == "postgresql"
        if postgresql:
            schema_editor.execute("SET lock_timeout = 0")
            schema_editor.execute("SET statement_timeout = 0")
        work(schema_editor)
        if postgresql:
            schema_editor.execute("RESET lock_timeout")
            schema_editor.execute("RESET statement_timeout")

    return run


def _forwards(schema_editor):
    for name, what in _indexes(schema_editor).items():
        _create(schema_editor, name, what)
    for name in _by_category_alone(schema_editor.connection):
        _drop(schema_editor, f'"{name}"')


def _backwards(schema_editor):
    _create(schema_editor, FORMER, "pets_pet (category_id)")
    for name in _indexes(schema_editor):
        _drop(schema_editor, name)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("pets", "0007_trigrams")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Not by Django's operations: on SQLite they would write the table anew, which forgets the highest id given.
            database_operations=[migrations.RunPython(_patiently(_forwards), _patiently(_backwards))],
            state_operations=[
                migrations.AlterField(
                    model_name="pet",
                    name="category",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pets",
                        to="categories.category",
                    ),
                ),
                migrations.AddIndex(
                    model_name="pet", index=models.Index(fields=["category", "id"], name="pet_category_id")
                ),
            ],
        ),
    ]
