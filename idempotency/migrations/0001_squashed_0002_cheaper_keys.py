"""Responses kept for Idempotency-Key."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("idempotency", "0001_idempotent_requests"), ("idempotency", "0002_cheaper_keys")]

    dependencies = [("apikeys", "0001_squashed_0002_recording")]

    operations = [
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(help_text="The Idempotency-Key header, without quotes.", max_length=255)),
                ("fingerprint", models.CharField(help_text="SHA-256 of the request's path and fields.", max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("body", models.TextField(default="")),
                ("location", models.CharField(default="", max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="apikeys.apikey",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("api_key", "key"), name="one_answer_per_idempotency_key")
                ],
            },
        ),
    ]
