"""Undoes what an import did, as far as nobody has changed it since."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from categories.models import Category
from changes.accounts import account
from changes.acting import acting
from changes.naming import who
from pets.bulk import CATEGORY_GONE, CHANGED, GONE
from pets.columns import NAME, REFERENCE, each
from pets.importing.errors import ImportRejectedError, OutcomeUnknownError
from pets.importing.lock import only_import
from pets.importing.options import Sender
from pets.importing.progress import Progress
from pets.importing.sql import execute, stream
from pets.importing.stopping import too_late
from pets.importing.transactions import clear_rejections, disconnect, long_statements, write_at_once
from pets.models import STANDING, ImportRun, ImportState

REFERENCE_TAKEN = "its former reference belongs to another animal now"
LISTED = 100
"""Animals that are left and held in memory."""

UNKNOWN = (
    "The database was lost while the undo of {run} was being saved, so it is not known whether it was. When the "
    "database responds again, list_imports shows its result."
)


class Left(NamedTuple):
    """An animal that is left as it is, and why."""

    pet_id: int
    name: str
    """Its last one if it was deleted."""
    reason: str


@dataclass(frozen=True)
class Undone:
    """How much was undone, and what was left: how many, and the first `LISTED` of them."""

    run: ImportRun
    deleted: int
    restored: int
    categories: int
    left_count: int
    left: list[Left]


@dataclass(frozen=True)
class Undoable:
    """What undoing an import would do."""

    run: ImportRun
    deleted: int
    restored: int
    left: dict[str, int]
    """How many animals are left as they are, by the reason."""
    animals: list[Left]
    """The first `LISTED` of them."""

    @property
    def sentence(self) -> str:
        """Return it in words, without what follows."""
        run = self.run
        left = [f"{count:,} left because {_why(reason, count)}" for reason, count in self.left.items()]
        counts = [f"{_animals(self.deleted)} removed", f"{self.restored:,} set back", *left]
        return (
            f"Undo {run} of {run.file_name} by {who(run.who)}, {run.started_at:%Y-%m-%d %H:%M} UTC: {', '.join(counts)}"
        )

    @property
    def count(self) -> int:
        """How many animals would be undone."""
        return self.deleted + self.restored

    @property
    def left_count(self) -> int:
        """How many animals are left."""
        return sum(self.left.values())


def _why(reason: str, count: int) -> str:
    """Return the reason as part of a sentence; `CHANGED` and `GONE` have no subject."""
    they = "it was " if count == 1 else "they were "
    return f"{they}{reason}" if reason in {CHANGED, GONE} else reason


def _animals(count: int) -> str:
    return f"{count:,} {'animal' if count == 1 else 'animals'}"


def undoable(number: int) -> Undoable:
    """Return what `undo_import` would do now; raises `ImportRejectedError` if there is nothing to undo."""
    undo = _Undo(_standing(number), Sender(who=account()), lambda _left: None)
    with clear_rejections(), long_statements():
        return write_at_once(undo.count, dry_run=True)


def undo_import(
    number: int,
    progress: Progress,
    *,
    dry_run: bool,
    sender: Sender | None = None,
    see_left: Callable[[Iterator[Left]], None] = lambda _left: None,
) -> Undone:
    """Delete the animals that the import added, and give those that it changed their former values.

    An animal whose values are no longer those that the import left is left as it is and listed; a later call undoes
    what has the import's values again by then. Categories that the import added go too, if they are empty and nobody
    renamed them. All or nothing; the history shows it, in the name of `sender` or of the account that runs this.
    `see_left` gets all animals that are left, before the commit; again if the transaction has to start again. Raises
    `ImportRejectedError`, and `OutcomeUnknownError` if the database was lost in the very moment of the commit.
    """
    with only_import(), clear_rejections():
        undo = _Undo(_standing(number), sender or Sender(who=account()), see_left)
        try:
            with long_statements(), progress.working(f"Undoing {undo.run}"):
                return undo.do(dry_run=dry_run)
        except BaseException as error:  # noqa: BLE001 - all of them are raised again, if nothing was written
            return undo.settle(error)


def _standing(number: int) -> ImportRun:
    run = ImportRun.objects.filter(pk=number).first()
    if run is None:
        message = f"There is no import {number}. list_imports shows them."
        raise ImportRejectedError(message)
    if run.state == ImportState.UNDONE:
        message = f"Nothing changed. Import {number} was already undone, at {run.undone_at:%Y-%m-%d %H:%M} UTC."
        raise ImportRejectedError(message)
    if run.state not in STANDING:
        message = f"Nothing changed. Import {number} wrote nothing ({run.state}), so there is nothing to undo."
        raise ImportRejectedError(message)
    return run


def _same(one: str, other: str) -> str:
    """Return the condition that two rows have the same values; no value is empty, but some are NULL."""
    one, other = (f"COALESCE(CAST({row}.{{c}} AS text), '')" for row in (one, other))
    return each(f"{one} = {other}", " AND ")


# `reason` is empty for what is undone, and NULL for what someone has already put back. What an earlier undo of the
# import did is done: a change since then has nothing to do with it.
PLAN = f"""
CREATE TEMPORARY TABLE undo_pets AS
SELECT h.id, COALESCE(p.{NAME.name}, h.{NAME.name}) AS name, h.history_type = '+' AS is_new,
    before.history_id AS before_id, h.history_date AS changed_at,
    h.status <> 'sold' AND before.status = 'sold' AS was_sold,
    CASE WHEN p.id IS NULL THEN '{GONE}'
         WHEN {_same("p", "h")} THEN CASE
              WHEN h.history_type = '~' AND c.id IS NULL THEN '{CATEGORY_GONE}'
              WHEN before.{REFERENCE.name} <> COALESCE(h.{REFERENCE.name}, '') AND EXISTS (
                  SELECT 1 FROM pets_pet o WHERE o.{REFERENCE.name} = before.{REFERENCE.name}
              ) THEN '{REFERENCE_TAKEN}'
              ELSE '' END
         WHEN {_same("p", "before")} THEN NULL
         ELSE '{CHANGED}' END AS reason
FROM pets_petchange h
LEFT JOIN pets_pet p ON p.id = h.id
LEFT JOIN pets_petchange before ON h.history_type = '~' AND before.history_id =
    (SELECT max(b.history_id) FROM pets_petchange b WHERE b.id = h.id AND b.history_id < h.history_id)
LEFT JOIN categories_category c ON c.id = before.category_id
WHERE h.import_run_id = %s
"""

AND_NOT_UNDONE = """
AND NOT EXISTS (SELECT 1 FROM pets_petchange u WHERE u.id = h.id AND u.history_id > h.history_id AND u.undo_of_id = %s)
"""

RESTORE = f"""
UPDATE pets_pet SET {each("{c} = b.{c}")}, updated_at = %s
FROM undo_pets u JOIN pets_petchange b ON b.history_id = u.before_id
WHERE u.id = pets_pet.id AND u.reason = '' AND NOT u.is_new
"""

# The triggers have just written that they were sold today.
FORGET_SALES = "DELETE FROM pets_sale WHERE pet_id IN (SELECT id FROM undo_pets WHERE reason = '' AND was_sold)"
RESTORE_SALES = """
INSERT INTO pets_sale (pet_id, day)
SELECT e.pet_id, e.day FROM undo_pets u JOIN pets_endedsale e ON e.pet_id = u.id AND e.ended_at = u.changed_at
WHERE u.reason = '' AND u.was_sold ORDER BY e.id
ON CONFLICT (pet_id) DO NOTHING
"""

RECORD_CHANGES = f"""
INSERT INTO pets_petchange (id, {each("{c}")}, history_date, history_type, actor, request_id, undo_of_id)
SELECT p.id, {each("p.{c}")}, %s, CASE WHEN u.is_new THEN '-' ELSE '~' END, %s, %s, %s
FROM undo_pets u JOIN pets_pet p ON p.id = u.id WHERE u.reason = ''
"""

DELETE = "DELETE FROM pets_pet WHERE id IN (SELECT id FROM undo_pets WHERE reason = '' AND is_new)"


class _Undo:
    """One undo on its way."""

    def __init__(self, run: ImportRun, sender: Sender, see_left: Callable[[Iterator[Left]], None]) -> None:
        self.run = run
        self.sender = sender
        self.see_left = see_left
        self.is_first = run.state == ImportState.DONE
        self.undone: Undone | None = None
        """What was done, once all is written and the COMMIT is next, or was sent."""

    def do(self, *, dry_run: bool) -> Undone:
        if connection.vendor == "postgresql":
            execute("ANALYZE pets_petchange")  # or what an import brought a moment ago is looked for in the wrong order
        return write_at_once(self._undo, dry_run=dry_run)

    def settle(self, error: BaseException) -> Undone:
        """Return what was done if `error` came after the commit; else raise it."""
        too_late()
        disconnect()  # what ended it may have interrupted a statement
        if self.undone is None:
            raise error
        try:
            with transaction.atomic():  # the row is locked until a COMMIT that is on its way is done
                committed = ImportRun.objects.select_for_update().get(pk=self.run.pk).undone_at == self.run.undone_at
        except DatabaseError:
            raise OutcomeUnknownError(UNKNOWN.format(run=self.run), run=self.run.pk) from error
        if not committed:
            raise error
        return self.undone

    def count(self) -> Undoable:
        """Return what would be done, without doing it; the transaction must be rolled back."""
        self._plan()
        reasons = stream(
            "SELECT is_new, reason, count(*) FROM undo_pets WHERE reason IS NOT NULL GROUP BY 1, 2 ORDER BY 2"
        )
        counts = {(bool(is_new), reason): count for is_new, reason, count in reasons}
        left: dict[str, int] = {}
        for (_, reason), count in counts.items():
            if reason:
                left[reason] = left.get(reason, 0) + count
        animals = list(_left(f"LIMIT {LISTED}"))
        return Undoable(self.run, counts.get((True, ""), 0), counts.get((False, ""), 0), left, animals)

    def _undo(self) -> Undone:
        self.undone = None  # the transaction may have started again
        now = timezone.now()
        at = connection.ops.adapt_datetimefield_value(now)
        self._plan()
        counts = dict(stream("SELECT is_new, count(*) FROM undo_pets WHERE reason = '' GROUP BY is_new"))
        execute(RESTORE, [at])
        execute(FORGET_SALES)
        execute(RESTORE_SALES)
        execute(RECORD_CHANGES, [at, f"undo of {self.run} by {self.sender.who}", acting().request_id, self.run.pk])
        execute(DELETE)
        categories = self._delete_categories()
        self.see_left(_left())
        left_count = next(stream(f"SELECT count(*) {LEFT}"))[0]
        left = list(_left(f"LIMIT {LISTED}"))
        execute("DROP TABLE undo_pets")
        self._record(now, left_count)
        self.undone = Undone(self.run, counts.get(True, 0), counts.get(False, 0), categories, left_count, left)
        return self.undone

    def _plan(self) -> None:
        if self.is_first:
            execute(PLAN, [self.run.pk])
        else:
            execute(PLAN + AND_NOT_UNDONE, [self.run.pk, self.run.pk])

    def _delete_categories(self) -> int:
        """Delete what the import added and nobody has used or changed since."""
        run = self.run
        added = Category.objects.filter(pk__in=run.new_categories, pets=None, updated_at__lte=run.finished_at)
        return added.delete()[0]

    def _record(self, now: datetime, left: int) -> None:
        self.run.state, self.run.undone_at = ImportState.PARTLY_UNDONE if left else ImportState.UNDONE, now
        they = "1 animal was left as it is" if left == 1 else f"{left:,} animals were left as they are"
        stayed = f" {they}." if left else ""
        self.run.outcome = f"It was undone by {who(self.sender.who)}.{stayed}"
        self.run.save()


LEFT = "FROM undo_pets WHERE reason <> ''"


def _left(limit: str = "") -> Iterator[Left]:
    return (Left(*row) for row in stream(f"SELECT id, name, reason {LEFT} ORDER BY id {limit}"))
