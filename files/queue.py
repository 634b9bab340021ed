"""Files of the back office that are checked or imported: small ones in the request, others by the process for work.

All or nothing, as every import: if its process ends, nothing is written, and the file is begun again, once.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from database.errors import described, failure_of
from files import staging
from files.changes import digest
from files.errors import BusyError, ImportRejectedError, LockedError, OutcomeUnknownError
from files.lock import is_free, only_import
from files.options import Sender
from files.page import found
from files.progress import Note, Progress
from files.run import STOPPED, import_locked, import_of
from files.transactions import LOCKED, disconnect
from files.uploads import opened, options_of, permissions
from history.acting import acting, acting_for
from history.naming import who
from pets.models import IMPORTED, ImportRun, ImportUpload

SMALL = 64 * 1024
"""Bytes of a file that is checked, and imported, in the request that sends it: about a block of rows."""

NAMED = 5  # rejected rows that the page of an import names
LARGEST_REJECTS = 10 * 1024 * 1024  # bytes of the file of rejects that is kept
OF_WORKER = {"METRICS_SLOT", "PETSTORE_SERVING"}  # what gunicorn's worker sets for itself
LEAVING = 2  # seconds that a process has to stop reading
CHANGED_SINCE = "Nothing changed. The catalogue has changed since this page was shown. Look again."
FAILED = "It failed. Nothing changed. Try again. If it fails again, ask an operator."
INTERRUPTED = "It was interrupted twice: its process ended. Nothing changed. Ask an operator."
NOT_ALLOWED = "{} can no longer import this, so it was stopped. Nothing changed."

logger = logging.getLogger(__name__)


class Reader:
    """A process that checks or imports one file, so that it takes memory and processor of no one else."""

    def __init__(self, upload: int) -> None:
        self._upload = upload
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "work", "--file", str(upload)]
        environment = {name: value for name, value in os.environ.items() if name not in OF_WORKER}
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)  # noqa: S603 - our own

    def goes_on(self) -> bool:
        """Return whether it runs; end it if someone asks for that."""
        if self._process.poll() is not None:
            return False
        if is_stopping(self._upload):
            self._process.terminate()
        return True

    def end(self) -> None:
        """Let it stop, and leave the file to the next process."""
        self._process.terminate()
        try:
            self._process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            self._process.kill()


def look_after(reader: Reader | None) -> Reader | None:
    """Return the process that is at work on a file: this one, or one for the file that waits longest."""
    if reader is not None and reader.goes_on():
        return reader
    upload = ImportUpload.objects.filter(waits_since__isnull=False).order_by("waits_since").values_list("pk").first()
    return Reader(*upload) if upload and is_free() else None


def put(upload: ImportUpload, confirmed: dict[str, Any] | None = None) -> None:
    """Let the file be checked, or imported if that is confirmed: at once if it is small and no other is at work.

    `confirmed` is what its sender has seen: the `digest` of a check and its `counts`, and as `options` which boxes were
    ticked.
    """
    _ask(upload.pk, stop=False)
    upload.waits_since = timezone.now()
    by = {"who": acting().actor, "request_id": acting().request_id}
    upload.work = by | {"state": "waiting", "checks": confirmed is None} | (confirmed or {})
    upload.save(update_fields=["waits_since", "work"])
    if upload.size <= SMALL:
        do(upload.pk)
        upload.refresh_from_db(fields=["waits_since", "work", "run"])


def stop(upload: ImportUpload) -> None:
    """Stop it, whatever process is at work on it, or take it from the queue. What was saved by then stays saved."""
    _ask(upload.pk, stop=True)
    if is_free():
        do(upload.pk)


def is_stopping(number: int) -> bool:
    """Return whether someone asked to stop it."""
    if connection.vendor == "sqlite":
        return _stop_file(number).exists()
    return ImportUpload.objects.filter(pk=number, stop_asked=True).exists()


def do(number: int) -> None:
    """Check or import a file that waits, in the name of its sender, unless another import runs."""
    try:
        with only_import():
            upload = ImportUpload.objects.select_related("run", "uploaded_by").get(pk=number)
            if upload.waits_since is not None:
                with acting_for(upload.work["who"], upload.work["request_id"]):
                    _note(upload, _outcome(upload))
    except (BusyError, LockedError, ImportUpload.DoesNotExist):
        return
    except DatabaseError as error:
        if failure_of(error) is None:
            raise
        logger.warning("Upload %s waits for the database: %s. It is tried again.", number, described(error))
        disconnect()
    except ImportRejectedError as error:
        _note(ImportUpload.objects.get(pk=number), {"state": "rejected", "why": str(error)})


def _note(upload: ImportUpload, work: dict[str, Any]) -> None:
    """Note how far it is. What has ended waits no more."""
    upload.work = work
    if work["state"] not in {"waiting", "running"}:
        upload.waits_since = None
        _ask(upload.pk, stop=False)
    upload.save(update_fields=["work", "waits_since"])


def _ask(number: int, *, stop: bool) -> None:
    if connection.vendor != "sqlite":
        ImportUpload.objects.filter(pk=number).update(stop_asked=stop)
    elif stop:  # by a file: an import that writes keeps others from writing
        _stop_file(number).touch()
    else:
        _stop_file(number).unlink(missing_ok=True)


def _stop_file(number: int) -> Path:
    path = Path(connection.settings_dict["NAME"])
    return path.with_name(f"{path.name}.import-stop-{number}")


def _outcome(upload: ImportUpload) -> dict[str, Any]:
    """Check or import, and return what is noted of it."""
    work, is_again = upload.work, upload.work["state"] == "running"
    if upload.run is not None and upload.run.state in IMPORTED:  # its process ended after the COMMIT
        return {"state": "imported"}
    why = STOPPED if is_stopping(upload.pk) else ""
    if not why and not upload.uploaded_by.has_perms(permissions(upload)):
        why = NOT_ALLOWED.format(who(work["who"]))
    if why:
        return {"state": "stopped", "why": why}
    if is_again and "again" in work:
        return {"state": "interrupted", "why": INTERRUPTED}
    begun = work | {"state": "running", "begun_at": timezone.now().isoformat()}
    _note(upload, begun | ({"again": True} if is_again else {}))
    try:
        return _import(upload)
    except (LockedError, KeyboardInterrupt):
        return {"state": "stopped", "why": STOPPED} if is_stopping(upload.pk) else work | {"state": "waiting"}
    except Exception as error:
        if failure_of(error) is not None:
            raise
        return _failed(upload, error)


def _failed(upload: ImportUpload, error: Exception) -> dict[str, Any]:
    """Return what is noted of a file that cannot be imported. One that was confirmed is checked again first."""
    if isinstance(error, OutcomeUnknownError):
        return {"state": "unknown", "why": str(error)}
    if not isinstance(error, ImportRejectedError):
        logger.error("The import of upload %s failed.", upload.pk, exc_info=error)
        return {"state": "failed", "why": FAILED}
    if upload.work["checks"]:
        return {"state": "rejected", "why": str(error)}
    upload.work |= {"state": "waiting", "checks": True}
    return _outcome(upload) | {"why": str(error)}


@contextmanager
def _notes(upload: ImportUpload) -> Iterator[Note]:
    """Note how far it is by a connection of its own: that of the import is copying rows, or may be rolled back."""
    others = connection.copy()
    if connection.vendor == "sqlite":
        others.settings_dict["OPTIONS"]["timeout"] = 0.1  # while the import writes, no one else does

    begun = timezone.now()

    def note(*, left: float, **progress: Any) -> None:
        times = {"begun_at": begun.isoformat(), "ends_at": (timezone.now() + timedelta(seconds=left)).isoformat()}
        work = json.dumps(upload.work | progress | times)
        with suppress(DatabaseError), others.cursor() as cursor:
            cursor.execute("UPDATE pets_importupload SET work = %s WHERE id = %s", [work, upload.pk])

    try:
        yield note
    finally:
        others.close()


def _import(upload: ImportUpload) -> dict[str, Any]:
    work, seen = upload.work, dict[str, Any]()

    def compare() -> None:
        seen["digest"], seen["adds"] = digest(staging.tally()), staging.adds_without_reference()
        if not work["checks"] and work["digest"] != seen["digest"]:
            raise ImportRejectedError(CHANGED_SINCE)

    def started(run: ImportRun) -> None:
        upload.run = run
        upload.save(update_fields=["run"])

    with opened(upload) as source, tempfile.TemporaryDirectory() as folder:
        earlier, rejects = import_of(source.sha256), Path(folder) / "rejects"
        options = options_of(upload)
        if work["checks"]:
            options = replace(options, dry_run=True, again=True, rejects=rejects)
        else:
            options = replace(options, **work["options"])
        sender = Sender(who=acting().actor[:150], watch=compare, record=upload.run, started=started)
        with _notes(upload) as note:
            outcome = import_locked(source, options, sender, Progress(note))
        if outcome.rejection is not None:
            raise (LockedError if outcome.rejection == LOCKED else ImportRejectedError)(outcome.rejection)
        if not work["checks"]:
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
