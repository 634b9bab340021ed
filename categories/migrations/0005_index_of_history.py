"""The index of the history of categories, which SQLite lost when release 1.2 rebuilt the table to add icons.

History is read as "the change before this one of the same thing".
"""

from django.db import migrations


class Migration(migrations.Migration):
    reviewed = "PostgreSQL has it unless the table is new. On SQLite it takes a moment: categories change rarely."
    dependencies = [("categories", "0001_squashed_0004_changes")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX IF NOT EXISTS category_change_before ON categories_categorychange (id, history_id)",
            migrations.RunSQL.noop,
        ),
    ]
