"""An import goes on in the record of its preview: when that was, and what a record is called that went no further."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pets", "0004_saved_views"),
    ]

    operations = [
        migrations.AddField(
            model_name="importrun",
            name="previewed_at",
            field=models.DateTimeField(help_text="When its sender saw what it would do.", null=True),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="importrun",
                    name="state",
                    field=models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("dry run", "Preview"),
                            ("rejected", "Rejected"),
                            ("already imported", "Already imported"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("killed", "Killed"),
                            ("partly undone", "Partly Undone"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=16,
                    ),
                ),
            ]
        ),
    ]
