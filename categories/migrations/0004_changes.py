"""Rows of history of categories can be a part of a change."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("categories", "0003_search_fold"), ("changes", "0001_changes")]

    operations = [
        migrations.AddField(
            model_name="categorychange",
            name="change",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="%(class)s_rows",
                to="changes.change",
            ),
        ),
    ]
