"""Bulk changes of any size: the animals that they are made of, in blocks, and how far they came."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pets", "0008_reading_share"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="bulkchange",
            name="left_count",
            field=models.BigIntegerField(db_default=0, help_text="How many were left. `left` has the first."),
        ),
        migrations.AddField(
            model_name="bulkchange",
            name="outcome",
            field=models.CharField(db_default="", help_text="Why it was stopped.", max_length=300),
        ),
        migrations.AddField(
            model_name="bulkchange",
            name="state",
            field=models.CharField(
                choices=[("running", "Running"), ("done", "Done"), ("stopped", "Stopped")],
                db_default="done",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="bulkchange",
            name="unreached",
            field=models.BigIntegerField(db_default=0, help_text="Animals that it was stopped before."),
        ),
        migrations.CreateModel(
            name="Selection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("filters", models.TextField(blank=True, help_text="The query of the list, to go back to it.")),
                ("animals", models.BigIntegerField(default=0, help_text="How many.")),
                (
                    "counts",
                    models.JSONField(
                        default=list, help_text="How many of what: a list of `[status, category, animals]`."
                    ),
                ),
                (
                    "value",
                    models.CharField(
                        blank=True, help_text="What the column of the bulk change becomes.", max_length=20
                    ),
                ),
                ("worked_at", models.DateTimeField(help_text="When the last block was done.", null=True)),
                ("made_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "bulk_change",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="selection",
                        to="pets.bulkchange",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.CreateModel(
            name="SelectedBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("size", models.IntegerField()),
                (
                    "animals",
                    models.JSONField(
                        help_text="A list of `[id, row of history]`: the row that was the latest, or is undone."
                    ),
                ),
                (
                    "selection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="blocks", to="pets.selection"
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
    ]
