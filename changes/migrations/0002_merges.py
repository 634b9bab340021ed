"""Which category a merge empties and deletes, and which one it moves the animals to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("changes", "0001_changes")]

    operations = [
        migrations.AddField("change", "merged_category", models.BigIntegerField(null=True)),
        migrations.AddField("change", "into_category", models.BigIntegerField(null=True)),
    ]
