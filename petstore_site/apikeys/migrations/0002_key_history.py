"""History of keys. Those that are there already get their first row, so that every later change has a before."""

import django.db.models.deletion
import petstore_site.apikeys.models
import simple_history.models
from django.conf import settings
from django.db import migrations, models


INDEX = "CREATE INDEX api_key_change_before ON apikeys_apikeychange (id, history_id)"

FIRST_ROWS = """
INSERT INTO apikeys_apikeychange (id, name, contact, key_id, scope, rate_limit, expires_at, revoked_at, replaced_by_id, history_date, history_type, actor, request_id)
SELECT id, name, contact, key_id, scope, rate_limit, expires_at, revoked_at, replaced_by_id, created_at, '+', 'before history was kept', '' FROM apikeys_apikey
ORDER BY id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('apikeys', '0001_api_keys'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # If they were not editable, the history would not show their changes.
        migrations.AlterField(
            model_name="apikey",
            name="revoked_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="replaced_by",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="replaces",
                to="apikeys.apikey",
            ),
        ),
        migrations.CreateModel(
            name='APIKeyChange',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, verbose_name='ID')),
                ('actor', models.CharField(blank=True, help_text='Who, in words that stay: "staff anna", "key Ab3dE6gH", "import 12".', max_length=200)),
                ('request_id', models.CharField(blank=True, help_text='The X-Request-ID of the request, if any.', max_length=128)),
                ('name', models.CharField(help_text='Who or what uses the key.', max_length=100, validators=[petstore_site.apikeys.models.validate_line])),
                ('contact', models.CharField(blank=True, help_text='Whom to ask or warn about the key.', max_length=200, validators=[petstore_site.apikeys.models.validate_line])),
                ('key_id', models.CharField(max_length=8, verbose_name='key id')),
                ('scope', models.CharField(choices=[('read', 'Read'), ('write', 'Write')], default='write', help_text='A write key may also read.', max_length=5)),
                ('rate_limit', models.CharField(blank=True, help_text="Such as 600/min; units are s, min, h and day. Empty: the service's own limit.", max_length=20, validators=[petstore_site.apikeys.models.validate_rate_limit])),
                ('expires_at', models.DateTimeField(blank=True, help_text='In UTC. Empty: the key does not expire.', null=True, validators=[petstore_site.apikeys.models.validate_expiry])),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('history_id', models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField()),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('replaced_by', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='apikeys.apikey')),
            ],
            options={
                'verbose_name': 'change of an API key',
                'verbose_name_plural': 'changes of API keys',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.RunSQL(INDEX, migrations.RunSQL.noop),
        migrations.RunSQL(FIRST_ROWS, migrations.RunSQL.noop),
    ]
