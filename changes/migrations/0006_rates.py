"""How many animals a second a change does, for the time that is left."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("changes", "0005_comments")]

    operations = [
        migrations.AddField(
            model_name="change",
            name="rate",
            field=models.FloatField(help_text="Animals a second, of about the last half minute of work.", null=True),
        ),
    ]
