"""Imports in Activity: their list, the files that are worked on now, and the reader's previews."""

from operator import attrgetter
from typing import Any

from django.db.models import F, Prefetch, Q, QuerySet
from django.db.models.functions import Length
from django.urls import reverse
from django.utils import timezone

from changes import log
from changes.admin.import_facts import BADGES, page_of
from files import page
from files.uploads import KEPT
from history.values import row_number
from pets.models import IMPORTED, STANDARD_INPUT, ImportRun, ImportState, ImportUpload, Pet
from pets.permissions import may_see_imports

MOST = 5
"""Things that run, or previews, on top of the list."""

PHASES = {"read": "Reading", "check": "Checking", "write": "Writing"}
ENDED = {"rejected": "failed", "stopped": "same", "failed": "failed", "unknown": "failed"}
"""The colours of a file that could not be read or checked."""


def uploads() -> QuerySet[Any]:
    """Return the files of the last day, without what is large in them."""
    kept = ImportUpload.objects.filter(created_at__gt=timezone.now() - KEPT).defer("content", "rejects", "work")
    notes = {"state": F("work__state"), "why": F("work__why"), "checks": F("work__checks"), "phase": F("work__phase")}
    return kept.annotate(**notes, rejected=Length("rejects")).select_related("uploaded_by").order_by("-pk")


def imports(filters: log.Filters, needle: str, before: str, *, count: int) -> tuple[list[ImportRun], str]:
    """Return a page of the imports, newest first, with what the table says of each, and where the next page begins.

    The first page also has the files that no import was begun of.
    """
    runs: QuerySet[Any] = ImportRun.objects.select_related("change").defer("rejects", "change__left")
    runs = runs.prefetch_related(Prefetch("uploads", uploads(), "files"))
    runs = log.filtered(runs, filters, "started_at")
    if needle or filters.animals is not None:
        history = Pet.history.filter(id__in=filters.animals or ()).exclude(change=None)
        runs = runs.filter((Q(file_name__matches=needle) if needle else Q()) | Q(change__in=history.values("change")))
    if last := row_number(before):
        runs = runs.filter(pk__lt=last)
    read = list(runs.order_by("-pk")[: count + 1])
    older = str(read[count - 1].pk) if len(read) > count else ""
    listed = read[:count]
    if not (before or needle or filters != log.Filters(kind=filters.kind)):
        listed += map(_not_begun, uploads().filter(run=None)[:count])
        listed.sort(key=attrgetter("started_at"), reverse=True)
    return listed, older


def _not_begun(upload: ImportUpload) -> Any:
    """Return an import for a file that none was begun of."""
    run: Any = ImportRun(who=_sender(upload), file_name=upload.file_name, options={}, started_at=upload.created_at)
    run.files = [upload]
    return run


def _sender(upload: ImportUpload) -> str:
    return f"staff {upload.uploaded_by.get_username()}"


def say(runs: list[Any], reader: Any) -> None:
    """Give each import what the table shows of it, once its change is described."""
    for run in runs:
        run.upload = next(iter(run.files), None)
        run.file = "standard input" if run.file_name == STANDARD_INPUT else run.file_name
        run.is_mine = run.upload is not None and _is_theirs(run.upload, reader)
        run.url = page_of(run) if run.pk else _page_of_file(run.upload) if run.is_mine else ""
        run.kind, run.word = _state(run)
        run.has_counts = bool(run.pk) and run.state in {*IMPORTED, ImportState.DRY_RUN}
        run.open = _page_of_file(run.upload) if run.is_mine and run.state not in IMPORTED else ""
        run.rejects_url = _rejects(run.upload) if run.is_mine else ""


def _is_theirs(upload: ImportUpload, reader: Any) -> bool:
    return upload.uploaded_by_id == reader.pk and bool(reader.has_perm("pets.add_importrun"))


def _page_of_file(upload: Any) -> str:
    return reverse(f"admin:pets_importrun_{'work' if upload.state else 'columns'}", args=[upload.pk])


def _rejects(upload: Any) -> str:
    return reverse("admin:pets_importrun_rejects", args=[upload.pk]) if upload.rejected else ""


def _state(run: Any) -> tuple[str, str]:
    """Return the colour and the words of the state of an import."""
    if run.upload is not None and (not run.pk or run.upload.waits_since is not None):
        return _state_of_file(run.upload)
    if run.state == ImportState.DRY_RUN and run.upload is not None:
        return "pending", "Not imported yet"
    if run.state == ImportState.KILLED:
        return "interrupted", "Interrupted"
    word = run.get_state_display()
    if run.state == ImportState.REJECTED:
        word = run.outcome or word
    elif run.undone_at is not None and run.change is not None:
        word = f"{word} by {run.change.undoer}"
    return BADGES[run.state], word


def _state_of_file(upload: Any) -> tuple[str, str]:
    if upload.waits_since is None:
        return (ENDED[upload.state], upload.why) if upload.state in ENDED else ("pending", "Columns to match")
    if upload.state != "running":
        return "pending", "Waiting"
    return "running", f"{PHASES.get(upload.phase, 'Reading')}, {page.work(upload).share:.0f} %"


def files(reader: Any) -> tuple[list[Any], list[Any]]:
    """Return the imports that run, with progress, if the reader can see imports, and the previews of the reader."""
    if not may_see_imports(reader):
        return [], []
    is_open = Q(work__isnull=True) | Q(work__state="checked", run__state=ImportState.DRY_RUN)
    wanted = uploads().select_related("run").filter(Q(waits_since__isnull=False) | Q(uploaded_by=reader.pk) & is_open)
    working, previews = [], []
    for each in wanted[: 2 * MOST]:
        is_mine = _is_theirs(each, reader)
        each.url = _page_of_file(each) if is_mine else ""
        if each.waits_since is None:
            each.rejects_url = _rejects(each)
            previews += [each] if is_mine else []
            continue
        each.actor = _sender(each)
        each.sentence = f"is {'checking' if each.checks else 'importing'} {each.file_name}"
        each.progress = page.work(each) if each.state == "running" else None
        each.stop_url = reverse("admin:pets_importrun_stop", args=[each.pk]) if is_mine else ""
        working.append(each)
    return [*working, *_imports_of_commands()], previews


def _imports_of_commands() -> list[Any]:
    running = ImportRun.objects.filter(state=ImportState.RUNNING).exclude(options__dry_run=True)
    runs: list[Any] = list(running.exclude(uploads__waits_since__isnull=False).defer("rejects")[:MOST])
    for run in runs:
        run.actor, run.url = run.who, page_of(run)
        run.sentence = f"is importing {'standard input' if run.file_name == STANDARD_INPUT else run.file_name}"
    return runs
