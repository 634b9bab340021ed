"""A profile also keeps what the values of its columns become."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0019_uploads_that_wait")]

    operations = [
        migrations.AddField(
            model_name="columnprofile",
            name="values",
            field=models.JSONField(help_text="What the values of its columns become, by column.", null=True),
        ),
    ]
