"""What was done before becomes changes too: imports, their undos, undos of single edits, restores, deletions.

Rows of history get the change that they were a part of, block by block; all else of them stays as it was written. It
can be stopped and run again, and goes on then.
"""

from collections import defaultdict
from contextlib import contextmanager
from time import sleep

from django.db import connection, migrations, transaction
from django.db.models import Count, F, Max, Min, Q

BLOCK = 1_000
UNDO, RESTORED = "Undo of change ", "Restored"
COMMON = {"column": "", "state": "done"}
IMPORTED = ("done", "partly undone", "undone")


@contextmanager
def _block():
    """Write in one transaction. Then others, who look for SQLite's one lock ten times a second, have their turn."""
    with transaction.atomic():
        yield
    if connection.vendor == "sqlite":
        sleep(0.2)


def _adopt(apps, schema_editor):
    change, run, row = (
        apps.get_model(*name) for name in (("changes", "Change"), ("pets", "ImportRun"), ("pets", "PetChange"))
    )
    for undo in change.objects.filter(undo_of__isnull=False, kind="bulk change").select_related("undo_of"):
        passed = undo.undo_of.changed if undo.state == "done" else 0
        change.objects.filter(pk=undo.pk).update(kind="undo", passed=passed)
    _adopt_imports(change, run)
    wanted = Q(undo_of__isnull=False) | Q(history_change_reason__startswith=UNDO)
    wanted |= Q(history_change_reason=RESTORED)
    rest, reached = row.objects.filter(wanted, change=None).order_by("history_id"), 0
    while rows := list(rest.filter(history_id__gt=reached)[:BLOCK]):
        _adopt_rows(change, run, row, rows)
        reached = rows[-1].history_id
    _adopt_deletions(change, row)


def _adopt_imports(change, run):
    some = Q(created__gt=0) | Q(updated__gt=0)
    for each in run.objects.filter(some, change=None, state__in=IMPORTED).defer("rejects"):
        with _block():
            at = each.finished_at or each.started_at
            counts = {"added": each.created, "changed": each.updated}
            made = _record(change, at, kind="import", who=each.who, what=each.file_name, **counts)
            run.objects.filter(pk=each.pk).update(change=made)


def _adopt_rows(change, run, row, found):
    parts = defaultdict(list)
    for each in found:
        parts[_of_import(each) or ("row", each.history_id)].append(each)
    with _block():
        for of, rows in parts.items():
            made = _undo_of_import(change, run, rows) if of[0] == "import" else _undo_of_one(change, row, rows[0])
            if made is not None:
                row.objects.filter(history_id__in=[each.history_id for each in rows]).update(change=made)


def _of_import(row):
    return row.undo_of_id and ("import", row.undo_of_id, row.history_date)


def _undo_of_import(change, run, rows):
    """Return the record of an undo of an import, which had one transaction and one time; a part of it may be there."""
    first = rows[0]
    undone = run.objects.filter(pk=first.undo_of_id).values_list("change", flat=True).first()
    if undone is None:
        return None
    made = change.objects.filter(undo_of=undone, made_at=first.history_date).first()
    if made is None:
        who = first.actor.removeprefix(f"undo of import {first.undo_of_id} by ")
        made = _record(change, first.history_date, kind="undo", who=who, what="", undo_of_id=undone)
    deleted = sum(each.history_type == "-" for each in rows)
    change.objects.filter(pk=made.pk).update(
        deleted=F("deleted") + deleted, changed=F("changed") + len(rows) - deleted, passed=F("passed") + len(rows)
    )
    return made


def _undo_of_one(change, row, each):
    """Return the record of the undo of an edit, or of a restore, of one animal."""
    if each.history_change_reason == RESTORED:
        deletions = row.objects.filter(id=each.id, history_id__lt=each.history_id, history_type="-")
        number = deletions.aggregate(last=Max("history_id"))["last"]
        kind = {"kind": "restore", "added": 1}
    else:
        number, kind = int(each.history_change_reason.removeprefix(UNDO)), {"kind": "undo", "changed": 1}
    who = {"who": each.actor, "user_id": each.history_user_id, "request_id": each.request_id}
    return _record(change, each.history_date, **kind, **who, what=each.name, undo_of_row=number, passed=1)


def _adopt_deletions(change, row):
    """Several animals that one request deleted are one change."""
    single = row.objects.filter(history_type="-", change=None, undo_of=None).exclude(request_id="").order_by()
    groups = single.values("request_id", "actor", "history_user_id").annotate(
        count=Count("*"), at=Max("history_date"), first=Min("history_id"), last=Max("history_id")
    )
    for each in groups.filter(count__gt=1):
        who = {"who": each["actor"], "user_id": each["history_user_id"], "request_id": each["request_id"]}
        with _block():
            made = _record(change, each["at"], kind="deletion", **who, what="", deleted=each["count"])
            rows = single.filter(history_id__range=(each["first"], each["last"]))
            rows.filter(request_id=each["request_id"], actor=each["actor"]).update(change=made)


def _record(change, at, **values):
    made = change.objects.create(**COMMON, ended_at=at, **values)
    change.objects.filter(pk=made.pk).update(made_at=at)
    return made


def _back(apps, schema_editor):
    """Take away what the release before takes for bulk changes: only those have a column."""
    change, run, row = (
        apps.get_model(*name) for name in (("changes", "Change"), ("pets", "ImportRun"), ("pets", "PetChange"))
    )
    others = change.objects.filter(column="")
    run.objects.exclude(change=None).update(change=None)
    for number in others.values_list("pk", flat=True):
        row.objects.filter(change=number).update(change=None)
    apps.get_model("categories", "CategoryChange").objects.exclude(change=None).update(change=None)
    change.objects.filter(undo_of__in=others).update(undo_of=None)
    others.update(undo_of=None)
    others.delete()


RUNNING = "change_that_runs ON pets_bulkchange (id) WHERE state = 'running'"


def _index(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    _drop_index(apps, schema_editor)  # what a migration that was stopped has left is not valid
    schema_editor.execute(f"CREATE INDEX {concurrently} {RUNNING}")


def _drop_index(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS change_that_runs")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "It locks only rows of history, which nothing changes, and those of one block at a time."
    dependencies = [("pets", "0014_column_profiles"), ("categories", "0004_changes")]

    operations = [migrations.RunPython(_index, _drop_index), migrations.RunPython(_adopt, _back)]
