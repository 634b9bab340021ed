"""Imports in Activity: their list, the files that are worked on now, the reader's previews, and facts of one."""

from operator import attrgetter
from typing import Any

from django.db.models import Case, F, Prefetch, Q, QuerySet, Value, When
from django.db.models.functions import Concat, Length
from django.urls import reverse
from django.utils import timezone

from categories.models import Category
from changes import log
from changes.admin.notices import page_of
from files import page
from files.uploads import KEPT
from history.values import row_number
from pets.models import IMPORTED, STANDARD_INPUT, STANDING, ImportRun, ImportState, ImportUpload, Pet
from pets.permissions import may_see_animals, may_see_imports

MOST = 5
"""Things that run, or previews, on top of the list."""

PHASES = {"read": "Reading", "check": "Checking", "write": "Writing"}
ENDED = {"rejected": "failed", "stopped": "same", "failed": "failed", "unknown": "failed"}
"""The colours of a file that could not be read or checked."""

BADGES = dict.fromkeys(ImportState.values, "failed") | {
    ImportState.DONE: "done",
    ImportState.DRY_RUN: "same",
    ImportState.UNDONE: "same",
    ImportState.RUNNING: "pending",
    ImportState.PARTLY_UNDONE: "pending",
}
"""The colour of each state."""

OPTIONS = {
    "dry_run": "dry run",
    "again": "again, although it was imported before",
    "accept_ids": "changes of most names by ID accepted",
    "accept_near": "references like known ones accepted",
    "accept_references": "altered references and names accepted",
    "create_categories": "missing categories added",
    "skip_errors": "rows with errors rejected",
    "formula_safe": "a ' before cells dropped",
}


def uploads() -> QuerySet[Any]:
    """Return the files of the last day without what is large, but with the work on each that waits or runs."""
    kept = ImportUpload.objects.filter(created_at__gt=timezone.now() - KEPT).defer("content", "rejects", "work")
    notes = {"state": F("work__state"), "why": F("work__why"), "rejected": Length("rejects")}
    unfinished = Case(When(waits_since__isnull=False, then="work"))
    who = Concat(Value("staff "), "uploaded_by__username")
    return kept.annotate(**notes, unfinished=unfinished, who=who).order_by("-pk")


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


def _not_begun(upload: Any) -> Any:
    """Return an import for a file that none was begun of."""
    run: Any = ImportRun(who=upload.who, file_name=upload.file_name, options={}, started_at=upload.created_at)
    run.files = [upload]
    return run


def say(runs: list[Any], reader: Any) -> None:
    """Give each import what the table shows of it, once its change is described."""
    for run in runs:
        run.upload = next(iter(run.files), None)
        run.file = "standard input" if run.file_name == STANDARD_INPUT else run.file_name
        if run.upload is not None:
            _say_file(run.upload, reader)
        run.url = page_of(run) if run.pk else run.upload.url
        run.kind, run.word = _state(run)
        run.has_counts = bool(run.pk) and run.state in {*IMPORTED, ImportState.DRY_RUN}
        run.open = run.upload.url if run.upload is not None and run.state not in IMPORTED else ""


def _say_file(upload: Any, reader: Any) -> None:
    """Give a file where its sender goes on with it, and downloads the rejected rows."""
    upload.url = upload.rejects_url = ""
    upload.work = upload.unfinished
    if upload.uploaded_by_id == reader.pk and reader.has_perm("pets.add_importrun"):
        step = "work" if upload.state else "columns"
        upload.url = reverse(f"admin:pets_importrun_{step}", args=[upload.pk])
        upload.rejects_url = reverse("admin:pets_importrun_rejects", args=[upload.pk]) if upload.rejected else ""


def _state(run: Any) -> tuple[str, str]:
    """Return the colour and the words of the state of an import."""
    upload = run.upload
    if upload is not None and upload.waits_since is not None:
        if upload.state != "running":
            return "pending", "Waiting"
        return "running", f"{PHASES.get(upload.work.get('phase'), 'Reading')}, {page.work(upload).share:.0f} %"
    if upload is not None and not run.pk:
        return (ENDED[upload.state], upload.why) if upload.state in ENDED else ("pending", "Columns to match")
    if run.state == ImportState.DRY_RUN and upload is not None:
        return "pending", "Not imported yet"
    if run.state == ImportState.KILLED:
        return "interrupted", "Interrupted"
    word = run.get_state_display()
    if run.state == ImportState.REJECTED:
        word = run.outcome or word
    elif run.undone_at is not None and run.change is not None:
        word = f"{word} by {run.change.undoer}"
    return BADGES[run.state], word


def files(reader: Any) -> tuple[list[Any], list[Any]]:
    """Return the files that are worked on, with progress, and the reader's previews, for who can see imports."""
    if not may_see_imports(reader):
        return [], []
    is_open = Q(work__isnull=True) | Q(work__state="checked", run__state=ImportState.DRY_RUN)
    wanted = uploads().select_related("run").filter(Q(waits_since__isnull=False) | Q(uploaded_by=reader.pk) & is_open)
    working, previews = [], []
    for each in wanted[: 2 * MOST]:
        _say_file(each, reader)
        if each.waits_since is None:
            previews += [each] if each.url else []
            continue
        each.sentence = f"is {'checking' if each.work['checks'] else 'importing'} {each.file_name}"
        each.progress = page.work(each) if each.state == "running" else None
        each.stop_url = reverse("admin:pets_importrun_stop", args=[each.pk]) if each.url else ""
        working.append(each)
    return working, previews


def facts(request: Any, run: ImportRun) -> dict[str, Any]:
    """Return what the templates show of the file, to its sender with the rejected rows."""
    kept = ImportUpload.objects.filter(run=run, uploaded_by=request.user.pk).defer("content")
    is_kept = run.rejected or run.state in {ImportState.DRY_RUN, ImportState.RUNNING}
    is_listed = run.created and run.state in STANDING and may_see_animals(request)
    return {
        "badge": BADGES[run.state],
        "seconds": round(run.seconds),
        "categories": Category.objects.filter(pk__in=run.new_categories),
        "asked_for": _asked_for(run),
        "added": reverse("admin:pets_pet_changelist", query={"import_run": run.pk}) if is_listed else "",
        "upload": kept.first() if is_kept and request.user.has_perm("pets.add_importrun") else None,
    }


def _asked_for(run: ImportRun) -> str:
    options = run.options | run.options.get("reading", {})
    words = [word for name, word in OPTIONS.items() if options.get(name)]
    if options.get("profile"):
        words.append(f"columns as in the profile “{options['profile']}”")
    return ", ".join(words if options.get("keep_blanks", True) else [*words, "blank cells clear"])
