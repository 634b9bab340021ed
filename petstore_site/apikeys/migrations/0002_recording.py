"""Until when, and for how many reads at most, each request with a key is recorded."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0001_api_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="reads_left",
            field=models.PositiveIntegerField(
                db_default=0, default=0, editable=False, help_text="How many of them at most."
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="recorded_until",
            field=models.DateTimeField(editable=False, help_text="Successful reads are recorded too.", null=True),
        ),
        migrations.AddField(
            model_name="apikeychange",
            name="recorded_until",
            field=models.DateTimeField(editable=False, help_text="Successful reads are recorded too.", null=True),
        ),
    ]
