"""Files of the back office that are too large for one row, and how far a thread came with them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pets", "0015_old_changes"),
    ]

    operations = [
        migrations.AddField(
            model_name="importupload",
            name="work",
            field=models.JSONField(
                help_text="How far a thread came with it, and what it found.", null=True
            ),
        ),
        migrations.AddField(
            model_name="importupload",
            name="stop_asked",
            field=models.BooleanField(db_default=False),
        ),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("content", models.BinaryField()),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="parts", to="pets.importupload"
                    ),
                ),
            ],
            options={"ordering": ["pk"], "default_permissions": ()},
        ),
    ]
