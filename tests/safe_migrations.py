"""Reject migrations that stop a running service or break the release before them: part of `make lint`.

CONTRIBUTING.md has the rules. A migration that breaks one on purpose says why it is safe: `reviewed = "…"`.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import django
from django.db import migrations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

OURS = {"apikeys", "categories", "changes", "idempotency", "pets", "request_desk", "staff"}

REASONS: dict[type[Operation], str] = {
    migrations.RemoveField: "the release before still reads the column. Remove it one release after the last code",
    migrations.DeleteModel: "the release before still reads the table. Remove it one release after the last code",
    migrations.RenameField: "the release before knows only the old name. Add, copy, switch, then remove",
    migrations.RenameModel: "the release before knows only the old name. Add, copy, switch, then remove",
    migrations.AlterModelTable: "the release before knows only the old name",
    migrations.AlterField: "it can rewrite the table, or forbid what the release before writes",
    migrations.AlterUniqueTogether: "it locks the table while it builds an index",
    migrations.AddIndex: "it locks the table while it builds the index. Use CREATE INDEX CONCURRENTLY",
    migrations.RemoveIndex: "it locks the table. Use DROP INDEX CONCURRENTLY",
    migrations.AddConstraint: "it locks the table while it reads all rows. Add it NOT VALID, then validate it",
    migrations.RunSQL: "no one can see from outside what it locks",
    migrations.RunPython: "no one can see from outside what it locks",
}


def findings(migration: migrations.Migration) -> Iterator[str]:
    """Yield a sentence for each dangerous operation; those on tables that the migration creates are none."""
    if getattr(migration, "reviewed", ""):
        return
    created: set[str] = set()
    for operation in _flat(migration.operations):
        if isinstance(operation, migrations.CreateModel):
            created.add(operation.name_lower)
            continue
        model = getattr(operation, "model_name_lower", getattr(operation, "name_lower", ""))
        reason = None if model in created else _reason(operation)
        if reason:
            yield f"{migration.app_label}.{migration.name}: {operation.describe()}: {reason}."


def _flat(operations: Iterable[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from _flat(operation.database_operations)
        else:
            yield operation


def _reason(operation: Operation) -> str | None:
    if isinstance(operation, migrations.AddField):
        return _reason_of_column(operation.field)
    return next((reason for kind, reason in REASONS.items() if type(operation) is kind), None)


def _reason_of_column(field: Any) -> str | None:
    if not field.null and not field.has_db_default() and not field.many_to_many:
        return "the release before does not write the column. Make it nullable, or give it a db_default"
    if field.unique or field.db_index:
        return "it locks the table while it builds the index. Add the column without, then the index CONCURRENTLY"
    return None


def main() -> int:
    """Print what is dangerous in our migrations; return 1 if something is."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
    django.setup()
    ours = [each for (app, _), each in sorted(MigrationLoader(None).disk_migrations.items()) if app in OURS]
    later = [
        each for each in ours if not each.initial and not each.replaces
    ]  # the others only ever run on empty tables
    found = [line for migration in later for line in findings(migration)]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
