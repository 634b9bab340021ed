"""Indexes for the list of changes. Those of the imports and the accounts of rows hold only rows that have one.

So a request that adds an animal writes as many as before. The release before uses the smaller ones too.
"""

from time import sleep

from django.db import migrations

SINGLE = "WHERE bulk_change_id IS NULL AND import_run_id IS NULL AND undo_of_id IS NULL"
INDEXES = {
    "pet_change_single": f"pets_petchange (history_date, history_id) {SINGLE}",
    "pet_change_single_by": f"pets_petchange (actor, history_date, history_id) {SINGLE}",
    "pet_change_import": "pets_petchange (import_run_id, history_id) WHERE import_run_id IS NOT NULL",
    "pet_change_of": "pets_petchange (bulk_change_id, history_id) WHERE bulk_change_id IS NOT NULL",
    "pet_change_user": "pets_petchange (history_user_id) WHERE history_user_id IS NOT NULL",
    "change_made": "pets_bulkchange (made_at, id)",
    "change_undo_of_row": "pets_bulkchange (undo_of_row) WHERE undo_of_row IS NOT NULL",
}
REPLACED = ("import_run_id", "history_user_id")


def _create(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for name, what in INDEXES.items():
        _drop_one(schema_editor, name)  # what a migration that was stopped has left is not valid
        schema_editor.execute(f"CREATE INDEX {'CONCURRENTLY' if vendor == 'postgresql' else ''} {name} ON {what}")
        if vendor == "sqlite":
            sleep(0.2)  # others, who look for its one lock ten times a second, have their turn
    for name in [*_full(schema_editor), "pet_change_bulk"]:
        _drop_one(schema_editor, name)


def _back(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    bulk = {"pet_change_bulk": "pets_petchange (bulk_change_id) WHERE bulk_change_id IS NOT NULL"}
    full = {f"pets_petchange_{column}": f"pets_petchange ({column})" for column in REPLACED}
    for name, what in (bulk | full).items():
        _drop_one(schema_editor, name)
        schema_editor.execute(f"CREATE INDEX {'CONCURRENTLY' if vendor == 'postgresql' else ''} {name} ON {what}")
    for name in INDEXES:
        _drop_one(schema_editor, name)


def _full(schema_editor):
    """Return the indexes of all rows by their import, and by their account, whatever Django called them."""
    with schema_editor.connection.cursor() as cursor:
        found = schema_editor.connection.introspection.get_constraints(cursor, "pets_petchange")
    return [
        name
        for name, each in found.items()
        if each["index"] and name not in INDEXES and each["columns"] in [[column] for column in REPLACED]
    ]


def _drop_one(schema_editor, name):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {schema_editor.quote_name(name)}")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The indexes are made and dropped CONCURRENTLY: nobody waits for them."
    dependencies = [("pets", "0012_changes")]

    operations = [migrations.RunPython(_create, _back)]
