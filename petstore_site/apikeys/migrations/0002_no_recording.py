"""No code records reads of a key any more. Release 1.6, which does, keeps the columns: remove them after 2.0."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("apikeys", "0001_squashed_0002_recording")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("apikey", "reads_left"),
                migrations.RemoveField("apikey", "recorded_until"),
                migrations.RemoveField("apikeychange", "recorded_until"),
            ]
        )
    ]
