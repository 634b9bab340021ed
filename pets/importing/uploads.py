"""An import in two steps: a small file is kept and shown as what it would do, and imported if that is wanted."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from categories.models import Category
from pets.columns import CATEGORY, REFERENCE
from pets.importing.changes import Changes
from pets.importing.errors import ImportRejectedError
from pets.importing.matching import Match, match, remember, understood
from pets.importing.options import Options, Outcome, Sender
from pets.importing.preview import Line, Planned, digest, lines
from pets.importing.readers import read
from pets.importing.readers.rows import Reading, count_of
from pets.importing.run import import_of, import_source
from pets.importing.source import GZIP, Source
from pets.models import ImportRun, ImportUpload, UploadPart

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile  # generic for mypy only

LARGEST_WORKBOOK = 32 * 1024 * 1024
"""Bytes that are unpacked of an XLSX file. It takes some seconds."""

MATCHED = ("encoding", "delimiter", "header_row", "columns", "defaults")
"""What is found out or chosen of how a file is read."""

MOST_BYTES, MOST_ROWS = 5 * 1024 * 1024, 5_000
"""Of a file that is checked while its sender waits, and shown row by row."""

KEPT = timedelta(days=1)

PART = 1024 * 1024
"""Bytes of a file in one row: the database's driver holds three times as many."""

TOO_LARGE = "The file has {bytes:,} bytes. Files here can have at most 25 MB."
COMPRESSED = "The file is compressed with gzip; send it as it was before."
CHANGED_SINCE = "Nothing changed. The catalogue has changed since this page was shown. Look again."


class Tally(NamedTuple):
    """How many rows of one kind there are."""

    kind: str
    """As `Line.does` has it."""
    title: str
    word: str
    colour: str
    rows: int
    start: float
    width: float


KINDS = (
    ("added", "New", "new", "available"),
    ("changed", "Changed", "changed", "sold"),
    ("unchanged", "Unchanged", "unchanged", "answered"),
    ("rejected", "Errors", "with errors", "failed"),
)


def tallies(run: ImportRun) -> list[Tally]:
    """Return how many rows do what, with their share of a bar of 100."""
    counts = (run.created, run.updated, run.unchanged, run.rejected)
    starts = accumulate(counts, initial=0)
    total = sum(counts) or 1
    parts = zip(KINDS, counts, starts, strict=False)
    return [Tally(*kind, count, 100 * start / total, 100 * count / total) for kind, count, start in parts]


@dataclass(frozen=True)
class Preview:
    """What a file would do."""

    outcome: Outcome
    earlier: ImportRun | None
    """An import of the very same file, if importing it again would add animals twice."""

    @property
    def rows(self) -> Sequence[Planned]:
        """What each row would do."""
        return [row for row in self.outcome.planned if row.acts]

    @property
    def digest(self) -> str:
        """What `confirm` compares."""
        return digest(self.rows)

    def lines(self) -> list[Line]:
        """Return each row and what it does, in the order of lines."""
        return lines(self.outcome.planned, self.outcome.rejected)

    @property
    def changes(self) -> Changes:
        """What changes of animals that are there."""
        return self.outcome.changes or Changes()

    def tallies(self) -> list[Tally]:
        """Return how many rows do what."""
        return tallies(self.outcome.run)

    def new_categories(self) -> list[str]:
        """Return the names of the categories that would be added."""
        names = {row.cells[CATEGORY.header].after for row in self.rows}
        return sorted(names - set(Category.objects.filter(name__in=names).values_list("name", flat=True)))


def keep(file: "UploadedFile[Any]", *, chosen: dict[str, Any], member: Any) -> ImportUpload:
    """Keep a file for a day; raises `ImportRejectedError` for one that is not for here. Older ones are forgotten."""
    if (size := file.size or 0) > settings.LARGEST_UPLOAD:  # before it is read: it may be of any size
        raise ImportRejectedError(TOO_LARGE.format(bytes=size))
    parts = iter(lambda: file.read(PART), b"")
    content = next(parts, b"")
    if content.startswith(GZIP):
        raise ImportRejectedError(COMPRESSED)
    ImportUpload.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    with transaction.atomic():
        upload = ImportUpload.objects.create(
            uploaded_by=member, file_name=(file.name or "")[:255], content=content, options=chosen
        )
        for part in parts:
            UploadPart.objects.create(upload=upload, content=part)
    return upload


def understand(upload: ImportUpload) -> bool:
    """Choose how the file is read if that is clear; False if a person must say. Raises `ImportRejectedError`."""
    with opened(upload) as source:
        how = understood(source, options_of(upload).reading)
    if how is not None:
        _choose(upload, how)
    return how is not None


def match_of(upload: ImportUpload, *, encoding: str | None, header_row: int | None) -> Match:
    """Return how the file is likely to be read; raises `ImportRejectedError`."""
    with opened(upload) as source:
        return match(source, options_of(upload).reading, encoding=encoding, header_row=header_row)


def choose(upload: ImportUpload, how: Reading, *, profile: str | None, sender: Sender) -> None:
    """Read the file like this from now on, and remember it as a profile; raises `ImportRejectedError`."""
    with opened(upload) as source:
        read(source, how)
        if profile is not None:
            remember(profile, source, how, who=sender.who)
    _choose(upload, how)


def _choose(upload: ImportUpload, how: Reading) -> None:
    upload.options |= {"reading": {name: getattr(how, name) for name in MATCHED}}
    upload.save(update_fields=["options"])


def accept_near(upload: ImportUpload) -> None:
    """Take references that only look like another animal's as they are, from the next preview on."""
    upload.options |= {"accept_references": True}
    upload.save(update_fields=["options"])


def preview(upload: ImportUpload, sender: Sender) -> Preview:
    """Do all of the import and roll it back; keep the rejected rows, and the record for the import to go on in.

    Raises `ImportRejectedError`.
    """
    with opened(upload) as source, tempfile.TemporaryDirectory() as folder:
        earlier = import_of(source.sha256)
        rejects = Path(folder) / "rejects"
        options = replace(options_of(upload), dry_run=True, again=True, rejects=rejects)
        outcome = done(import_source(source, options, replace(sender, record=upload.run)))
        upload.rejects = rejects.read_bytes() if rejects.exists() else b""
    upload.run = outcome.run
    upload.save(update_fields=["rejects", "run"])
    note_preview(outcome.run)
    twice = any(row.pet_id is None and not row.cells[REFERENCE.header].after for row in outcome.planned)
    return Preview(outcome, earlier if twice else None)


def note_preview(run: ImportRun) -> None:
    """Let the record of a dry run say that it was a preview, whose file of rejects is gone."""
    run.rejects, run.previewed_at = "", run.finished_at
    run.options |= {"rejects": None, "again": False}
    run.save(update_fields=["rejects", "options", "previewed_at"])


def confirm(upload: ImportUpload, seen: str, sender: Sender, **confirmed: bool) -> ImportRun:
    """Import the file, but for the rows with errors, if it still does what was `seen`, the digest of a preview.

    `confirmed`: which of the options `again`, `accept_references` and `accept_names` were. Raises
    `ImportRejectedError` if it does not, and as an import does.
    """

    def compare(rows: Sequence[Planned]) -> None:
        if digest(rows) != seen:
            raise ImportRejectedError(CHANGED_SINCE)

    if upload.run is None:  # its preview was rejected
        raise ImportRejectedError(CHANGED_SINCE)
    with opened(upload) as source:
        options = replace(options_of(upload), **accepted(upload, confirmed))
        return done(import_source(source, options, replace(sender, watch=compare, record=upload.run))).run


def accepted(upload: ImportUpload, confirmed: Mapping[str, bool]) -> dict[str, Any]:
    """Return the options of an import whose sender confirmed these."""
    references = confirmed.get("accept_references", False) or options_of(upload).accept_references
    return {"accept_names": False, **confirmed, "accept_references": references}


def done(outcome: Outcome) -> Outcome:
    """Return it; raises `ImportRejectedError` if nothing was written."""
    if outcome.rejection is not None:
        raise ImportRejectedError(outcome.rejection)
    return outcome


@contextmanager
def opened(upload: ImportUpload) -> Iterator[Source]:
    """Give the file as an import reads it."""
    with tempfile.TemporaryFile() as raw:
        raw.write(upload.content)
        for part in upload.parts.iterator(chunk_size=1):
            raw.write(part.content)
        yield Source(upload.file_name, raw)


def is_large(upload: ImportUpload) -> bool:
    """Return whether the file takes too long for a request; False for one that cannot be read."""
    if upload.size > MOST_BYTES:
        return True
    rows = 0
    with suppress(ImportRejectedError), opened(upload) as source:
        for part in read(source, options_of(upload).reading).parts:
            rows += count_of(part)
            if rows > MOST_ROWS:
                return True
    return False


def options_of(upload: ImportUpload) -> Options:
    """Return what was chosen for the file."""
    chosen = upload.options
    reading = Reading(
        formula_safe=chosen["formula_safe"],
        sheet=chosen.get("sheet") or None,  # files sent to an earlier release have none
        ignore_unknown=chosen.get("ignore_unknown_columns", False),
        largest_workbook=LARGEST_WORKBOOK,
    )
    return Options(
        reading=replace(reading, **chosen.get("reading", {"encoding": chosen.get("encoding") or None})),
        create_categories=chosen["create_categories"],
        keep_blanks=chosen["blank"] == "keep",
        accept_references=chosen.get("accept_references", False),
        skip_errors=True,
        most_rows=MOST_ROWS,
        keep_rows=True,
    )
