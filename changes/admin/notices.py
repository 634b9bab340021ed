"""What is said of work when it is done: on the page that follows, or on the next one that its owner opens."""

import logging
from typing import Any

from django.contrib import messages
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst

from changes import log
from changes import undo as undoing
from changes.models import AnyChange, Change, State
from changes.words import animals, sentence
from pets.models import ImportRun, ImportUpload

CHANGES, FILES = "changes", "files"
"""In a session: the IDs of changes and uploads that were begun in it and whose end was not said yet."""

logger = logging.getLogger(__name__)


def address(change: AnyChange) -> str:
    """Return the address of the page of a change."""
    return reverse("admin:activity_change", args=[change.key])


def page_of(run: ImportRun) -> str:
    """Return the address of the page of an import: that of its change, if it changed something."""
    return reverse("admin:activity_change", args=[run.change_id or f"i{run.pk}"])


def offer(change: AnyChange) -> str:
    """Return the tags of a message about a change: with one animal a button that undoes it, else a link to the page."""
    way = "undo" if change.animal is not None else "review"
    return f"{way} {reverse('admin:activity_undo', args=[change.key])}"


def carry_out(request: HttpRequest, change: Change, back: str) -> HttpResponse:
    """Do the first block of a change, and say what it did; the process for work does what remains of a longer one."""
    try:
        undoing.advance(change.pk)
    except DatabaseError:
        logger.warning("The first block of %s failed. It is tried again.", change, exc_info=True)
    else:
        change.refresh_from_db()
    return lead_on(request, change, back)


def lead_on(request: HttpRequest, change: Change, back: str) -> HttpResponse:
    """Say what a change did and redirect to `back`; to its own page while it runs, and say it later."""
    if change.state == State.RUNNING:
        follow(request, CHANGES, change.pk)
        return HttpResponseRedirect(address(change))
    report(request, change)
    return HttpResponseRedirect(back)


def follow(request: HttpRequest, what: str, number: int) -> None:
    """Let the end of the change or upload be said to who began it."""
    request.session[what] = [*request.session.get(what, []), number]


def report_ended(request: HttpRequest) -> None:
    """Say what long work did that ended since this person opened a page, but for the work that this page is of."""
    if request.headers.get("Sec-Fetch-Dest", "document") != "document":
        return  # a script that looks how far it is
    for change in Change.objects.filter(pk__in=_ended(request, CHANGES, Change.objects.filter(state=State.RUNNING))):
        if request.path != address(change):
            report(request, change)
    waiting = ImportUpload.objects.filter(waits_since__isnull=False)
    ended = ImportUpload.objects.filter(pk__in=_ended(request, FILES, waiting)).select_related("run__change")
    for upload in ended.defer("content", "rejects"):
        page = reverse("admin:pets_importrun_work", args=[upload.pk])
        if upload.run is not None and upload.run.change is not None:
            if request.path != address(upload.run.change):
                report(request, upload.run.change)
        elif request.path != page:
            text = upload.work.get("why") or f"“{upload}” is {upload.work['state']}."
            messages.info(request, text, extra_tags=f"show {page}")


def _ended(request: HttpRequest, what: str, going_on: QuerySet[Any]) -> set[int]:
    """Return the IDs of the changes or uploads that go on no more, and forget them."""
    followed = set(request.session.get(what, ()))
    ended = followed.difference(going_on.filter(pk__in=followed).values_list("pk", flat=True))
    if ended:
        request.session[what] = [*followed - ended]
    return ended


def report(request: HttpRequest, change: AnyChange) -> None:
    """Say what a change did, with its Undo, and how many animals it left as they are."""
    ended: Any = log.find(change.key) or change
    if ended.outcome:
        messages.error(request, f"{ended.outcome} {animals(ended.animals).capitalize()} done.", extra_tags=offer(ended))
    elif ended.animals:
        messages.success(request, f"{capfirst(sentence(ended))}.", extra_tags=offer(ended))
    if ended.left_count:
        first = "; ".join(f"{name}: {reason}" for _, name, reason in ended.left[:3])
        verb = "is left as it is" if ended.left_count == 1 else "are left as they are"
        text = f"{animals(ended.left_count)} {verb}. {first}"
        messages.warning(request, text, extra_tags=f"see {address(ended)}#left")
