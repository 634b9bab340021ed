"""History of animals. Those that are there already get their first row, so that every later change has a before."""

import categories.names
import django.db.models.deletion
import pets.models
import simple_history.models
from django.conf import settings
from django.db import migrations, models


INDEX = "CREATE INDEX pet_change_before ON pets_petchange (id, history_id)"

FIRST_ROWS = """
INSERT INTO pets_petchange (id, name, category_id, status, external_reference, history_date, history_type, actor, request_id)
SELECT id, name, category_id, status, external_reference, created_at, '+', 'before history was kept', '' FROM pets_pet
ORDER BY id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("categories", "0001_categories"),
        ("pets", "0003_import_runs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="pet",
            name="external_reference",
            field=categories.names.NameField(
                blank=True,
                help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
                max_length=100,
                null=True,
                validators=[pets.models.validate_reference],
            ),
        ),
        migrations.CreateModel(
            name="PetChange",
            fields=[
                ("id", models.BigIntegerField(auto_created=True, blank=True, verbose_name="ID")),
                (
                    "actor",
                    models.CharField(
                        blank=True,
                        help_text='Who, in words that stay: "staff anna", "key Ab3dE6gH", "import 12".',
                        max_length=200,
                    ),
                ),
                (
                    "request_id",
                    models.CharField(blank=True, help_text="The X-Request-ID of the request, if any.", max_length=128),
                ),
                (
                    "import_line",
                    models.BigIntegerField(blank=True, help_text="Where in the file, from 1.", null=True),
                ),
                ("name", categories.names.NameField(max_length=255, validators=[categories.names.validate_name])),
                (
                    "status",
                    models.CharField(
                        choices=[("available", "Available"), ("pending", "Pending"), ("sold", "Sold")],
                        default="available",
                        max_length=9,
                    ),
                ),
                (
                    "external_reference",
                    categories.names.NameField(
                        blank=True,
                        help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
                        max_length=100,
                        null=True,
                        validators=[pets.models.validate_reference],
                    ),
                ),
                ("history_id", models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ("history_date", models.DateTimeField()),
                ("history_change_reason", models.CharField(max_length=100, null=True)),
                (
                    "history_type",
                    models.CharField(choices=[("+", "Created"), ("~", "Changed"), ("-", "Deleted")], max_length=1),
                ),
                (
                    "category",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="categories.category",
                    ),
                ),
                (
                    "history_user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "import_run",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="pets.importrun",
                    ),
                ),
            ],
            options={
                "verbose_name": "change of an animal",
                "verbose_name_plural": "changes of animals",
                "ordering": ("-history_date", "-history_id"),
                "get_latest_by": ("history_date", "history_id"),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.RunSQL(INDEX, migrations.RunSQL.noop),
        migrations.RunSQL(FIRST_ROWS, migrations.RunSQL.noop),
    ]
