"""The index of the search holds names and references without case and accents: `pet_search` instead of `pet_words`.

The release before still searches by `pet_words`. Without it that finds the same, but reads all animals: a million take a
second. Both indexes at once would make each import a third slower.
"""

from django.db import migrations

OLD = "pet_words ON pets_pet USING gin (upper(name || chr(10) || coalesce(external_reference, '')) gin_trgm_ops)"
FOLDED = "search_fold(name) || chr(10) || coalesce(search_fold(external_reference), '')"
NEW = f"pet_search ON pets_pet USING gin (({FOLDED}) gin_trgm_ops)"


def _replace(schema_editor, old, new):
    if schema_editor.connection.vendor != "postgresql":
        return
    name = new.split()[0]
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # one that was stopped is not valid
    schema_editor.execute(f"CREATE INDEX CONCURRENTLY {new}")
    schema_editor.execute("ANALYZE pets_pet")  # for an expression the planner has figures of its own
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {old.split()[0]}")


def _forward(apps, schema_editor):
    _replace(schema_editor, OLD, NEW)


def _back(apps, schema_editor):
    _replace(schema_editor, NEW, OLD)


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The indexes are made and dropped CONCURRENTLY: nobody waits for them."
    dependencies = [("pets", "0010_feed_of_changes"), ("categories", "0003_search_fold")]

    operations = [migrations.RunPython(_forward, _back)]
