"""When something happens, as people say it, with the full time in UTC beside it (docs/decisions/0057)."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

MINUTE, HOUR, WEEK = timedelta(minutes=1), timedelta(hours=1), timedelta(days=7)
DAYS_AGO = 6
"""So many days back a day is counted; before that it has its date."""

NOTHING = "–"  # noqa: RUF001 - a dash
"""What every table shows for nothing."""


def when(at: date | None, form: str = "said") -> SafeString | str:
    """Return a day or a time as a `<time>`, in one of `FORMS`; a dash for none."""
    if at is None:
        return NOTHING
    at = _in_utc(at)
    machine = f"{at:%Y-%m-%dT%H:%M:%SZ}" if isinstance(at, datetime) else at.isoformat()
    return format_html('<time datetime="{}" title="{}">{}</time>', machine, full(at), FORMS[form](at))


def said(at: date) -> str:
    """Return it as people say it: "Just now", "3 minutes ago", "Today 15:52", "3 days ago", "12 Nov", "12 Nov 2025"."""
    at, now = _in_utc(at), timezone.now()
    if isinstance(at, datetime) and -MINUTE < now - at < HOUR:
        minutes = (now - at) // MINUTE
        return _ago(minutes, "minute") if minutes > 0 else "Just now"
    back = (now.date() - _day(at)).days
    if back in NEAR:
        return f"{NEAR[back]} {at:%H:%M}" if isinstance(at, datetime) else NEAR[back]
    return _ago(back, "day") if 0 < back <= DAYS_AGO else short_day(at)


def in_sentence(at: date | None) -> str:
    """Return the same within a sentence: "just now", "yesterday at 17:20", "on 12 Nov"; "never" for none."""
    if at is None:
        return "never"
    words = said(at)
    if words[0].isdigit():
        return words if words.endswith("ago") else f"on {words}"
    word, _, clock = words.lower().partition(" ")
    return f"{word} at {clock}" if ":" in clock else words.lower()


def last_days(count: int) -> list[date]:
    """Return so many days in UTC, today the last of them."""
    today = timezone.now().date()
    return [today - timedelta(days=back) for back in reversed(range(count))]


def short_day(at: date) -> str:
    """Return "12 Nov", with its year if that is not this one."""
    return f"{at.day} {at:%b}" if at.year == timezone.now().year else _long_day(at)


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


def full(at: date) -> str:
    """Return "21 Nov 2026, 15:51:35 UTC"; of a day, its date."""
    return f"{_long_day(at)}, {_in_utc(at):%H:%M:%S} UTC" if isinstance(at, datetime) else _long_day(at)


def _heading(at: date) -> str:
    back = (timezone.now().date() - _day(at)).days
    year = "" if at.year == timezone.now().year else f" {at.year}"
    return f"{NEAR.get(back, f'{at:%A}')}, {at.day} {at:%B}{year}"


def _long_day(at: date) -> str:
    return f"{at.day} {at:%b %Y}"


def _day(at: date) -> date:
    return at.date() if isinstance(at, datetime) else at


def _in_utc(at: date) -> date:
    return at.astimezone(UTC) if isinstance(at, datetime) else at


def _ago(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' * (count != 1)} ago"


NEAR = {-1: "Tomorrow", 0: "Today", 1: "Yesterday"}
"""Days that have a name, by how many days back they are."""

to_the_minute = "{0.day} {0:%b %Y, %H:%M}".format
"""Returns "18 Nov 2026, 16:51"."""

FORMS: dict[str, Callable[[Any], str]] = {
    "said": said,
    "sentence": in_sentence,
    "minute": to_the_minute,
    "second": "{0.day} {0:%b %Y, %H:%M:%S}".format,
    "clock": "{0:%H:%M:%S}".format,
    "day": _long_day,
    "heading": _heading,
}
"""How a time can be written: in a cell, in a sentence, with its date, within its day, as a date, above a day's list."""
