"""Bulk changes, and which rows of history belong to one."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("categories", "0002_category_history"),
        ("pets", "0005_pet_permissions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BulkChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("who", models.CharField(max_length=200)),
                ("what", models.CharField(max_length=400)),
                (
                    "column",
                    models.CharField(choices=[("status", "Status"), ("category_id", "Category")], max_length=11),
                ),
                ("changed", models.BigIntegerField(default=0, help_text="Animals that were changed.")),
                (
                    "left",
                    models.JSONField(
                        default=list,
                        help_text="The animals that were left as they are: a list of `[id, name, reason]`.",
                    ),
                ),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "undo_of",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="undone_by",
                        to="pets.bulkchange",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["-id"]},
        ),
        migrations.AddField(
            model_name="petchange",
            name="bulk_change",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="changes",
                to="pets.bulkchange",
            ),
        ),
    ]
