"""No code counts requests that were not recorded any more. Release 1.6 does: remove the table after 2.0."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("request_desk", "0001_request_records")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("RecordGap")])]
