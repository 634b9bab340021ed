"""What 2.0 to 2.2 kept of sales for release 1.6 goes. Each animal that was sold paid for it.

A row of history is of an import by its line, and no longer by `import_run_id`.
"""

from django.db import migrations

from pets import triggers
from pets.migrations import _sales_of_1_6
from pets.migrations._locks import briefly


def _drop(apps, schema_editor):
    def change():
        _sales_of_1_6.remove_triggers(schema_editor)
        _sales_of_1_6.drop_tables(schema_editor)

    briefly(schema_editor, change)


def _install(apps, schema_editor):
    briefly(schema_editor, triggers.install)


class Migration(migrations.Migration):
    atomic = False
    reviewed = "No release since 2.0 reads the tables; what is dropped and created takes a moment."
    dependencies = [("pets", "0030_one_change_of_a_row")]

    operations = [
        migrations.RunPython(_drop, migrations.RunPython.noop),
        migrations.RunPython(_install, migrations.RunPython.noop),
    ]
