"""Call the rows of an import that were not accepted "rejected", as its state and its messages do."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0013_undo_by_values")]

    operations = [
        migrations.RenameField(model_name="importrun", old_name="refused", new_name="rejected"),
        migrations.AlterField(
            model_name="importrun",
            name="rejected",
            field=models.BigIntegerField(default=0, help_text="Rows with an error."),
        ),
        migrations.AlterField(
            model_name="importrun",
            name="outcome",
            field=models.TextField(
                blank=True, help_text="Why it was rejected, stopped or failed; how it was undone."
            ),
        ),
        migrations.AlterField(
            model_name="importrun",
            name="rejects",
            field=models.TextField(blank=True, help_text="The file with the rejected rows."),
        ),
        migrations.AlterField(
            model_name="importupload",
            name="rejects",
            field=models.BinaryField(default=b"", help_text="The rejected rows, as import_pets --rejects writes them."),
        ),
    ]
