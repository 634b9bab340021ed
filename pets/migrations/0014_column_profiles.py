"""How the columns of suppliers' files are read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pets", "0013_indexes_of_changes"),
    ]

    operations = [
        migrations.CreateModel(
            name="ColumnProfile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                (
                    "header",
                    models.JSONField(help_text="The titles of the columns, in lower case and without blanks around them."),
                ),
                (
                    "columns",
                    models.JSONField(help_text="What each of them is in an import; empty for one that is left out."),
                ),
                ("encoding", models.CharField(blank=True, help_text="Of files that are not UTF-8.", max_length=40)),
                (
                    "defaults",
                    models.JSONField(
                        default=dict, help_text="The category and status of new animals without one."
                    ),
                ),
                (
                    "saved_by",
                    models.CharField(help_text='"staff anna", or the account that ran the command.', max_length=150),
                ),
                ("saved_at", models.DateTimeField(auto_now=True)),
            ],
            options={"ordering": ["name"]},
        ),
    ]
