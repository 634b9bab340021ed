"""The day of a sale is a column of the animal. The tables that had it stay for release 1.6."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pets", "0025_deletions")]

    operations = [
        migrations.AddField(
            model_name="pet",
            name="sold_on",
            field=models.DateField(
                editable=False,
                help_text="In UTC. Kept by a trigger. Not known of an animal that was sold when it was added.",
                null=True,
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("Sale"), migrations.DeleteModel("EndedSale")]
        ),
    ]
