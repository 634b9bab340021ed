"""A request with an `Idempotency-Key` locks no row of its API key, and adds to two indexes instead of four."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    reviewed = "It drops a constraint and two indexes, which reads no row. The release before asks for none of them."

    dependencies = [("idempotency", "0001_idempotent_requests")]

    operations = [
        migrations.AlterField(
            model_name="idempotentrequest",
            name="api_key",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="apikeys.apikey",
            ),
        ),
        migrations.AlterField(
            model_name="idempotentrequest",
            name="created_at",
            field=models.DateTimeField(auto_now_add=True),
        ),
    ]
