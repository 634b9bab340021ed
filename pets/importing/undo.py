"""Takes back what an import did, as far as nobody has changed it since."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils import timezone

from categories.models import Category
from history.accounts import account
from pets.columns import each
from pets.importing.errors import ImportRefusedError
from pets.importing.lock import only_import
from pets.importing.progress import Progress
from pets.importing.run import Sender
from pets.importing.sql import execute, stream
from pets.importing.transactions import hang_up, roomy, write_at_once
from pets.models import ImportRun, ImportState

CHANGED, GONE, CATEGORY_GONE = "changed since", "deleted since", "its former category was deleted"


@dataclass(frozen=True, slots=True)
class Left:
    """An animal that was left as it is, and why."""

    pet_id: int
    reason: str


@dataclass(frozen=True)
class Undone:
    """How much was taken back, and what was left."""

    run: ImportRun
    deleted: int
    restored: int
    categories: int
    left: list[Left]


def undo_import(number: int, progress: Progress, *, dry_run: bool, sender: Sender | None = None) -> Undone:
    """Delete the animals that the import added, and give those that it changed their values back.

    An animal that was changed after the import is left and listed. Categories that the import added go too, if they
    are empty and nobody renamed them. All or nothing; the history tells of it, in the name of `sender` or of the
    account that runs this. Raises `ImportRefusedError`.
    """
    made: list[Undone] = []
    by = sender or Sender(who=account())
    with only_import(), roomy():
        run = _done(number)
        if connection.vendor == "postgresql":
            execute("ANALYZE pets_petchange")  # or what an import brought a moment ago is looked for in the wrong order
        try:
            with progress.working(f"Undoing {run}"):
                write_at_once(lambda: made.append(_undo(run, by)), dry_run=dry_run)
        except KeyboardInterrupt:
            hang_up()
            run.refresh_from_db()
            if run.state != ImportState.UNDONE:
                raise
        execute("DROP TABLE IF EXISTS undo_pets")
    return made[-1]


def _done(number: int) -> ImportRun:
    run = ImportRun.objects.filter(pk=number).first()
    if run is None:
        message = f"There is no import {number}; list_imports shows them."
        raise ImportRefusedError(message)
    if run.state == ImportState.UNDONE:
        message = f"Import {number} was undone already, at {run.undone_at:%Y-%m-%d %H:%M} UTC."
        raise ImportRefusedError(message)
    if run.state != ImportState.DONE:
        message = f"Import {number} wrote nothing ({run.state}), so there is nothing to take back."
        raise ImportRefusedError(message)
    return run


PLAN = """
CREATE TEMPORARY TABLE undo_pets AS
SELECT h.id, h.history_type = '+' AS is_new, before.history_id AS before_id,
    CASE WHEN p.id IS NULL THEN '{gone}'
         WHEN EXISTS (SELECT 1 FROM pets_petchange l WHERE l.id = h.id AND l.history_id > h.history_id) THEN '{changed}'
         WHEN h.history_type = '~' AND c.id IS NULL THEN '{category_gone}'
         ELSE '' END AS reason
FROM pets_petchange h
LEFT JOIN pets_pet p ON p.id = h.id
LEFT JOIN pets_petchange before ON h.history_type = '~' AND before.history_id =
    (SELECT max(b.history_id) FROM pets_petchange b WHERE b.id = h.id AND b.history_id < h.history_id)
LEFT JOIN categories_category c ON c.id = before.category_id
WHERE h.import_run_id = %s
"""

RESTORE = f"""
UPDATE pets_pet SET {each("{c} = b.{c}")}, updated_at = %s
FROM undo_pets u JOIN pets_petchange b ON b.history_id = u.before_id
WHERE u.id = pets_pet.id AND u.reason = '' AND NOT u.is_new
"""

TELL = f"""
INSERT INTO pets_petchange (id, {each("{c}")}, history_date, history_type, actor, request_id)
SELECT p.id, {each("p.{c}")}, %s, CASE WHEN u.is_new THEN '-' ELSE '~' END, %s, %s
FROM undo_pets u JOIN pets_pet p ON p.id = u.id WHERE u.reason = ''
"""

DELETE = "DELETE FROM pets_pet WHERE id IN (SELECT id FROM undo_pets WHERE reason = '' AND is_new)"


def _undo(run: ImportRun, by: Sender) -> Undone:
    now = timezone.now()
    at = connection.ops.adapt_datetimefield_value(now)
    execute(PLAN.format(gone=GONE, changed=CHANGED, category_gone=CATEGORY_GONE), [run.pk])
    counts = dict(stream("SELECT is_new, count(*) FROM undo_pets WHERE reason = '' GROUP BY is_new"))
    execute(RESTORE, [at])
    execute(TELL, [at, f"undo of {run} by {by.who}", by.request_id])
    execute(DELETE)
    categories = _delete_categories(run)
    left = [Left(*row) for row in stream("SELECT id, reason FROM undo_pets WHERE reason <> '' ORDER BY id")]
    _record(run, now, left, by)
    return Undone(run, counts.get(True, 0), counts.get(False, 0), categories, left)


def _delete_categories(run: ImportRun) -> int:
    """Delete what the import added and nobody has used or changed since."""
    added = Category.objects.filter(pk__in=run.new_categories, pets=None, updated_at__lte=run.finished_at)
    return added.delete()[0]


def _record(run: ImportRun, now: datetime, left: list[Left], by: Sender) -> None:
    run.state, run.undone_at = ImportState.UNDONE, now
    stayed = f"; {len(left):,} animals were left as they are" if left else ""
    run.outcome = f"It was undone by {by.who}{stayed}."
    run.save()
