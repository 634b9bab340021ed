"""Triggers keep the days of sale. Those that are known are copied, in blocks, from tables that then go.

It can be killed and run again. The tables get another name first: an undo of release 1.6, which alone writes days there,
fails until this release serves. What else 1.6 does meanwhile is right, but for an animal that is sold twice.
"""

from django.core.management import CommandError
from django.db import migrations, models, transaction

from pets import triggers
from pets.migrations import _sales_of_1_6
from pets.migrations._locks import briefly

BLOCK = 1_000
INDEX = "pet_sold_on ON pets_pet (sold_on, id) WHERE sold_on IS NOT NULL"

OLD = "_of_1_6"

# The statements of a block: of sales by the animal, of those that ended by their number. The day of a sale that ended
# since the tables were renamed goes to the last row that says "sold". An undo needs the day in the row of history before
# the one that ended the sale, and in that of a deletion, which ended it at the last change. `+ 0` keeps PostgreSQL from
# reading all deletions for each animal.
SALES = (
    """
UPDATE pets_pet SET sold_on = s.day FROM pets_sale_of_1_6 s
WHERE s.pet_id > %s AND s.pet_id <= %s AND pets_pet.id = s.pet_id AND status = 'sold' AND sold_on IS NULL
""",
    """
UPDATE pets_petchange SET sold_on = s.day FROM pets_sale_of_1_6 s
WHERE s.pet_id > %s AND s.pet_id <= %s AND status = 'sold' AND sold_on IS NULL
AND pets_petchange.history_id = (SELECT max(c.history_id + 0) FROM pets_petchange c WHERE c.id = s.pet_id
    AND (c.status = 'sold' OR EXISTS (SELECT 1 FROM pets_pet p WHERE p.id = s.pet_id AND p.status = 'sold')))
""",
)
ENDED = (
    """
UPDATE pets_petchange SET sold_on = e.day FROM pets_endedsale_of_1_6 e
WHERE e.id > %s AND e.id <= %s AND status = 'sold' AND history_type <> '-' AND sold_on IS NULL
AND pets_petchange.history_id =
    (SELECT max(c.history_id + 0) FROM pets_petchange c WHERE c.id = e.pet_id AND c.history_date < e.ended_at)
""",
    """
UPDATE pets_petchange SET sold_on = e.day FROM pets_endedsale_of_1_6 e
WHERE e.id > %s AND e.id <= %s AND status = 'sold' AND sold_on IS NULL
AND pets_petchange.history_id = (SELECT min(c.history_id + 0) FROM pets_petchange c
    WHERE c.id = e.pet_id AND c.history_type = '-' AND c.history_date >= e.ended_at)
AND NOT EXISTS (SELECT 1 FROM pets_petchange c WHERE c.id = e.pet_id AND c.status <> 'sold'
    AND c.history_date >= e.ended_at AND c.history_id < pets_petchange.history_id)
""",
)


def _install(apps, schema_editor):
    tables = schema_editor.connection.introspection.table_names()

    def change():
        _sales_of_1_6.remove_triggers(schema_editor)  # of 2.0 to 2.2, if their migration was stopped here
        triggers.install()
        for table in _sales_of_1_6.TABLES:
            if table in tables:
                schema_editor.execute(f"ALTER TABLE {table} RENAME TO {table}{OLD}")

    briefly(schema_editor, change)


def _copy(apps, schema_editor):
    tables = schema_editor.connection.introspection.table_names()
    for table, key, statements in (("pets_sale", "pet_id", SALES), ("pets_endedsale", "id", ENDED)):
        if f"{table}{OLD}" in tables:  # it was not dropped before the migration was stopped
            _copy_blocks(schema_editor.connection, f"{table}{OLD}", key, statements)
    _sales_of_1_6.drop_tables(schema_editor, OLD)


def _copy_blocks(connection, table, key, statements):
    after = -1
    while True:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            next_keys = f"SELECT {key} FROM {table} WHERE {key} > %s ORDER BY {key} LIMIT {BLOCK}"
            cursor.execute(f"SELECT max({key}) FROM ({next_keys}) AS block", [after])
            [(last,)] = cursor.fetchall()
            if last is None:
                return
            for statement in statements:
                cursor.execute(statement, [after, last])
            after = last


def _create(apps, schema_editor):
    how = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {how} IF EXISTS pet_sold_on")  # one that failed halfway
    schema_editor.execute(f"CREATE INDEX {how} {INDEX}")


def _refuse(apps, schema_editor):
    raise CommandError("The tables of release 1.6 are gone. To go back to it, restore the backup. Now run: manage.py migrate")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "Triggers are created at once, days are copied in blocks, and the index is made CONCURRENTLY."
    dependencies = [("pets", "0027_day_of_sale_in_history")]

    operations = [
        migrations.RunPython(_install, migrations.RunPython.noop),
        migrations.RunPython(_copy, migrations.RunPython.noop),
        migrations.RunPython(_create, _refuse),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddIndex(
                    "pet",
                    models.Index(
                        fields=["sold_on", "id"],
                        condition=models.Q(sold_on__isnull=False),
                        name="pet_sold_on",
                    ),
                )
            ]
        ),
    ]
