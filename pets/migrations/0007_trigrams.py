"""PostgreSQL's extension for finding a part of a name by an index. SQLite has none and reads every name."""

from django.core.management import CommandError
from django.db import ProgrammingError, OperationalError, migrations

SENTENCE = (
    "The search for a part of a name needs PostgreSQL's extension pg_trgm, and it cannot be made: {why}. "
    "Let the administrator of the database run this in it once, and migrate again: CREATE EXTENSION pg_trgm"
)


def _create(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    try:
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except (ProgrammingError, OperationalError) as error:  # no right to make it, or its files are not installed
        raise CommandError(SENTENCE.format(why=str(error).splitlines()[0])) from error


class Migration(migrations.Migration):
    dependencies = [("pets", "0006_bulk_changes")]

    operations = [migrations.RunPython(_create, migrations.RunPython.noop)]
