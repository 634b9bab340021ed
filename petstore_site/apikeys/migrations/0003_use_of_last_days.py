"""The dashboard reads the use of the last days, and not that of all years."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("apikeys", "0002_key_history")]

    operations = [
        migrations.AddIndex(model_name="keyusage", index=models.Index(fields=["day"], name="key_usage_day")),
    ]
