"""API keys, their history and their use."""

import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
import petstore_site.apikeys.models
import simple_history.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("apikeys", "0001_api_keys"), ("apikeys", "0002_recording")]

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="APIKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="Who or what uses the key.",
                        max_length=100,
                        validators=[petstore_site.apikeys.models.validate_line],
                    ),
                ),
                (
                    "contact",
                    models.CharField(
                        blank=True,
                        help_text="Whom to ask or warn about the key.",
                        max_length=200,
                        validators=[petstore_site.apikeys.models.validate_line],
                    ),
                ),
                ("key_id", models.CharField(max_length=8, unique=True, verbose_name="key id")),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "scope",
                    models.CharField(
                        choices=[("read", "Read"), ("write", "Write")],
                        default="write",
                        help_text="A write key may also read.",
                        max_length=5,
                    ),
                ),
                (
                    "rate_limit",
                    models.CharField(
                        blank=True,
                        help_text="Such as 600/min; units are s, min, h and day. Empty: the service's own limit.",
                        max_length=20,
                        validators=[petstore_site.apikeys.models.validate_rate_limit],
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="In UTC. Empty: the key does not expire.",
                        null=True,
                        validators=[petstore_site.apikeys.models.validate_expiry],
                    ),
                ),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "replaced_by",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replaces",
                        to="apikeys.apikey",
                    ),
                ),
                (
                    "reads_left",
                    models.PositiveIntegerField(
                        db_default=0, default=0, editable=False, help_text="How many of them at most."
                    ),
                ),
                (
                    "recorded_until",
                    models.DateTimeField(editable=False, help_text="Successful reads are recorded too.", null=True),
                ),
            ],
            options={
                "verbose_name": "API key",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["read", "write"])), name="api_key_scope_is_known"
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(django.db.models.functions.text.Length("key_id"), 8),
                        name="api_key_id_has_its_length",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(django.db.models.functions.text.Length("digest"), 64),
                        name="api_key_digest_has_its_length",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="APIKeyChange",
            fields=[
                ("id", models.BigIntegerField(auto_created=True, blank=True, verbose_name="ID")),
                (
                    "actor",
                    models.CharField(
                        blank=True,
                        help_text='Who, in words that stay: "staff anna", "key Ab3dE6gH", "import 12".',
                        max_length=200,
                    ),
                ),
                (
                    "request_id",
                    models.CharField(blank=True, help_text="The X-Request-ID of the request, if any.", max_length=128),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Who or what uses the key.",
                        max_length=100,
                        validators=[petstore_site.apikeys.models.validate_line],
                    ),
                ),
                (
                    "contact",
                    models.CharField(
                        blank=True,
                        help_text="Whom to ask or warn about the key.",
                        max_length=200,
                        validators=[petstore_site.apikeys.models.validate_line],
                    ),
                ),
                ("key_id", models.CharField(max_length=8, verbose_name="key id")),
                (
                    "scope",
                    models.CharField(
                        choices=[("read", "Read"), ("write", "Write")],
                        default="write",
                        help_text="A write key may also read.",
                        max_length=5,
                    ),
                ),
                (
                    "rate_limit",
                    models.CharField(
                        blank=True,
                        help_text="Such as 600/min; units are s, min, h and day. Empty: the service's own limit.",
                        max_length=20,
                        validators=[petstore_site.apikeys.models.validate_rate_limit],
                    ),
                ),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="In UTC. Empty: the key does not expire.",
                        null=True,
                        validators=[petstore_site.apikeys.models.validate_expiry],
                    ),
                ),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("history_id", models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ("history_date", models.DateTimeField()),
                ("history_change_reason", models.CharField(max_length=100, null=True)),
                (
                    "history_type",
                    models.CharField(choices=[("+", "Created"), ("~", "Changed"), ("-", "Deleted")], max_length=1),
                ),
                (
                    "history_user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="apikeys.apikey",
                    ),
                ),
                (
                    "recorded_until",
                    models.DateTimeField(editable=False, help_text="Successful reads are recorded too.", null=True),
                ),
            ],
            options={
                "verbose_name": "change of an API key",
                "verbose_name_plural": "changes of API keys",
                "ordering": ("-history_date", "-history_id"),
                "get_latest_by": ("history_date", "history_id"),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name="KeyUsage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("route", models.CharField(max_length=200)),
                ("status_class", models.PositiveSmallIntegerField()),
                ("count", models.BigIntegerField()),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="usage",
                        to="apikeys.apikey",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "key usage",
                "indexes": [models.Index(fields=["day"], name="key_usage_day")],
                "constraints": [
                    models.UniqueConstraint(fields=("key", "day", "route", "status_class"), name="one_count_per_use"),
                    models.CheckConstraint(
                        condition=models.Q(("status_class__range", (1, 5))), name="key_usage_status_class_is_known"
                    ),
                    models.CheckConstraint(condition=models.Q(("count__gt", 0)), name="key_usage_count_is_positive"),
                ],
            },
        ),
        # History is read as "the change before this one of the same thing".
        migrations.RunSQL(
            "CREATE INDEX api_key_change_before ON apikeys_apikeychange (id, history_id)",
            "DROP INDEX api_key_change_before",
        ),
    ]
