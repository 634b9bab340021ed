"""Files of the back office at work: checked, and imported, in a thread, while a page shows how far it came.

All or nothing, as every import: if the thread is stopped, or its process ends, nothing is written.
"""

import contextvars
import logging
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.utils import timezone

from pets.importing import staging
from pets.importing.changes import digest
from pets.importing.errors import BusyError, ImportRejectedError, OutcomeUnknownError
from pets.importing.lock import mark_killed
from pets.importing.options import Sender
from pets.importing.page import found
from pets.importing.progress import Progress, beside
from pets.importing.run import import_of, import_source
from pets.importing.source import Source
from pets.importing.stopping import Stop, stoppable_by
from pets.importing.uploads import opened, options_of
from pets.models import IMPORTED, ImportRun, ImportState, ImportUpload

NAMED = 5  # rejected rows that the page of an import names
LARGEST_REJECTS = 10 * 1024 * 1024  # bytes of the file of rejects that is kept
IN_REQUEST = 2  # seconds that a request waits for the thread
EACH = 1  # seconds between two looks at how far the thread is, and whether it should stop
SILENT = timedelta(seconds=10)  # a thread that neither imports nor has said anything for so long is gone
CHANGED_SINCE = "Nothing changed. The catalogue has changed since this page was shown. Look again."
STOPPED = "It was stopped. Nothing changed."
FAILED = "It failed. Nothing changed. Try again. If it fails again, ask an operator."
INTERRUPTED = "It was interrupted: the server was restarted. Nothing changed."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """What its sender has seen and confirmed: the digest of a check, and which boxes were ticked."""

    digest: str
    options: Mapping[str, Any]


def start(upload: ImportUpload, sender: Sender, confirmed: Confirmed | None = None) -> None:
    """Check the file, or import it if that is confirmed, and wait a moment for the end."""
    before = upload.work or {}
    stop(upload, asked=False)
    _note(upload, state="running", checks=confirmed is None, at=timezone.now().isoformat())
    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(_work, upload, sender, confirmed, before), daemon=True)
    thread.start()
    thread.join(IN_REQUEST)
    upload.refresh_from_db(fields=["work", "run"])


def is_running(upload: ImportUpload) -> bool:
    """Return whether a thread works on the file; note that it was interrupted if its process is gone."""
    if upload.work is None or upload.work["state"] != "running":
        return False
    run = upload.run
    if run is not None and run.state == ImportState.RUNNING:
        mark_killed()
        run.refresh_from_db()
        if run.state == ImportState.RUNNING:
            return True
        if run.state == ImportState.KILLED:
            _note(upload, state="interrupted", why=INTERRUPTED)
            return False
    if run is not None and run.state in IMPORTED:
        _note(upload, state="imported")
        return False
    if not _is_silent(upload):
        return True
    time.sleep(2 * EACH)  # on SQLite a thread says nothing while its import writes, and this has just ended
    upload.refresh_from_db(fields=["work"])
    if _is_silent(upload):
        _note(upload, state="interrupted", why=INTERRUPTED)
    return bool(upload.work["state"] == "running")


def share_done(work: Mapping[str, Any]) -> float:
    """Return about how much is done: on SQLite a thread says nothing while its import writes."""
    age = timezone.now() - datetime.fromisoformat(work["at"])
    return min(float(work.get("share", 0) + work.get("pace", 0) * age.total_seconds()), 0.99)


def _is_silent(upload: ImportUpload) -> bool:
    work = upload.work or {}
    return work["state"] == "running" and timezone.now() - datetime.fromisoformat(work["at"]) > SILENT


def stop(upload: ImportUpload, *, asked: bool = True) -> None:
    """Ask the thread to stop, whatever process it is in; what was saved by then stays saved."""
    if connection.vendor != "sqlite":
        ImportUpload.objects.filter(pk=upload.pk).update(stop_asked=asked)
    elif asked:  # what an import writes keeps others from writing
        _stop_file(upload).touch()
    else:
        _stop_file(upload).unlink(missing_ok=True)


def is_stopping(upload: ImportUpload) -> bool:
    """Return whether someone asked the thread to stop."""
    if connection.vendor != "sqlite":
        return ImportUpload.objects.filter(pk=upload.pk, stop_asked=True).exists()
    return _stop_file(upload).exists()


def _stop_file(upload: ImportUpload) -> Path:
    path = Path(connection.settings_dict["NAME"])
    return path.with_name(f"{path.name}.import-stop-{upload.pk}")


def _note(upload: ImportUpload, **work: Any) -> None:
    upload.work = work
    upload.save(update_fields=["work"])


def _work(upload: ImportUpload, sender: Sender, confirmed: Confirmed | None, before: dict[str, Any]) -> None:
    try:
        _note(upload, **_ended(upload, sender, confirmed, before))
        stop(upload, asked=False)
    finally:
        connection.close()


def _ended(upload: ImportUpload, sender: Sender, confirmed: Confirmed | None, before: dict[str, Any]) -> dict[str, Any]:
    """Check or import, and return what is noted of it. What can no longer be imported is checked again."""
    with stoppable_by() as asked:
        try:
            return _import(upload, sender, confirmed, asked)
        except BusyError as error:
            why = str(error)
            return {"state": "busy", "why": why} if confirmed is None else before | {"why": why}
        except ImportRejectedError as error:
            why = str(error)
            rejected = {"state": "rejected"} if confirmed is None else _ended(upload, sender, None, {})
            return rejected | {"why": why}
        except OutcomeUnknownError as error:
            return {"state": "unknown", "why": str(error)}
        except (KeyboardInterrupt, Exception) as error:
            if asked.raised or isinstance(error, KeyboardInterrupt):
                return {"state": "stopped", "why": STOPPED}
            logger.exception("The import of upload %s failed.", upload.pk)
            return {"state": "failed", "why": FAILED}


def _import(upload: ImportUpload, sender: Sender, confirmed: Confirmed | None, asked: Stop) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    def compare() -> None:
        seen["digest"], seen["adds"] = digest(staging.tally()), staging.adds_without_reference()
        if confirmed is not None and confirmed.digest != seen["digest"]:
            raise ImportRejectedError(CHANGED_SINCE)

    def started(run: ImportRun) -> None:
        upload.run = run
        upload.save(update_fields=["run"])

    progress = Progress(None, shown=False)
    with opened(upload) as source, tempfile.TemporaryDirectory() as folder, _watched(upload, source, progress, asked):
        earlier, rejects = import_of(source.sha256), Path(folder) / "rejects"
        if confirmed is None:
            options = replace(options_of(upload), dry_run=True, again=True, rejects=rejects)
        else:
            options = replace(options_of(upload), **confirmed.options)
        sender = replace(sender, watch=compare, record=upload.run, started=started)
        outcome = import_source(source, options, sender, progress)
        if outcome.rejection is not None:
            raise ImportRejectedError(outcome.rejection)
        if confirmed is not None:
            rejected = [[row.line, " ".join(error.text for error in row.errors)] for row in outcome.rejected[:NAMED]]
            return {"state": "imported", "rejected": rejected}
        kept = rejects.exists() and rejects.stat().st_size <= LARGEST_REJECTS
        upload.rejects = rejects.read_bytes() if kept else b""
        upload.save(update_fields=["rejects"])
        run = outcome.run
        run.rejects, run.previewed_at = "", run.finished_at  # the file is gone
        run.options |= {"rejects": None, "again": False}
        run.save(update_fields=["rejects", "options", "previewed_at"])
        twice = earlier.pk if earlier and seen["adds"] else None
        return {"state": "checked", "digest": seen["digest"], "earlier": twice, "found": found(outcome)}


@contextmanager
def _watched(upload: ImportUpload, source: Source, progress: Progress, asked: Stop) -> Iterator[None]:
    """Note each second how far the import is, and end it if someone asks for that."""
    worker = connections[DEFAULT_DB_ALIAS]

    def watch(ended: threading.Event) -> None:
        raw, began = None, timezone.now()
        if connection.vendor == "sqlite":  # what the import writes keeps others from writing
            connection.cursor().execute("PRAGMA busy_timeout = 100")
        while not ended.wait(EACH):
            with suppress(DatabaseError):
                asked.raised |= not asked.too_late and is_stopping(upload)
            if asked.raised:
                raw = raw or worker.connection  # not the one that records the end
                with suppress(Exception):  # it ended a moment ago
                    raw.cancel_safe(timeout=EACH) if worker.vendor == "postgresql" else raw.interrupt()
                continue
            with suppress(DatabaseError):
                read = min(source.raw.tell() / source.size, 1) if source.size else 1
                share = progress.share(read)
                now = {"rows": progress.rows, "share": share, "at": timezone.now().isoformat()}
                now["pace"] = share / (timezone.now() - began).total_seconds()
                work = (upload.work or {}) | now
                ImportUpload.objects.filter(pk=upload.pk).update(work=work)
        connection.close()

    with beside(watch):
        yield
