"""An import from its file to its record: what is done in which order, and what the record says of it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.utils import timezone

from categories.models import Category
from history.accounts import account
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, ID, REFERENCE, Checked
from pets.importing import staging
from pets.importing.checking import Categories, Check
from pets.importing.errors import FileError, ImportRefusedError, RowError
from pets.importing.lock import only_import
from pets.importing.preview import Watch
from pets.importing.progress import Progress
from pets.importing.readers import read
from pets.importing.readers.rows import Cells, Reading, Row, Table
from pets.importing.rejects import SHOWN, Rejects
from pets.importing.source import Source, open_source
from pets.importing.transactions import hang_up, roomy, write_at_once
from pets.models import ImportRun, ImportState

MESSAGES = {
    staging.Kind.UNKNOWN_ID: "is not the ID of an animal. Leave it blank to add one.",
    staging.Kind.SAME_ANIMAL: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    staging.Kind.SAME_REFERENCE: "is the same animal as {place} {other:,}. An animal can be in a file only once.",
    staging.Kind.TAKEN_REFERENCE: "belongs to animal {other}.",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the caller decides."""

    reading: Reading = field(default_factory=Reading)
    create_categories: bool = False
    force_categories: bool = False
    """Also those whose names look like typos of others."""
    ignore_ids: bool = False
    """The column `id` says nothing: the file is from another catalogue."""
    keep_blanks: bool = True
    """A blank cell leaves the animal as it is; else it is cleared."""
    skip_errors: bool = False
    max_errors: int | None = None
    rejects: Path | None = None
    dry_run: bool = False
    again: bool = False
    """The same file may be imported a second time."""
    most_rows: int | None = None
    """A file with more is refused."""

    def as_json(self) -> dict[str, Any]:
        """Return them as the record keeps them."""
        return asdict(self) | {"rejects": str(self.rejects) if self.rejects else None}


@dataclass
class Outcome:
    """What became of an import; `refusal` says why nothing was written, and is None if it is done."""

    run: ImportRun
    errors: list[RowError]
    """The first of them: 100, or `Options.most_rows` if that is given. A file of rejects holds all."""
    place: str
    """What their lines count: "line", or "animal" in a JSON array."""
    refusal: str | None = None
    new_categories: Sequence[str] = ()
    """The names of the categories that it created, or would create."""
    by_id: int = 0
    """Rows whose animal was found by its id; the others that added none were found by their reference."""


def import_file(name: str, options: Options, progress: Progress) -> Outcome:
    """Import one file, all or nothing, and record it; "-" is standard input.

    Raises `ImportRefusedError`, and leaves no record, for a file that cannot be used at all, one that was imported
    before, or while another import runs. Faults, and what ends an import on the way, are in the outcome and its
    record. A KeyboardInterrupt goes on to the caller once the record says what it ended; after the commit it ends
    nothing.
    """
    ended: list[Outcome] = []
    try:
        with open_source(name) as source:
            _import_source(source, options, progress, Sender(who=account()), ended)
    except KeyboardInterrupt:
        if not ended:
            raise
    return ended[0]


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Who imports or undoes, in answer to which request; whoever must see first what will be written watches."""

    who: str
    request_id: str = ""
    watch: Watch | None = None


def import_source(source: Source, options: Options, sender: Sender) -> Outcome:
    """Import an opened file as `import_file` does, in the name of `sender` and without telling progress."""
    ended: list[Outcome] = []
    _import_source(source, options, Progress(None, shown=False), sender, ended)
    return ended[0]


def _import_source(source: Source, options: Options, progress: Progress, sender: Sender, ended: list[Outcome]) -> None:
    with only_import():
        digest = source.sha256()
        table = read(source, options.reading)
        if not options.again and not options.dry_run:
            _refuse_the_same(digest)
        run = ImportRun(who=sender.who, file_name=source.name[:255], sha256=digest, options=options.as_json())
        try:
            run.save(force_insert=True)
            with roomy():
                ended.append(_Import(run, source, table, options, progress, sender).do())
                staging.clear()
        except BaseException as error:
            hang_up()  # what ended it may have come amid a statement
            # Whatever runs under the lock is ours, also if a signal came just after the row was stored.
            for running in ImportRun.objects.filter(state=ImportState.RUNNING):
                _end_without_writing(running, error)
            if run.pk is not None and not ended:
                run.refresh_from_db()
                if run.state == ImportState.DONE:
                    ended.append(Outcome(run, [], table.place))
            raise


def import_of(digest: str) -> ImportRun | None:
    """Return the last import of a file with this SHA-256 that stands."""
    return ImportRun.objects.filter(sha256=digest, state=ImportState.DONE).first()


def _refuse_the_same(digest: str) -> None:
    if (earlier := import_of(digest)) is not None:
        message = (
            f"This file was imported already: {earlier} by {earlier.who}, {earlier.started_at:%Y-%m-%d %H:%M} UTC, "
            f'as "{earlier.file_name}". Nothing was done; --again imports it all the same.'
        )
        raise ImportRefusedError(message)


def _end_without_writing(run: ImportRun, error: BaseException) -> None:
    if isinstance(error, KeyboardInterrupt):
        _end(run, ImportState.STOPPED, "It was stopped; nothing was written.")
    else:
        _end(run, ImportState.FAILED, f"It failed with {type(error).__name__}; nothing was written.")


def _end(run: ImportRun, state: ImportState, outcome: str) -> None:
    run.state, run.outcome, run.finished_at = state, outcome, timezone.now()
    run.save()


def _at_most(rows: Iterator[Row], most: int) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        if number > most:
            message = f"The file has more than {most:,} rows."
            raise FileError(message)
        yield row


class _Import:
    """One import on its way."""

    def __init__(  # noqa: PLR0913, PLR0917 - what came together in _import_source
        self, run: ImportRun, source: Source, table: Table, options: Options, progress: Progress, sender: Sender
    ) -> None:
        self.run = run
        self.source = source
        self.table = table
        self.options = options
        self.progress = progress
        self.sender = sender
        self.categories = Categories(create=options.create_categories, force=options.force_categories)
        self.check = Check(
            self.categories,
            keep_blanks=options.keep_blanks,
            ignore_ids=options.ignore_ids,
            names_categories=self._names_categories(),
        )
        self.new_categories: list[str] = []
        self.by_id = 0

    def do(self) -> Outcome:
        """Read, check, write; a refusal is recorded and returned."""
        rejects = self._rejects()
        refusal = None
        try:
            with rejects:
                self._read_and_check(rejects)
                self._refuse_errors(rejects)
                staging.set_ids_aside(self.run)
                with self.progress.working(f"Writing {self.progress.rows - rejects.count:,} rows"):
                    write_at_once(lambda: self._write(rejects), dry_run=self.options.dry_run)
                rejects.keep()
            if self.options.dry_run:
                self.run.save()  # which was taken back too
        except ImportRefusedError as error:
            refusal = str(error)
            self._count_rows(rejects)
            self.run.created = self.run.updated = self.run.unchanged = 0
            self.run.new_categories = []
            _end(self.run, ImportState.REFUSED, refusal)
        return Outcome(self.run, rejects.errors, self.table.place, refusal, self.new_categories, self.by_id)

    def _count_rows(self, rejects: Rejects) -> None:
        self.run.rows = self.progress.rows
        self.run.refused = rejects.count
        self.run.rejects = str(rejects.path or "")

    def _refuse_errors(self, rejects: Rejects) -> None:
        if rejects.count and not self.options.skip_errors:
            rejects.keep()
            message = f"{rejects.count:,} of {self.progress.rows:,} rows have errors."
            raise ImportRefusedError(message)

    def _rejects(self) -> Rejects:
        options = self.options
        at_most = options.max_errors if options.skip_errors else None
        return Rejects(
            self.table,
            options.rejects,
            at_most=at_most,
            told=options.most_rows or SHOWN,
            formula_safe=options.reading.formula_safe,
        )

    def _read_and_check(self, rejects: Rejects) -> None:
        with self.progress.reading(self.source.raw.tell, self.source.size):
            staging.stage(self._rows(rejects))
        with self.progress.working("Checking against the catalogue"):
            for row, kind, other in staging.take_out_wrong():
                rejects.add(self._errors(row, kind, other), self._cells(row))

    def _errors(self, row: Checked, kind: staging.Kind, other: int) -> list[RowError]:
        """Return what is wrong with a staged row, in words."""
        if kind is staging.Kind.INCOMPLETE:
            there = {column.header for column in COLUMNS if getattr(row, column.name) is not None}
            return self.check.missing(row.line, there)
        by_id = kind is staging.Kind.UNKNOWN_ID or (kind is staging.Kind.SAME_ANIMAL and row.id is not None)
        field, value = (ID, row.id) if by_id else (REFERENCE.header, row.external_reference)
        message = MESSAGES[kind]
        return [RowError(row.line, field, message.format(place=self.table.place, other=other), value=value)]

    def _rows(self, rejects: Rejects) -> Iterator[Checked]:
        check = self.check
        rows = self.table.rows if self.options.most_rows is None else _at_most(self.table.rows, self.options.most_rows)
        for line, cells in rows:
            self.progress.rows += 1
            row = check(line, cells)
            if isinstance(row, Checked):
                yield row
            else:
                rejects.add(row, cells)
                if (about := check.about(line, cells)) is not None:
                    yield about

    def _write(self, rejects: Rejects) -> None:
        self._count_rows(rejects)
        self.run.new_categories = staging.add_categories(self.categories.added)
        self.new_categories = list(
            Category.objects.filter(pk__in=self.run.new_categories).values_list("name", flat=True)
        )
        sender = self.sender
        written = staging.write(self.run, timezone.now(), request_id=sender.request_id, watch=sender.watch)
        self.run.created, self.run.updated, self.run.unchanged = written.created, written.updated, written.unchanged
        self.by_id = written.by_id
        self.run.state = ImportState.DRY_RUN if self.options.dry_run else ImportState.DONE
        self.run.finished_at = timezone.now()
        self.run.save()

    def _names_categories(self) -> bool:
        return self.table.header is not None and CATEGORY.header in self.table.header

    def _cells(self, row: Checked) -> Cells:
        """Return a staged row as the file had it."""
        cells: Cells = {ID: row.id} | {column.header: getattr(row, column.name) for column in COLUMNS}
        if row.category_id is not None and (self._names_categories() or row.category_id < 0):
            cells[CATEGORY.header] = self.categories.name(row.category_id)
        else:
            cells[CATEGORY_ID] = cells.pop(CATEGORY.header)
        return {header: value for header, value in cells.items() if value is not None}
