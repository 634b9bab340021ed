"""How often the process for work was killed during the next block of a change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    reviewed = "Of `worked_at` only the help text is altered, which the database does not have."
    dependencies = [("changes", "0003_changes_that_run")]

    operations = [
        migrations.AddField(
            model_name="change",
            name="kills",
            field=models.SmallIntegerField(
                db_default=0, help_text="How often its process was killed since the last block."
            ),
        ),
        migrations.AlterField(
            model_name="change",
            name="worked_at",
            field=models.DateTimeField(help_text="When the last block was done.", null=True),
        ),
    ]
