"""A bulk change is a `Change` like any other: the second name for its table goes."""

from django.db import migrations


class Migration(migrations.Migration):
    reviewed = "A proxy has no table."
    dependencies = [("pets", "0017_sales_by_day")]

    operations = [migrations.DeleteModel("BulkChange")]
