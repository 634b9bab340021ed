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
    found = tables if reset_sequences else _with_rows(tables)
    sql = connection.ops.sql_flush(no_style(), sorted(found), reset_sequences=reset_sequences, allow_cascade=True)
    connection.ops.execute_sql_flush(sql)


def _rows() -> list[set[Any]]:
    return [set(model._default_manager.values_list()) for model in FILLED]


def _with_rows(tables: set[str]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in tables))
        return {table for (table,) in cursor.fetchall()}
