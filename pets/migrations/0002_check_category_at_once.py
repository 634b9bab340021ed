"""PostgreSQL checks an animal's category with the INSERT, not with the COMMIT.

So that an animal whose category was deleted a moment ago is refused where it is added, as a 400.
"""

from django.db import migrations

ALTER = """
DO $$
DECLARE found text;
BEGIN
    SELECT conname INTO STRICT found FROM pg_constraint
    WHERE conrelid = 'pets_pet'::regclass AND contype = 'f';
    EXECUTE format('ALTER TABLE pets_pet ALTER CONSTRAINT %I DEFERRABLE INITIALLY {when}', found);
END $$
"""


def _alter(when):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(ALTER.format(when=when), params=None)

    return run


class Migration(migrations.Migration):
    dependencies = [("pets", "0001_pets")]

    operations = [migrations.RunPython(_alter("IMMEDIATE"), _alter("DEFERRED"))]
