"""All changes to the animals: the list and its filters, what runs now on top, and the list as CSV."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_safe

from changes import log
from changes.admin.change import describe, download, of_import, page, show_change, stop, undo
from changes.admin.imports import MOST, files, imports, say
from changes.admin.notices import address
from changes.models import Change, Kind, State, UnrecordedChange
from files.downloads import csv_of
from history.times import span_in_words, spans
from history.values import row_number
from pets.models import ImportRun, ImportState
from pets.permissions import may_see_animals, may_see_imports

TABS = {"": "All"} | {kind: title for kind, (title, *_) in log.KINDS.items()}

PER_PAGE = 50

EXPORTED = [
    *("at", "who", "what", "kind", "state", "added", "changed", "deleted", "left"),
    *("undone_by", "request_id", "change", "comment"),
]

PART = 500
"""Changes that are read and sent at once."""


class FilterForm(forms.Form):
    """What the list is asked for."""

    q = forms.CharField(required=False, max_length=255)
    who = forms.CharField(required=False, max_length=200)
    kind = forms.ChoiceField(required=False, choices=TABS.items())
    animal = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    day_from = forms.DateField(required=False, label="From", widget=forms.DateInput({"type": "date"}))
    day_to = forms.DateField(required=False, label="To", widget=forms.DateInput({"type": "date"}))

    def filters(self) -> log.Filters:
        """Return it, without what makes no sense."""
        self.is_valid()
        others = {name: value for name, value in self.cleaned_data.items() if value and name not in {"q", "animal"}}
        return log.Filters(**others, animals=_animals(self.cleaned_data))


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show a page of the changes that the filters leave, newest first."""
    if not may_see_animals(request) and not may_see_imports(request.user):
        raise PermissionDenied
    form = FilterForm(request.GET)
    filters = form.filters()
    before, actors = request.GET.get("before", ""), log.actors()
    context: dict[str, Any] = {
        "title": "Activity",
        "form": form,
        "is_first": "before" not in request.GET,
        "days": span_in_words(filters.day_from, filters.day_to),
        "presets": spans(timezone.now().date()),
        "is_filtered": any(request.GET.get(name) for name in form.fields if name != "kind"),
        "may_export": may_see_animals(request) and request.user.has_perm("pets.export_pet"),
        "findable": "name, reference or ID",
        "tabs": TABS.items(),
    }
    if not may_see_animals(request):
        filters = replace(filters, kind=Kind.IMPORT, animals=None)
        context |= {"tabs": [(Kind.IMPORT, TABS[Kind.IMPORT])]}
    listed: list[Any]
    if filters.kind == Kind.IMPORT and may_see_imports(request.user):
        runs, context["older"] = imports(filters, form.cleaned_data.get("q", ""), before, count=PER_PAGE)
        listed = [run.change for run in runs if run.change]
        log.note(listed)
        names = describe(listed, request.user, actors)
        say(runs, request.user)
        context |= {"runs": runs, "findable": "file, animal or reference"}
    else:
        listed, context["older"] = log.changes(filters, before=before, count=PER_PAGE)
        if not before:
            changing, (working, previews) = _running(request.user), files(request.user)
            context |= {"changing": changing, "running": [*changing, *working], "previews": previews}
        on_top = {change.key for change in context.get("changing", ())}
        context["changes"] = [change for change in listed if change.key not in on_top]
        names = describe(context["changes"], request.user, actors)
    people = sorted(((actor, names[actor][0]) for actor in actors), key=lambda pair: pair[1].casefold())
    template = "imports.html" if "runs" in context else "list.html"
    return page(request, template, **context, filters=filters, actors=people)


def _running(reader: Any) -> list[Any]:
    """Return the changes that run, with their progress, and the imports of commands; others are files."""
    found = log.with_undone(Change.objects.filter(state=State.RUNNING, imported=None)).order_by("-pk").defer("left")
    changes: list[Any] = [*found[:MOST]]
    if may_see_imports(reader):
        runs = ImportRun.objects.filter(state=ImportState.RUNNING).exclude(options__dry_run=True).defer("rejects")
        by_commands = runs.exclude(uploads__waits_since__isnull=False)
        changes += map(UnrecordedChange.of_import, by_commands[:MOST])
    describe(changes, reader)
    for change in changes:
        change.url = address(change)
        change.stop_url = reverse("admin:activity_stop", args=[change.key]) if change.may_undo else ""
    return changes


@require_GET
def export(request: Any) -> StreamingHttpResponse:
    """Send the changes that the filters leave as CSV, while they are read: there is no limit."""
    if not may_see_animals(request) or not request.user.has_perm("pets.export_pet"):
        raise PermissionDenied
    lines = _lines(FilterForm(request.GET).filters(), request.user)
    return csv_of(f"activity-{timezone.now():%Y-%m-%d-%H%M}.csv", EXPORTED, lines)


def _lines(filters: log.Filters, reader: Any) -> Iterator[list[list[str]]]:
    before: str | None = ""
    while before is not None:
        changes, older = log.changes(filters, before=before, count=PART)
        shown: list[Any] = changes
        describe(shown, reader)
        yield [
            [
                f"{change.made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
                change.name,
                change.sentence,
                change.kind,
                change.state,
                *map(str, (change.added, change.changed, change.deleted, change.left_count)),
                change.undoer,
                change.request_id,
                change.key,
                change.comment,
            ]
            for change in shown
        ]
        before = older or None


def _animals(wanted: dict[str, Any]) -> list[int] | None:
    """Return the IDs of the animals whose changes are wanted; None for those of all."""
    chosen = [wanted["animal"]] if wanted.get("animal") else None
    needle = wanted.get("q")
    if not needle:
        return chosen
    matching = log.animals_named(needle) | {number for number in [row_number(needle)] if number}
    return [*matching] if chosen is None else [number for number in chosen if number in matching]


def urls(view: Any) -> list[Any]:
    """Return the addresses of changes; `view` makes each page one of the back office's."""
    return [
        path("activity/", view(index), name="activity"),
        path("activity/csv/", view(export), name="activity_export"),
        path("activity/i<int:number>/", view(of_import), name="activity_import"),
        path("activity/<slug:key>/", view(show_change), name="activity_change"),
        path("activity/<slug:key>/csv/", view(download), name="activity_csv"),
        path("activity/<slug:key>/undo/", view(undo), name="activity_undo"),
        path("activity/<slug:key>/stop/", view(stop), name="activity_stop"),
    ]
