"""One change: its page with its animals, the one page that asks before an undo, and what each list says of a change."""

from collections.abc import Iterable
from datetime import UTC
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from categories.models import Category
from changes import log
from changes import undo as undoing
from changes.admin.imports import facts
from changes.admin.notices import address, lead_on, page_of
from changes.models import AnyChange, Kind, State, UnrecordedChange
from changes.plan import BLOCK
from changes.preview import LISTED, undo_plan
from changes.words import HEADER, animals, animals_in_words, line_of, sentence, undo_in_words, undone_in_words
from files.downloads import csv_of
from files.lock import is_free
from history.acting import acting, explain
from history.edits import NotUndoneError
from history.naming import name_actors, names_of, opening, who
from history.pages import sent_from
from history.values import row_number
from pets.models import ImportRun, ImportState
from pets.permissions import may_see_animals, may_see_imports

PER_SECOND = 5_000
"""Animals that are undone in a second, so that the page which asks can say how long it takes."""


def keep_comment(request: HttpRequest) -> None:
    """Keep what the form says why, for the change that this request makes; Activity shows it."""
    explain(request.POST.get("comment", "").replace("\0", "").strip()[:300])


@require_http_methods(["GET", "HEAD", "POST"])
def show_change(request: Any, key: str) -> HttpResponse:
    """Show a change: who, when, how, and each animal before, after and now; POST carries those chosen to restore."""
    return _show(request, _change(request, key))


@require_safe
def of_import(request: Any, number: int) -> HttpResponse:
    """Show an import that changed nothing, or not yet; lead to its change if it did."""
    if not may_see_imports(request.user):
        raise PermissionDenied
    run = get_object_or_404(ImportRun, pk=number)
    if run.state == ImportState.RUNNING:
        is_free()  # marks it if it was killed
        run.refresh_from_db()
    return HttpResponseRedirect(page_of(run)) if run.change_id else _show(request, UnrecordedChange.of_import(run))


def _show(request: Any, change: Any) -> HttpResponse:
    describe([change], request.user)
    query = request.POST or request.GET
    chosen = [] if "clear" in query else _chosen(request)
    after = row_number(query.get("after", "")) or 0
    kinds = {"changed": change.changed, "added": change.added, "deleted": change.deleted}
    several = {name: count for name, count in kinds.items() if count}
    parts = {"all": change.animals} | (several if len(several) > 1 else {})
    if since := log.changed_since(change):
        parts["since"] = since
    wanted = query.get("show", "")
    show = wanted if wanted in {*parts, *several} or (wanted == "chosen" and chosen) else "all"
    some: dict[str, Any] = {"among": chosen} if show == "chosen" else {"show": show}
    rows, older = log.animals(change, **some, after=after, count=LISTED)
    here = {row.row.id for row in rows}
    context = {
        "title": f"{opening(change.name)} {change.sentence}",
        "change": change,
        "rows": animals_in_words(rows, request.user) if may_see_animals(request) else [],
        "next": older,
        "is_first": not after,
        "shown": show,
        "chosen": {*chosen},
        "elsewhere": [number for number in chosen if number not in here],
        "tabs": parts.items() if len(parts) > 1 else [],
        "since": parts.get("since"),
        "flows": log.flows(change),
        "merged": log.categories(change),
        "changed": "?show=changed" if "changed" in parts else "",
    }
    if change.undone is not None:
        context["undone"] = _undone(change, request.user)
    if change.may_undo and not change.why_not:
        context["plan"] = plan = undo_plan(change, named=False)
        context["chooses"] = plan.restores and not change.animal
    if change.run is not None:
        context |= facts(request, change.run)
    return page(request, "change.html", **context)


def _undone(change: Any, reader: Any) -> str:
    """Return what the undo of a change did, and give that what the template shows of it."""
    undo = change.undone
    if change.pk:
        undo.undo_of = change
    undo.undos = []
    describe([undo], reader)
    return undone_in_words(undo, "set back" if change.undo_word == "Undo" else "changed")


@require_GET
def download(request: Any, key: str) -> StreamingHttpResponse:
    """Send the animals of a change as CSV, while they are read: there is no limit."""
    change = _change(request, key)
    if not request.user.has_perm("pets.export_pet"):
        raise PermissionDenied
    parts = ([line_of(row) for row in animals_in_words(part, request.user)] for part in log.animals_in_parts(change))
    return csv_of(f"change-{change.key}.csv", HEADER, parts)


@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest, key: str) -> HttpResponse:
    """Show what an undo would do, or do it."""
    change = _change(request, key)
    if not undoing.may_undo(request.user, change):
        raise PermissionDenied
    chosen = _chosen(request) if {"chosen", "animal"} & request.POST.keys() else None
    if chosen is not None and not 0 < len(chosen) <= BLOCK:
        messages.error(request, f"Nothing changed. Choose 1 to {BLOCK:,} animals.")
        return HttpResponseRedirect(address(change))
    if request.method == "POST" and not {"ask", "after"} & request.POST.keys():
        if request.POST.get("of", of := str(change.animals)) != of:
            messages.error(request, f"Nothing changed. {undoing.GREW}")
            return HttpResponseRedirect(reverse("admin:activity_undo", args=[change.key]))
        return _undo(request, change, log.part_of(change, key) if chosen is None else chosen)
    if log.part_of(change, key):
        return HttpResponseRedirect(reverse("admin:activity_undo", args=[change.key]))
    describe([change], request.user)
    if change.why_not:
        messages.error(request, f"Nothing changed. {change.why_not}")
        return HttpResponseRedirect(address(change))
    query = request.POST or request.GET
    after = row_number(query.get("after", "")) or 0
    planned = undo_plan(change, chosen=chosen, show=query.get("show", ""), after=after)
    button = undo_in_words(change, planned) if planned.count else ""
    name_actors([one.row.since for one in (*planned.left, *planned.animals)], request.user)
    context = {
        "change": change,
        "plan": planned,
        "button": button,
        "is_first": not after,
        "chosen": chosen,
        "others": change.animals - len(chosen or ()),
        "seconds": -(-planned.count // PER_SECOND),
        "categories": Category.objects.all() if change.kind == Kind.DELETION and planned.lost_category else (),
    }
    question = f"Restore {planned.restores:,} of {animals(change.animals)}" if chosen and button else button
    stay = f" {planned.left_count:,} stay{'s' * (planned.left_count == 1)}." if planned.left_count else ""
    return page(request, "undo.html", title=f"{question}?{stay}" if button else "Undo would change nothing", **context)


@require_POST
def stop(request: HttpRequest, key: str) -> HttpResponse:
    """Stop a change that runs, also someone else's."""
    change = _change(request, key)
    if not undoing.may_undo(request.user, change):
        raise PermissionDenied
    if change.state != State.RUNNING:
        raise Http404
    undoing.stop(change.pk, f"Stopped by {who(acting().actor)}.")
    return HttpResponseRedirect(address(change))


def describe(changes: Iterable[Any], reader: Any, actors: Iterable[str] = ()) -> dict[str, tuple[str, str]]:
    """Give each change what the templates show of it: `name` and `sentence`, and whether `reader` `may_undo` it.

    Return the names of who made them, and of these `actors`, as `names_of` does.
    """
    listed = [*changes]
    names = names_of([*actors, *(one.who for change in listed for one in (change, change.undone) if one)], reader)
    for change in listed:
        if change.state == State.RUNNING and change.run is None:
            change.progress = undoing.progress(change)
            change.work = undoing.work(change, *change.progress)
        change.name, _ = names[change.who]
        change.undoer = names[change.undone.who][0] if change.undone else ""
        change.sentence = sentence(change)
        change.day = change.made_at.astimezone(UTC).date()
        change.is_record = change.pk is not None or change.row is not None
        change.has_page = change.is_record or may_see_imports(reader)
        change.may_undo = change.is_record and undoing.may_undo(reader, change)
        change.why_not = undoing.why_not(change) if change.may_undo else ""
        is_redoable = change.kind == Kind.UNDO and not change.is_redo
        change.undo_word, change.undo_icon = ("Redo", "redo-2") if is_redoable else ("Undo", "undo-2")
    return names


def parts_of(rows: Iterable[Any], reader: Any) -> list[Any]:
    """Return for each of these rows of history the change that it is, or is a part of, as `describe` leaves it."""
    parts = [row.change or UnrecordedChange.of_row(row) for row in rows]
    changes: dict[str, Any] = {part.key: part for part in parts}
    log.note([*changes.values()])
    describe(changes.values(), reader)
    return [changes[part.key] for part in parts]


def _change(request: HttpRequest, key: str) -> Any:
    change = log.find(key)
    is_import = change is not None and change.run is not None
    if not may_see_animals(request) and not (is_import and may_see_imports(request.user)):
        raise PermissionDenied
    if change is None:
        raise Http404
    return change


def _undo(request: Any, change: AnyChange, chosen: list[int] | None) -> HttpResponse:
    back = sent_from(request, otherwise=reverse("admin:activity"))
    category = row_number(request.POST.get("category", ""))
    keep_comment(request)
    try:
        done = undoing.undo(change, user=request.user, animals=chosen, category=category)
    except NotUndoneError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(back if change.animal else address(change))
    return lead_on(request, done, back)


def _chosen(request: HttpRequest) -> list[int]:
    """Return the animals that are ticked: on this page, and before on others."""
    sent = [*request.POST.get("chosen", "").split(","), *request.POST.getlist("animal")]
    return sorted({number for number in map(row_number, sent) if number})


def page(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    """Return a page of the back office, of `templates/admin/changes/`."""
    return TemplateResponse(request, f"admin/changes/{template}", admin.site.each_context(request) | context)
