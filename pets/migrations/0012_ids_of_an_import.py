"""Which ids a running import writes, so that lists can step over them; and who may have started one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0011_import_uploads")]

    operations = [
        migrations.AlterField(
            model_name="importrun",
            name="who",
            field=models.CharField(help_text='"staff anna", or the account that ran the command.', max_length=150),
        ),
        migrations.AlterField(
            model_name="importrun",
            name="options",
            field=models.JSONField(help_text="What was asked for."),
        ),
        migrations.AddField(
            model_name="importrun",
            name="first_id",
            field=models.BigIntegerField(help_text="The first of the ids set aside for what it adds.", null=True),
        ),
        migrations.AddField(
            model_name="importrun",
            name="last_id",
            field=models.BigIntegerField(help_text="The last of them.", null=True),
        ),
        migrations.AddIndex(
            model_name="importrun",
            index=models.Index(condition=models.Q(("state", "running")), fields=["id"], name="import_that_runs"),
        ),
    ]
