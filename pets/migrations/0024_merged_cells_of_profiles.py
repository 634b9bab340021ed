"""A profile also keeps whether merged cells have the value of the first one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0023_sheet_of_profiles")]

    operations = [
        migrations.AddField(
            model_name="columnprofile",
            name="fill_merged",
            field=models.BooleanField(help_text="Whether merged cells have the value of the first.", null=True),
        ),
    ]
