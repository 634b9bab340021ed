"""Imports record how much of their time reading took: the time left of later ones is estimated from it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0007_lists_by_category")]

    operations = [
        migrations.AddField(
            model_name="importrun",
            name="reading_share",
            field=models.FloatField(help_text="How much of its time reading took, from 0 to 1.", null=True),
        )
    ]
