"""Large files in the back office: checked, and imported, in a thread, while a page shows how far it came.

All or nothing, as every import: if the thread is stopped, or its process ends, nothing is written.
"""

import contextvars
import logging
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.utils import timezone

from pets.importing import staging
from pets.importing.changes import Changes
from pets.importing.errors import BusyError, ImportRejectedError, OutcomeUnknownError
from pets.importing.lock import mark_killed
from pets.importing.options import Outcome, Sender
from pets.importing.preview import lines
from pets.importing.progress import Progress, beside
from pets.importing.readers.rows import Hidden
from pets.importing.run import import_of, import_source
from pets.importing.source import Source
from pets.importing.stopping import Stop, stoppable_by
from pets.importing.uploads import CHANGED_SINCE, Tally, accepted, done, note_preview, opened, options_of, tallies
from pets.models import IMPORTED, ImportRun, ImportState, ImportUpload

MOST_LARGE_ROWS = 500_000
MOST_REJECTED = 10_000
"""Rows with errors: so many are a mistake in all of them."""

LARGEST_REJECTS = 10 * 1024 * 1024
"""Bytes of the file of rejects that is kept."""

IN_REQUEST = 2
"""Seconds that a request waits for the thread."""

EACH = 1
"""Seconds between two looks at how far the thread is, and whether it should stop."""

SILENT = timedelta(seconds=20)
"""A thread that has not begun by then never will."""

STOPPED = "It was stopped. Nothing changed."
FAILED = "It failed. Nothing changed. Try again. If it fails again, ask an operator."
INTERRUPTED = "It was interrupted: the server was restarted. Nothing changed."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """What its sender has seen and confirmed: the tally of a check, and the boxes that were ticked."""

    tally: str
    options: Mapping[str, bool]


def start(upload: ImportUpload, sender: Sender, confirmed: Confirmed | None = None) -> None:
    """Check the file, or import it if that is confirmed, and wait a moment for the end."""
    upload.stop_asked = False
    _note(upload, state="running", checks=confirmed is None, at=timezone.now().isoformat())
    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(_work, upload, sender, confirmed), daemon=True)
    thread.start()
    thread.join(IN_REQUEST)
    upload.refresh_from_db()


def is_running(upload: ImportUpload) -> bool:
    """Return whether a thread works on the file; note that it was interrupted if its process is gone."""
    if upload.work is None or upload.work["state"] != "running":
        return False
    run = upload.run
    if run is not None and run.state == ImportState.RUNNING:
        mark_killed()
        run.refresh_from_db()
    if run is not None and run.state in IMPORTED:
        _note(upload, state="imported")
        return False
    is_new = timezone.now() - datetime.fromisoformat(upload.work["at"]) < SILENT
    if is_new or (run is not None and run.state == ImportState.RUNNING):
        return True
    upload.refresh_from_db()
    if upload.work["state"] == "running":
        _note(upload, state="interrupted", why=INTERRUPTED)
    return False


def stop(upload: ImportUpload) -> None:
    """Ask the thread to stop, whatever process it is in; what was saved by then stays saved."""
    ImportUpload.objects.filter(pk=upload.pk).update(stop_asked=True)


def _note(upload: ImportUpload, **work: Any) -> None:
    upload.work = work
    upload.save(update_fields=["work", "stop_asked"])


def _work(upload: ImportUpload, sender: Sender, confirmed: Confirmed | None) -> None:
    try:
        try:
            with stoppable_by() as asked, tempfile.TemporaryDirectory() as folder:
                found = _import(upload, sender, confirmed, Path(folder) / "rejects", asked)
        except (BusyError, ImportRejectedError, OutcomeUnknownError) as error:
            found = {"state": "busy" if isinstance(error, BusyError) else "rejected", "why": str(error)}
        except KeyboardInterrupt:
            found = {"state": "stopped", "why": STOPPED}
        except Exception:
            logger.exception("The import of upload %s failed.", upload.pk)
            found = {"state": "failed", "why": FAILED}
        _note(upload, **found)
    finally:
        connection.close()


def _import(
    upload: ImportUpload, sender: Sender, confirmed: Confirmed | None, rejects: Path, asked: Stop
) -> dict[str, Any]:
    """Import, or check, and return what is noted of it."""
    seen: dict[str, Any] = {}

    def compare(_planned: Sequence[object]) -> None:
        seen["tally"], seen["adds"] = staging.tally(), staging.adds_without_reference()
        if confirmed is not None and confirmed.tally != seen["tally"]:
            raise ImportRejectedError(CHANGED_SINCE)

    def started(run: ImportRun) -> None:
        upload.run = run
        upload.save(update_fields=["run"])

    options = replace(options_of(upload), most_rows=MOST_LARGE_ROWS, keep_rows=False, max_errors=MOST_REJECTED)
    if confirmed is None:
        options = replace(options, dry_run=True, again=True, rejects=rejects)
    else:
        options = replace(options, **accepted(upload, confirmed.options))
    progress = Progress(None, shown=False)
    with opened(upload) as source, _watched(upload, source, progress, asked):
        earlier = import_of(source.sha256)
        sender = replace(sender, watch=compare, record=upload.run, started=started)
        run = (outcome := done(import_source(source, options, sender, progress))).run
    if confirmed is not None:
        return {"state": "imported"}
    upload.rejects = rejects.read_bytes() if run.rejects and rejects.stat().st_size <= LARGEST_REJECTS else b""
    upload.save(update_fields=["rejects"])
    note_preview(run)
    twice = earlier.pk if earlier and seen["adds"] else None
    return {"state": "checked", "tally": seen["tally"], "earlier": twice, "found": _found(outcome)}


@contextmanager
def _watched(upload: ImportUpload, source: Source, progress: Progress, asked: Stop) -> Iterator[None]:
    """Note each second how far the import is, and end it if someone asks for that."""
    worker = connections[DEFAULT_DB_ALIAS]

    def watch(ended: threading.Event) -> None:
        raw = None
        while not ended.wait(EACH):
            with suppress(DatabaseError):  # on SQLite, what the import writes keeps others from writing
                share = min(source.raw.tell() / source.size, 1) if source.size else 1
                work = (upload.work or {}) | {"rows": progress.rows, "share": round(share, 2)}
                ImportUpload.objects.filter(pk=upload.pk).update(work=work)
            with suppress(DatabaseError):
                asked.raised |= not asked.too_late and ImportUpload.objects.get(pk=upload.pk).stop_asked
            if asked.raised:
                raw = raw or worker.connection  # not the one that records the end
                with suppress(Exception):  # it ended a moment ago
                    raw.cancel_safe(timeout=EACH) if worker.vendor == "postgresql" else raw.interrupt()
        connection.close()

    with beside(watch):
        yield


def _found(outcome: Outcome) -> dict[str, Any]:
    """Return what a page shows of a check, as JSON."""
    changes = outcome.changes or Changes()
    shown = lines(changes.first, outcome.rejected)
    return {
        "near": outcome.near,
        "place": outcome.place,
        "hidden": asdict(outcome.hidden),
        "categories": list(outcome.new_categories[:100]),
        "lines": [line._asdict() | {"cells": [cell._asdict() for cell in line.cells]} for line in shown],
        "changes": {
            "references": [change._asdict() for change in changes.references],
            "changed_references": changes.changed_references,
            "new_references": changes.new_references,
            "altered": [change._asdict() for change in changes.altered],
            "altered_count": changes.altered_count,
            "misread": [{"name": each.name, "likely": each.likely} for each in changes.misread],
            "misread_count": changes.misread_count,
        },
    }


@dataclass(frozen=True)
class Check:
    """What a large file would do: what `uploads.Preview` has, but of its first rows only."""

    run: ImportRun
    work: Mapping[str, Any]

    is_large = True

    @property
    def outcome(self) -> dict[str, Any]:
        """Return what was found of the file as a whole."""
        found = self.work["found"]
        return {
            "errors": self.run.rejected,
            "hidden": Hidden(**found["hidden"]),
            "near": found["near"],
            "place": found["place"],
        }

    @property
    def earlier(self) -> ImportRun | None:
        """Return an import of the very same file, if importing it again would add animals twice."""
        return ImportRun.objects.filter(pk=self.work["earlier"]).first()

    @property
    def digest(self) -> str:
        """Return what the import compares."""
        return str(self.work["tally"])

    @property
    def rows(self) -> range:
        """Return as many as do something."""
        return range(self.run.created + self.run.updated)

    def lines(self) -> list[Any]:
        """Return the first rows that do something or are rejected."""
        return list(self.work["found"]["lines"])

    @property
    def changes(self) -> dict[str, Any]:
        """Return what changes of animals that are there."""
        return dict(self.work["found"]["changes"])

    def tallies(self) -> list[Tally]:
        """Return how many rows do what."""
        return tallies(self.run)

    def new_categories(self) -> list[str]:
        """Return the names of the first categories that would be added."""
        return list(self.work["found"]["categories"])
