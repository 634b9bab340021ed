"""The day of a sale is a column of the history. Apart from the animals' own: a preview locks both in another order."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0026_day_of_sale")]

    operations = [
        migrations.AddField(
            model_name="petchange",
            name="sold_on",
            field=models.DateField(blank=True, editable=False, null=True),
        ),
    ]
