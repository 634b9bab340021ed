"""`manage.py print_metrics`."""

import json
import os
import re
from contextlib import closing
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from categories.models import Category
from pets.importing.lock import only_import
from pets.models import ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from tests.server import until

pytestmark = pytest.mark.django_db


def printed(*arguments: str) -> dict[str, float]:
    """Return each sample that Prometheus would read, with its labels, except sizes of single tables."""
    out = StringIO()
    call_command("print_metrics", *arguments, stdout=out)
    families = text_string_to_metric_families(out.getvalue())
    samples = [sample for family in families for sample in family.samples if "table" not in sample.labels]
    return {" ".join([sample.name, *sample.labels.values()]): sample.value for sample in samples}


def test_keys_imports_and_sizes() -> None:
    now = timezone.now()
    for name, days in (("Soon", 3), ("Later", 20), ("Much later", 200)):
        APIKey.objects.issue(name=name, expires_at=now + timedelta(days=days))
    APIKey.objects.issue(name="Replaced", expires_at=now + timedelta(days=2))[0].rotate(grace=timedelta(hours=1))
    APIKey.objects.issue(name="Revoked", expires_at=now + timedelta(days=2))[0].revoke()
    for state, hours in (("done", 30), ("done", 20), ("failed", 10)):
        ImportRun.objects.create(state=state, options={}, finished_at=now - timedelta(hours=hours))
    ImportRun.objects.create(state="running", options={})
    samples = printed()
    assert samples.pop("petstore_database_bytes") > 0
    assert samples.pop("petstore_data_metrics_timestamp_seconds") == pytest.approx(now.timestamp(), abs=60)
    assert samples.pop("petstore_wal_archive_failing", 0) == 0
    samples = {name: value for name, value in samples.items() if not name.startswith("petstore_feed_delay")}
    new = samples["petstore_api_keys_expiring 7d"]
    assert samples == {
        "petstore_api_keys_expiring 1d": 0,
        "petstore_api_keys_expiring 7d": new,
        "petstore_api_keys_expiring 30d": new + 1,
        "petstore_last_import_timestamp_seconds done": round((now - timedelta(hours=20)).timestamp()),
        "petstore_last_import_timestamp_seconds failed": round((now - timedelta(hours=10)).timestamp()),
    }
    assert new == 2  # Soon, and the key that replaced another


@pytest.mark.postgresql("SQLite has one size for all tables")
def test_tables_of_postgresql() -> None:
    out = StringIO()
    call_command("print_metrics", stdout=out)
    assert re.search(r'^petstore_table_bytes\{table="pets_pet"\} [1-9]\d*$', out.getvalue(), re.MULTILINE)
    assert re.search(r'^petstore_table_rows\{table="pets_pet"\} \d+$', out.getvalue(), re.MULTILINE)


def test_backups(tmp_path: Path) -> None:
    made = {
        "base/20260101T000000Z": 100,
        "base/20260102T000000Z": 200,
        "base/.20260103T000000Z.part": 250,
        "dump/20260102T000000Z.dump": 300,
        "dump/20260103T000000Z.dump.part": 350,
    }
    for name, at in made.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.mkdir() if name.startswith("base") else file.touch()
        os.utime(file, (at, at))
    samples = {name: value for name, value in printed("--backups", str(tmp_path)).items() if "backup" in name}
    assert samples == {
        "petstore_last_backup_timestamp_seconds base": 200,
        "petstore_last_backup_timestamp_seconds dump": 300,
    }


def test_backups_that_cannot_be_read_are_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "base").touch()
    with pytest.raises(CommandError, match=r"^The backups in .*/base cannot be read: Not a directory\.$"):
        printed("--backups", str(tmp_path))


def test_json() -> None:
    out = StringIO()
    call_command("print_metrics", "--json", stdout=out)
    result: Any = json.loads(out.getvalue())
    assert result[0] == {"metric": "petstore_api_keys_expiring", "labels": {"within": "1d"}, "value": 0}


def delay() -> dict[str, float]:
    return {
        name.partition(" ")[2]: value for name, value in printed().items() if name.startswith("petstore_feed_delay")
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql("SQLite's feed waits for nothing")
def test_the_feed_says_for_what_it_waits(category: Category) -> None:
    with closing(connection.copy()) as other:
        other.set_autocommit(False)
        other.cursor().execute("SELECT pg_current_xact_id()")
        Pet.objects.create(name="Rex", category=category)
        Pet.history.update(history_date=timezone.now() - timedelta(minutes=20))
        [(by, seconds)] = delay().items()
        assert by.startswith("process ")  # a transaction of another test can be older
        assert seconds == pytest.approx(1200, abs=60)
        with only_import():
            run = ImportRun.objects.create(state="running", options={})
            assert [*delay()] == [f"import {run.pk}"]
    until(lambda: delay() == {"": 0}, seconds=300)  # as long as that one runs
