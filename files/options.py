"""What the caller of an import decides, who that is, and the import's result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from files import staging
from files.changes import Changes, RowPlan, Tally
from files.errors import RowError
from files.readers.rows import Reading
from files.rejects import SHOWN, Reject
from pets.models import ImportRun, ImportState

MOST_ROWS, MOST_REJECTED = 500_000, 10_000  # of a page: so many errors are a mistake in all rows
REJECTED = {ImportState.REJECTED, ImportState.ALREADY}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the caller decides."""

    reading: Reading = field(default_factory=Reading)
    profile: str | None = None  # read the columns as the profile of this name says
    create_categories: bool = False
    force_categories: bool = False  # also those whose names look like typos of others
    ignore_ids: bool = False  # the column `id` says nothing: the file is from another catalogue
    accept_ids: bool = False  # also if most rows make another animal of the one with their id
    keep_blanks: bool = True  # a blank cell leaves the animal as it is; else it is cleared
    skip_errors: bool = False
    rejects: Path | None = None
    accept_near: bool = False  # also references that look like another animal's
    accept_references: bool = False  # also references and names that look like the work of a spreadsheet
    accept_names: bool = False  # also names of new animals that look wrong, about which a page asks
    dry_run: bool = False
    report_missing: bool = False  # list the animals of the catalogue that are not in the file
    allow_empty: bool = False  # a file without a row is imported; else it is rejected, as it is likely cut short
    again: bool = False  # the same file may be imported a second time
    for_page: bool = False  # keep what the first rows do, and ask about references that look like another animal's

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"rejects": str(self.rejects) if self.rejects else None}


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Who imports or undoes; `watch` is called before an import writes; what it raises ends that.

    `started` gets the record as soon as it is there.
    `record` is the one that an earlier preview of the same file made: it goes on in it.
    """

    who: str
    watch: Callable[[], None] = lambda: None
    record: ImportRun | None = None
    started: Callable[[ImportRun], None] = lambda _run: None


@dataclass
class Outcome:
    """The result of an import."""

    run: ImportRun
    place: str  # what lines count: "line", or "animal" in a JSON array
    rejected: Sequence[Reject]  # the first rows with errors. A file of rejects holds all
    foreign: Mapping[tuple[str, str], int] = field(default_factory=dict)  # as `Rejects` has it
    new_categories: Sequence[str] = ()  # the names of the categories that it created, or would create
    missing: Tally[staging.MissingAnimal] | None = None  # what the file lacks, if `report_missing`
    changes: Changes | None = None  # what it changed, or would change; None if that was not found out
    planned: Sequence[RowPlan] = ()  # what the first rows did, or would do, for a page
    near: Tally[staging.Near] = field(default_factory=Tally)  # rows of a page; see `staging.Near`
    near_rejected: Tally[staging.Near] = field(default_factory=Tally)  # of those, rows with errors

    @property
    def rejection(self) -> str | None:
        """Why nothing was written; None if it is done."""
        return self.run.outcome if self.run.state in REJECTED else None

    @property
    def errors(self) -> list[RowError]:
        return [error for row in self.rejected for error in row.errors][:SHOWN]
