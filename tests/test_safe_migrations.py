"""The check of migrations in `make lint`."""

import subprocess
import sys
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.operations.base import Operation

from tests.safe_migrations import findings
from tests.server import ROOT

NAME = models.CharField(max_length=10)
INDEX = models.Index(fields=["name"], name="x")


def found(*operations: Operation, **attributes: Any) -> list[str]:
    migration: Any = migrations.Migration("0004_test", "pets")
    migration.operations = list(operations)
    for name, value in attributes.items():
        setattr(migration, name, value)
    return list(findings(migration))


DANGEROUS = [
    migrations.AddField("pet", "colour", NAME),
    migrations.AddField("pet", "colour", models.CharField(max_length=10, default="red")),
    migrations.AddField("pet", "colour", models.CharField(max_length=10, null=True, unique=True)),
    migrations.AddField("pet", "colour", models.ForeignKey("pets.Pet", models.PROTECT, null=True)),
    migrations.RemoveField("pet", "name"),
    migrations.RenameField("pet", "name", "title"),
    migrations.AlterField("pet", "name", NAME),
    migrations.RenameModel("Pet", "Animal"),
    migrations.DeleteModel("Pet"),
    migrations.AddIndex("pet", INDEX),
    migrations.RemoveIndex("pet", "x"),
    migrations.AddConstraint("pet", models.CheckConstraint(condition=models.Q(name="x"), name="x")),
    migrations.AlterModelTable("pet", "animals"),
    migrations.RunSQL("LOCK TABLE pets_pet"),
    migrations.RunPython(migrations.RunPython.noop),
    migrations.SeparateDatabaseAndState(database_operations=[migrations.RemoveField("pet", "name")]),
]
SAFE = [
    migrations.AddField("pet", "colour", models.CharField(max_length=10, null=True)),
    migrations.AddField("pet", "colour", models.CharField(max_length=10, db_default="red")),
    migrations.AlterModelOptions("pet", {"ordering": ["id"]}),
    migrations.RemoveConstraint("pet", "x"),
    migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("pet", "name")]),
]


@pytest.mark.parametrize("operation", DANGEROUS, ids=lambda operation: type(operation).__name__)
def test_dangerous(operation: Operation) -> None:
    lines = found(operation)
    assert len(lines) == 1
    assert lines[0].startswith("pets.0004_test: ")
    assert found(operation, reviewed="The table has ten rows.") == []


@pytest.mark.parametrize("operation", SAFE, ids=lambda operation: type(operation).__name__)
def test_safe(operation: Operation) -> None:
    assert found(operation) == []


def test_a_new_table_can_be_changed_in_its_own_migration() -> None:
    new = migrations.CreateModel("Visit", [("name", NAME)])
    assert found(new, migrations.AddField("visit", "colour", NAME), migrations.AddIndex("visit", INDEX)) == []


def test_ours_are_safe() -> None:
    done = subprocess.run([sys.executable, "tests/safe_migrations.py"], cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
