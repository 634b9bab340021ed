from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0002_check_category_at_once")]

    operations = [
        migrations.CreateModel(
            name="ImportRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "who",
                    models.CharField(
                        help_text="The account of the operating system that ran the command.", max_length=150
                    ),
                ),
                ("file_name", models.CharField(help_text='Without its folder; "-" is standard input.', max_length=255)),
                (
                    "sha256",
                    models.CharField(
                        db_index=True, help_text="Of the file as it was given, in hexadecimal.", max_length=64
                    ),
                ),
                ("options", models.JSONField(help_text="The options that the command was given.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("dry run", "Dry Run"),
                            ("refused", "Refused"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("killed", "Killed"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=8,
                    ),
                ),
                ("rows", models.BigIntegerField(default=0, help_text="Rows read, without the header.")),
                ("created", models.BigIntegerField(default=0, help_text="Animals that were added.")),
                ("updated", models.BigIntegerField(default=0, help_text="Animals that were changed.")),
                (
                    "unchanged",
                    models.BigIntegerField(default=0, help_text="Rows that say what the catalogue already said."),
                ),
                ("refused", models.BigIntegerField(default=0, help_text="Rows with a fault.")),
                (
                    "new_categories",
                    models.JSONField(default=list, help_text="The ids of the categories that were added."),
                ),
                ("rejects", models.TextField(blank=True, help_text="The file with the refused rows.")),
                (
                    "outcome",
                    models.TextField(blank=True, help_text="Why it was refused, stopped or failed; how it was undone."),
                ),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["running", "done", "dry run", "refused", "stopped", "failed", "killed", "undone"],
                            )
                        ),
                        name="import_state_is_known",
                    )
                ],
            },
        ),
    ]
