"""An import from its file to its record: what is done in which order, and what the record says of it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone

from categories.models import Category
from changes.models import Change, Kind, State
from files import staging
from files.changes import MOST_SHOWN, Changes, look, planned_for_page
from files.checking import ACCEPT, Check, errors_of
from files.errors import AlreadyImportedError, FileError, ImportRejectedError, OutcomeUnknownError, UndecodableError
from files.lock import only_import
from files.matching import by_profile, with_encodings
from files.options import MOST_REJECTED, MOST_ROWS, REJECTED, Options, Outcome, Sender
from files.progress import Progress
from files.readers import read
from files.readers.rows import Block, Cells, DamagedRow
from files.rejects import SHOWN, Rejects, RejectsFile
from files.report import IF_FOREIGN, IF_RIGHT, altered, foreign_ids
from files.source import Source, open_source
from files.stopping import stop_if_asked, too_late
from files.transactions import clear_rejections, disconnect, long_statements, write_at_once
from history.acting import account, acting
from history.naming import who
from pets.columns import ColumnValues, RowValues
from pets.models import STANDING, ImportRun, ImportState

SAME_FILE = (
    'Nothing changed. This file was already imported: {earlier} by {who}, {at} UTC, as "{name}". Importing it again '
    "would add its animals without an external reference twice."
)
NO_ROWS = "The file has no rows."
ALLOW_EMPTY = " If that is right, use --allow-empty."
STOPPED = "It was stopped. Nothing changed."
UNCONFIRMED = "Nothing changed. Fix the file, or tick each box to import it as it is."
ENDED = REJECTED | {ImportState.DONE, ImportState.DRY_RUN}
"""How an import ends by itself; each is recorded together with what it says."""


def import_file(name: str, options: Options, progress: Progress) -> Outcome:
    """Import one file, all or nothing, and record it; "-" is standard input.

    Raises `ImportRejectedError`, and leaves no record, for a file that cannot be used at all or while another import
    runs. Errors in rows, and what else rejects a file on the way, are in the outcome and its record. What goes wrong
    after the commit, a signal too, changes nothing: the outcome says that it is done. Raises `OutcomeUnknownError` if
    the database was lost in the very moment of the commit.
    """
    with open_source(name) as source, only_import():
        return import_locked(source, options, Sender(who=account()), progress)


def import_locked(source: Source, options: Options, sender: Sender, progress: Progress) -> Outcome:
    """Import an opened file as `import_file` does, in the name of `sender`; the caller holds the lock."""
    with clear_rejections(), ExitStack() as files:
        try:
            work = _Import(source, options, sender, progress, files)
        except UndecodableError as error:
            raise with_encodings(source, error) from None
        try:
            return work.do()
        except BaseException as error:  # noqa: BLE001 - all of them are raised again, if nothing was written
            return work.settle(error)


def import_of(digest: str) -> ImportRun | None:
    """Return the last import of a file with this SHA-256 that changed anything and is not undone."""
    changed_any = Q(created__gt=0) | Q(updated__gt=0)
    return ImportRun.objects.filter(changed_any, sha256=digest, state__in=STANDING).first()


class _Import:
    """One import on its way."""

    def __init__(self, source: Source, options: Options, sender: Sender, progress: Progress, files: ExitStack) -> None:
        """Read the header and open what is written beside the catalogue; `files` close it."""
        digest = source.sha256  # before the rows: both move the same file
        if options.profile is not None:
            options = replace(options, reading=by_profile(source, options.reading, options.profile))
        self.source, self.options, self.sender, self.progress = source, options, sender, progress
        self.table = table = read(source, options.reading)
        given: dict[str, Any] = {"who": sender.who, "file_name": source.name[:255], "sha256": digest}
        given |= {"options": options.as_json()}
        if (earlier := sender.record) is not None:  # of a preview
            given |= {"pk": earlier.pk, "previewed_at": earlier.previewed_at, "started_at": timezone.now()}
        self.run = ImportRun(**given)
        rejects = None
        if options.rejects is not None:
            rejects = RejectsFile(options.rejects, table, formula_safe=options.reading.formula_safe)
            files.callback(rejects.whole.close)
        at_most, shown = (MOST_REJECTED, MOST_SHOWN) if options.for_page else (None, SHOWN)
        self.rejects = Rejects(rejects, at_most=at_most, shown=shown)
        self.saving = False  # whether all is written and the COMMIT is next, or was sent
        self.check = Check(options, table.header)
        self.outcome = Outcome(self.run, table.place, self.rejects.rows, self.rejects.foreign)

    def do(self) -> Outcome:
        """Read, check, write; a rejection is recorded and returned."""
        self.run.save()
        self.sender.started(self.run)
        with long_statements():
            try:
                with clear_rejections():
                    self._write_all()
            except UndecodableError as error:
                self._record_rejection(with_encodings(self.source, error))
            except ImportRejectedError as error:
                self._record_rejection(error)
            staging.clear()
        return self.outcome

    def settle(self, error: BaseException) -> Outcome:
        """Return the outcome if `error` came after the commit; else record that nothing was written, and raise it."""
        too_late()
        disconnect()  # what ended it may have interrupted a statement
        state, why = ImportState.FAILED, f"It failed with {type(error).__name__}. Nothing changed."
        if isinstance(error, KeyboardInterrupt):
            state, why = ImportState.STOPPED, STOPPED
        try:
            # Only what still runs: its row is locked until a COMMIT that is on its way is done, and then it is left.
            running = ImportRun.objects.filter(state=ImportState.RUNNING)
            running.update(state=state, outcome=why, finished_at=timezone.now())
            ended = ImportRun.objects.filter(pk=self.run.pk, state__in=ENDED).first()
        except DatabaseError:
            if not self.saving:
                self.rejects.withdraw()
                raise error from None
            raise OutcomeUnknownError(self.run.pk) from error
        if ended is None:
            self.rejects.withdraw()
            raise error
        self.outcome.run = ended
        return self.outcome

    def _write_all(self) -> None:
        self._read_and_check()
        staging.set_ids_aside(self.run)
        self.progress.writing(self.progress.rows - self.rejects.count)
        write_at_once(self._write, dry_run=self.options.dry_run)
        if self.options.dry_run:
            self.run.save()  # which was rolled back too

    def _record_rejection(self, error: ImportRejectedError) -> None:
        if isinstance(error, FileError):
            self.rejects.rows.clear()  # in a damaged file they may come from the damage
        self.rejects.withdraw()
        self._count_rows()
        self.run.created = self.run.updated = self.run.unchanged = self.run.matched_by_id = 0
        self.run.new_categories, self.run.change = [], None
        self.run.state = ImportState.ALREADY if isinstance(error, AlreadyImportedError) else ImportState.REJECTED
        self.run.outcome, self.run.finished_at = str(error), timezone.now()
        self.outcome.changes = None
        self.run.save()

    def _count_rows(self) -> None:
        self.run.rows, self.run.rejected, file = self.progress.rows, self.rejects.count, self.rejects.file
        self.run.rejects = str(file.path) if file and file.whole.published else ""

    def _read_and_check(self) -> None:
        with self.progress.reading(self.source.raw.tell, self.source.size):
            staging.stage(self._rows())
        if not self.progress.rows and not self.options.allow_empty:
            raise ImportRejectedError(NO_ROWS if self.options.for_page else NO_ROWS + ALLOW_EMPTY)
        self.progress.writing(self.progress.rows, "check")
        near, on_page = not self.options.accept_near, self.options.for_page
        for found in staging.take_out_wrong(near=near, stays=on_page, defaults=self.check.defaults):
            if found.kind is not None:
                errors = errors_of(found, self.check, place=self.table.place, hint="" if on_page else ACCEPT)
                self.rejects.add(errors, self.check.cells(found.row))
                if found.near is not None:
                    self.outcome.near_rejected.add(found.near)
            elif found.near is not None:
                self.outcome.near.add(found.near)
        self.rejects.publish(stays=not self.options.skip_errors)
        if self.rejects.count and not self.options.skip_errors:
            have = "row has an error" if self.progress.rows == 1 else "rows have errors"
            message = f"{self.rejects.count:,} of {self.progress.rows:,} {have}."
            raise ImportRejectedError(message)

    def _rows(self) -> Iterator[RowValues | ColumnValues]:
        """Yield what will be staged, in blocks of rows where they allow it."""
        for part in self.table.parts:
            stop_if_asked()
            rows = len(part.cells) if isinstance(part, Block) else 1
            if self.options.for_page and self.progress.rows + rows > MOST_ROWS:
                message = f"The file has more than {MOST_ROWS:,} rows."
                raise FileError(message)
            if not isinstance(part, Block):
                yield from self._row(*part)
            elif (columns := self.check.block(part)) is not None:
                self.progress.add(rows)
                yield columns
            else:
                for row in part.one_by_one:
                    yield from self._row(*row)

    def _row(self, line: int, cells: Cells | DamagedRow) -> Iterator[RowValues]:
        self.progress.add(1)
        row = self.check(line, cells)
        if row is None:
            return
        if isinstance(row, RowValues):
            yield row
            return
        self.rejects.add(row, cells)
        if (about := self.check.about(line, cells)) is not None:
            yield about

    def _write(self) -> None:
        self.saving = False  # the transaction may have started again
        self.run.new_categories = staging.add_categories(self.check.categories.added)
        new = Category.objects.filter(pk__in=self.run.new_categories)
        self.outcome.new_categories = list(new.values_list("name", flat=True))
        staging.clear_blanks(self.check.cleared)
        staging.compare(self.run, watch=self._look_before_writing, defaults=self.check.defaults)
        self.run.change = self._change() if self.run.created + self.run.updated and not self.options.dry_run else None
        staging.write(self.run, timezone.now())
        self.run.state = ImportState.DRY_RUN if self.options.dry_run else ImportState.DONE
        self.run.finished_at = timezone.now()
        self._count_rows()
        if self.run.change:
            self.run.change.made_at = self.run.change.ended_at = self.run.finished_at
            self.run.change.save(update_fields=["made_at", "ended_at"])
        self.run.save()
        self.saving = not self.options.dry_run

    def _change(self) -> Change:
        run = self.run
        return Change.objects.create(
            kind=Kind.IMPORT,
            who=acting().actor or run.who,
            what=run.file_name,
            changed=run.updated,
            added=run.created,
            request_id=acting().request_id,
            state=State.DONE,
        )

    def _look_before_writing(self) -> None:
        if not self.options.again and (earlier := import_of(self.run.sha256)) and staging.adds_without_reference():
            message = SAME_FILE.format(
                earlier=earlier, who=who(earlier.who), at=f"{earlier.started_at:%Y-%m-%d %H:%M}", name=earlier.file_name
            )
            raise AlreadyImportedError(message)
        is_shown = self.options.for_page and self.options.dry_run
        if self.options.report_missing or is_shown:
            self.outcome.missing = staging.missing()
        changes = self.outcome.changes = self._look_at_changes()
        if is_shown:
            doubts = (self.outcome.near.first, changes.altered.first, changes.misread.first)
            self.outcome.planned = list(planned_for_page(doubt.line for some in doubts for doubt in some))
        self.sender.watch()

    def _look_at_changes(self) -> Changes:
        options, changes = self.options, look(first=self.options.dry_run)
        if options.dry_run:
            return changes
        has_foreign_ids = changes.foreign_ids.count and not options.accept_ids
        is_altered = changes.altered.count and not options.accept_references
        is_misread = changes.misread.count and not options.accept_names
        if options.for_page and (self.outcome.near.count or has_foreign_ids or is_altered or is_misread):
            raise ImportRejectedError(UNCONFIRMED)
        if has_foreign_ids:
            message = f"{foreign_ids(changes)}. {IF_FOREIGN}"
            raise ImportRejectedError(message)
        if is_altered:
            message = f"{altered(changes)}. Take the values from the file as it was before. {IF_RIGHT}"
            raise ImportRejectedError(message)
        return changes
