"""Why a change was made, in the words of who made it."""

from django.db import migrations, models

import changes.models


class Migration(migrations.Migration):
    dependencies = [("changes", "0004_kills")]

    operations = [
        migrations.AddField(
            model_name="change",
            name="comment",
            field=models.CharField(
                db_default="",
                default=changes.models.comment,
                help_text="Why, in the words of who made it.",
                max_length=300,
            ),
        ),
    ]
