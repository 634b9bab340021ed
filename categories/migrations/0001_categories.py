"""Categories and their history."""

import categories.names
import django.db.models.deletion
import simple_history.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Category",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    categories.names.NameField(
                        max_length=255, unique=True, validators=[categories.names.validate_name]
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name_plural": "categories",
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="category_name_is_not_empty"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CategoryChange",
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
                ("name", categories.names.NameField(max_length=255, validators=[categories.names.validate_name])),
                ("history_id", models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ("history_date", models.DateTimeField()),
                ("history_change_reason", models.CharField(max_length=100, null=True)),
                (
                    "history_type",
                    models.CharField(choices=[("+", "Created"), ("~", "Changed"), ("-", "Deleted")], max_length=1),
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
            ],
            options={
                "verbose_name": "change of a category",
                "verbose_name_plural": "changes of categories",
                "ordering": ("-history_date", "-history_id"),
                "get_latest_by": ("history_date", "history_id"),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        # History is read as "the change before this one of the same thing".
        migrations.RunSQL(
            "CREATE INDEX category_change_before ON categories_categorychange (id, history_id)",
            "DROP INDEX category_change_before",
        ),
    ]
