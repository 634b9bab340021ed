"""How rows found their animals, and by which digest a file of rejects is known again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0014_rejected_rows")]

    operations = [
        migrations.AddField(
            "importrun",
            "matched_by_id",
            models.BigIntegerField(default=0, help_text="Rows whose animal was found by its ID."),
        ),
        migrations.AddField(
            "importrun",
            "rejects_sha256",
            models.CharField(max_length=64, blank=True, help_text="Of that file as it was written, in hexadecimal."),
        ),
    ]
