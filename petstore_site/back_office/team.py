"""Changes of keys, accounts and roles, in Activity for who can see these; of the last two, Django's own log."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from changes.admin.activity import PER_PAGE, TABS
from pets.permissions import may_see_animals
from petstore_site.back_office.addresses import page_of
from petstore_site.back_office.dashboard.activity import Event, event, keys

VERBS = {ADDITION: "added", CHANGE: "changed", DELETION: "deleted"}
LOGGED = {"user": "the account", "group": "the role"}
"""The models of Django whose log is listed, and what we call them."""


@require_safe
def team(request: Any) -> HttpResponse:
    """Show a page of these changes, newest first."""
    models = [name for name in LOGGED if request.user.has_perm(f"auth.view_{name}")]
    sees_keys = request.user.has_perm("apikeys.view_apikey")
    if not (models or sees_keys):
        raise PermissionDenied
    before = _moment(request.GET.get("before", ""))
    events = [*map(event, keys(before, PER_PAGE + 1))] if sees_keys else []
    events += _logged(models, before)
    events.sort(key=lambda each: each.at, reverse=True)
    shown = events[:PER_PAGE]
    if events[PER_PAGE:]:  # the next page begins before the last of these
        shown = [each for each in shown if each.at > events[PER_PAGE].at] or shown
    context = {
        "title": "Activity",
        "events": shown,
        "older": shown[-1].at.isoformat() if len(shown) < len(events) else "",
        "is_first": before is None,
        "tabs": TABS.items() if may_see_animals(request) else (),
    }
    return TemplateResponse(request, "admin/changes/team.html", admin.site.each_context(request) | context)


def _logged(models: list[str], before: datetime | None) -> list[Event]:
    entries = LogEntry.objects.filter(content_type__app_label="auth", content_type__model__in=models)
    entries = entries.filter(action_time__lt=before) if before else entries
    read = entries.select_related("user").annotate(model=F("content_type__model")).order_by("-action_time", "-pk")
    return [
        Event(
            entry.action_time,
            f"staff {entry.user.get_username()}",
            f"{VERBS[entry.action_flag]} {LOGGED[entry.model]}",
            entry.object_repr,
            "" if entry.action_flag == DELETION else page_of(f"auth_{entry.model}", entry.object_id),
            entry.get_change_message(),
        )
        for entry in read[: PER_PAGE + 1]
    ]


def _moment(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None
