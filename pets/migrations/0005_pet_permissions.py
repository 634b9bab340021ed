"""Exporting animals and restoring deleted ones are rights of their own."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("pets", "0004_pet_history")]

    operations = [
        migrations.AlterModelOptions(
            name="pet",
            options={
                "permissions": [
                    ("export_pet", "Can export animals"),
                    ("restore_pet", "Can restore deleted animals"),
                ]
            },
        ),
    ]
