"""A profile also keeps the name of the sheet, for workbooks that have several."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0022_edits_and_people")]

    operations = [
        migrations.AddField(
            model_name="columnprofile",
            name="sheet",
            field=models.CharField(
                blank=True, db_default="", help_text="Of workbooks that have several.", max_length=255
            ),
        ),
    ]
