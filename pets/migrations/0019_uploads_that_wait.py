"""Files of the back office wait for the process for work, and are found by the time since when they do."""

from django.db import migrations, models


class Migration(migrations.Migration):
    reviewed = "The table has the files of a day. The release before has a default for what it does not know."
    dependencies = [("pets", "0002_squashed_0018_one_change")]

    operations = [
        migrations.AddField(
            model_name="importupload",
            name="waits_since",
            field=models.DateTimeField(help_text="Since when a process should check or import it.", null=True),
        ),
        migrations.AlterField(
            model_name="importupload",
            name="work",
            field=models.JSONField(help_text="What is done with it, for whom, and what was found.", null=True),
        ),
        migrations.AddIndex(
            model_name="importupload",
            index=models.Index(
                condition=models.Q(("waits_since__isnull", False)), fields=["waits_since"], name="upload_that_waits"
            ),
        ),
    ]
