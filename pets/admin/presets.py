"""Spans of days that one click filters by: when animals were added, and when they were sold."""

from datetime import date, timedelta
from typing import Any, NamedTuple

from django.contrib.admin.views.main import PAGE_VAR
from django.utils import timezone

from history.times import short_day

WEEK = timedelta(days=7)


class Preset(NamedTuple):
    """A link: its words, its query, and whether the list shows it."""

    label: str
    query: str
    is_here: bool


def spans(today: date) -> dict[str, tuple[date, date]]:
    """Return the first and last day of each span, in UTC; weeks begin on Monday."""
    yesterday = today - timedelta(days=1)
    monday = today - timedelta(days=today.weekday())
    end_of_last_month = today.replace(day=1) - timedelta(days=1)
    return {
        "Today": (today, today),
        "Yesterday": (yesterday, yesterday),
        "Last 7 days": (today - WEEK + timedelta(days=1), today),
        "Last week": (monday - WEEK, monday - timedelta(days=1)),
        "Last month": (end_of_last_month.replace(day=1), end_of_last_month),
    }


def span_in_words(first: date | None, last: date | None) -> str:
    """Return "last week" for a span that has a name, else "since 15 Nov", "until 15 Nov", "1 Nov to 15 Nov"."""
    named = {span: label for label, span in spans(timezone.now().date()).items()}
    if first is None or last is None:
        return f"since {short_day(first)}" if first else f"until {short_day(last)}" if last else ""
    if (first, last) in named:
        return named[first, last].lower()
    return short_day(first) if first == last else f"{short_day(first)} to {short_day(last)}"


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
