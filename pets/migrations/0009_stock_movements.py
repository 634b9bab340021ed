"""Triggers keep how many animals there are and when they were added and sold, from this migration on.

They are made before the animals that are there are counted, in a migration of its own: writers wait for this one a
moment, and for the count not at all.
"""

import django.db.models.deletion
from django.db import migrations, models

from pets import triggers


class Migration(migrations.Migration):
    dependencies = [("categories", "0001_categories"), ("pets", "0008_indexes_of_the_back_office")]

    operations = [
        migrations.CreateModel(
            name="StockMovement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(help_text="When the animals were added, in UTC.", null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("available", "Available"), ("pending", "Pending"), ("sold", "Sold")],
                        max_length=9,
                        null=True,
                    ),
                ),
                ("animals", models.BigIntegerField()),
                (
                    "category",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="categories.category",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Sale",
            fields=[
                (
                    "pet",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="sale",
                        serialize=False,
                        to="pets.pet",
                    ),
                ),
                ("day", models.DateField(db_index=True, help_text="In UTC.", verbose_name="sold on")),
            ],
        ),
        migrations.RunPython(lambda *_: triggers.install(), lambda *_: triggers.remove()),
    ]
