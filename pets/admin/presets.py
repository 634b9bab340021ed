"""Spans of days that one click filters by: when animals were added, and when they were sold."""

from datetime import date
from typing import Any, NamedTuple

from django.contrib.admin.views.main import PAGE_VAR
from django.utils import timezone

from history.times import spans


class Preset(NamedTuple):
    """A link: its words, its query, and whether the list shows it."""

    label: str
    query: str
    is_here: bool


def presets(changelist: Any) -> list[tuple[str, list[Preset]]]:
    """Return the links for both kinds of days, which keep the other filters of the list."""
    days = spans(timezone.now().date())
    return [
        (kind.capitalize(), [_preset(changelist, kind, *span) for span in days.items()]) for kind in ("added", "sold")
    ]


def _preset(changelist: Any, kind: str, label: str, span: tuple[date, date]) -> Preset:
    wanted = {f"{kind}_from": str(span[0]), f"{kind}_to": str(span[1])}
    is_here = all(changelist.params.get(name) == day for name, day in wanted.items())
    return Preset(label, changelist.get_query_string(wanted, [PAGE_VAR]), is_here)
