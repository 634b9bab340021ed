"""What happened to requests, for the request desk."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("apikeys", "0001_squashed_0002_recording"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecordGap",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hour", models.DateTimeField(unique=True)),
                ("count", models.BigIntegerField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="RequestRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "request_id",
                    models.CharField(
                        help_text="X-Request-ID. The caller can choose it.", max_length=128, verbose_name="request ID"
                    ),
                ),
                ("at", models.DateTimeField(help_text="When the response was sent.")),
                ("method", models.CharField(max_length=20)),
                (
                    "route",
                    models.CharField(help_text="The route's name. Empty if no route was reached.", max_length=200),
                ),
                ("status", models.PositiveSmallIntegerField()),
                ("code", models.CharField(blank=True, help_text="The Error's code.", max_length=50)),
                (
                    "message",
                    models.CharField(blank=True, help_text="The Error's message, or its beginning.", max_length=300),
                ),
                ("milliseconds", models.PositiveIntegerField()),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="apikeys.apikey",
                        verbose_name="API key",
                    ),
                ),
            ],
            options={
                "verbose_name": "request",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(fields=["request_id", "id"], name="request_record_request_id"),
                    models.Index(
                        condition=models.Q(("status__gte", 400)), fields=["key", "id"], name="request_record_errors"
                    ),
                ],
            },
        ),
    ]
