"""Empties the database after a test that committed."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection

FILLED = (ContentType, Permission, Group, Group.permissions.through)
"""The tables that `migrate` fills. To fill them again takes longer than most tests."""

_filled: list[set[Any]] = []


def empty_tables(_case: object = None) -> None:
    """Leave what Django would leave after a test: all tables empty but those, which are as `migrate` fills them."""
    if _rows() == _filled:
        empty_others()
    else:
        call_command("flush", verbosity=0, interactive=False, reset_sequences=False)
        _filled[:] = _rows()


def empty_others(*, reset_sequences: bool = False) -> None:
    """Empty all tables but those that `migrate` fills."""
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    tables -= {model._meta.db_table for model in FILLED}
    if connection.vendor == "postgresql":
        tables = _used(tables)
    sql = connection.ops.sql_flush(no_style(), sorted(tables), reset_sequences=reset_sequences, allow_cascade=True)
    connection.ops.execute_sql_flush(sql)


def _rows() -> list[set[Any]]:
    return [set(model._default_manager.values_list()) for model in FILLED]


def _used(tables: set[str]) -> set[str]:
    """Return those with rows, or with what is left of rows: to truncate all takes four times as long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND pg_relation_size(oid) > 0", [[*tables]]
        )
        return {table for (table,) in cursor.fetchall()}
