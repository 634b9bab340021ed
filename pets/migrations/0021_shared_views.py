"""A saved view can be for everyone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0020_values_of_profiles")]

    operations = [
        migrations.AddField(
            model_name="savedview",
            name="is_shared",
            field=models.BooleanField(db_default=False, default=False, verbose_name="share with everyone"),
        ),
    ]
