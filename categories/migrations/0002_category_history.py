"""History of categories. Those that are there already get their first row, so that every later change has a before."""

import categories.names
import django.db.models.deletion
import simple_history.models
from django.conf import settings
from django.db import migrations, models


INDEX = "CREATE INDEX category_change_before ON categories_categorychange (id, history_id)"

FIRST_ROWS = """
INSERT INTO categories_categorychange (id, name, history_date, history_type, actor, request_id)
SELECT id, name, created_at, '+', 'before history was kept', '' FROM categories_category ORDER BY id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("categories", "0001_categories"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
        migrations.RunSQL(INDEX, migrations.RunSQL.noop),
        migrations.RunSQL(FIRST_ROWS, migrations.RunSQL.noop),
    ]
