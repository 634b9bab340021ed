"""Categories and their history, and the function by which PostgreSQL folds a name for the search.

On SQLite each connection gets it. It is `fold` of `database/search.py` in SQL: another fold needs another function, and
another index of animals. A plain expression, so that PostgreSQL puts it into the statements that call it. ASCII, and
letters that are folded already, take a shorter way: an import folds each name.
"""

import categories.names
import django.db.models.deletion
import simple_history.models
from django.conf import settings
from django.core.management import CommandError
from django.db import migrations, models

NOT_UNICODE = "Names need a database with the encoding UTF8. This one has {encoding}."

DROPPED = (
    r"\u0300-\u036F\u0483-\u0489\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F"
    r"\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7"
    r"\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED\u08CA-\u08E1\u08E3-\u08FF"
    r"\u0711\u0730-\u074A"
    r"\u00AD\u061C\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFEFF\U000E0000-\U000E0FFF"
)
BEGINNINGS = (
    r"\u2E80-\u2FDF\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u3096\u309D-\u30FF\u3105-\u312F\u31A0-\u31BF\u31F0-\u31FF"
    r"\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF"
)
PLAIN = (
    r" -~\u00C6\u00D8\u00E6\u00F8\u0110\u0111\u0141\u0142\u0152\u0153"
    r"\u0391-\u03A1\u03A3-\u03A9\u03B1-\u03C1\u03C3-\u03C9"
    r"\u0404\u0406\u0410-\u0418\u041A-\u0438\u043A-\u044F\u0454\u0456"
    r"\u05D0-\u05EA\u0627-\u063A\u0641-\u064A"
    r"\u0904-\u0928\u092A-\u0930\u0932\u0933\u0935-\u0939\u093E-\u094C"
    r"\u0E01-\u0E32\u0E34-\u0E37\u0E40-\u0E47"
    r"\u3041-\u3096\u30A1-\u30FA\u30FC-\u30FE\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7A3"
    r"\U0001F300-\U0001F64F\U0001F900-\U0001F9FF"
)
"""Letters that are their own NFKD and that nothing combines with, but for their case."""

CREATE = rf"""
CREATE FUNCTION search_fold(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE
WHEN octet_length(t) = length(t) AND t NOT LIKE '%  %' THEN lower(t)
WHEN t !~ '[^{PLAIN}]|  ' THEN regexp_replace(lower(t), '(?<! )(?=[{BEGINNINGS}])', ' ', 'g')
ELSE regexp_replace(
    regexp_replace(
        normalize(
            regexp_replace(
                replace(translate(lower(normalize(t, NFKD)), U&'\03C2\0131\1680\2028\2029', U&'\03C3i   '), U&'\00DF', 'ss'),
                '[{DROPPED}]+', '', 'g'
            ),
            NFC
        ),
        ' {{2,}}', ' ', 'g'
    ),
    '(?<! )(?=[{BEGINNINGS}])', ' ', 'g'
)
END
"""


def _create(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        [encoding] = cursor.fetchone()
    if encoding != "UTF8":  # then `normalize` fails, and with it each name that is not ASCII
        raise CommandError(NOT_UNICODE.format(encoding=encoding))
    schema_editor.execute(CREATE, params=None)


def _drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION search_fold(text)")


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("categories", "0001_categories"),
        ("categories", "0002_category_icons"),
        ("categories", "0003_search_fold"),
        ("categories", "0004_changes"),
    ]

    dependencies = [("changes", "0001_squashed_0002_merges"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Category",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    categories.names.NameField(
                        max_length=255, unique=True, validators=[categories.names.validate_name]
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "icon",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Paw"),
                            ("bird", "Bird"),
                            ("bug", "Bug"),
                            ("cat", "Cat"),
                            ("dog", "Dog"),
                            ("fish", "Fish"),
                            ("rabbit", "Rabbit"),
                            ("rat", "Rat"),
                            ("shrimp", "Shrimp"),
                            ("snail", "Snail"),
                            ("squirrel", "Squirrel"),
                            ("turtle", "Turtle"),
                            ("worm", "Worm"),
                        ],
                        db_default="",
                        default="",
                        help_text="Beside the animals of the category, for staff only: the API does not show it.",
                        max_length=20,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "categories",
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="category_name_is_not_empty"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CategoryChange",
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
                ("name", categories.names.NameField(max_length=255, validators=[categories.names.validate_name])),
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
                    "icon",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Paw"),
                            ("bird", "Bird"),
                            ("bug", "Bug"),
                            ("cat", "Cat"),
                            ("dog", "Dog"),
                            ("fish", "Fish"),
                            ("rabbit", "Rabbit"),
                            ("rat", "Rat"),
                            ("shrimp", "Shrimp"),
                            ("snail", "Snail"),
                            ("squirrel", "Squirrel"),
                            ("turtle", "Turtle"),
                            ("worm", "Worm"),
                        ],
                        db_default="",
                        default="",
                        help_text="Beside the animals of the category, for staff only: the API does not show it.",
                        max_length=20,
                    ),
                ),
                (
                    "change",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="%(class)s_rows",
                        to="changes.change",
                    ),
                ),
            ],
            options={
                "verbose_name": "change of a category",
                "verbose_name_plural": "changes of categories",
                "ordering": ("-history_date", "-history_id"),
                "get_latest_by": ("history_date", "history_id"),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.RunPython(_create, _drop),
    ]
