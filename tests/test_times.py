"""Times as people say them: one filter, on every page, with the full time in UTC on hover (docs/decisions/0057)."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.template import Context, Template

from history import times

NOW = datetime(2026, 11, 21, 15, 52, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


@pytest.mark.parametrize(
    ("at", "said", "in_sentence"),
    [
        (NOW, "Just now", "just now"),
        (NOW - timedelta(seconds=59), "Just now", "just now"),
        (NOW + timedelta(seconds=30), "Just now", "just now"),  # another machine's clock
        (NOW - timedelta(seconds=60), "1 minute ago", "1 minute ago"),
        (NOW - timedelta(minutes=59, seconds=59), "59 minutes ago", "59 minutes ago"),
        (NOW - timedelta(minutes=60), "Today 14:52", "today at 14:52"),
        (datetime(2026, 11, 21, tzinfo=UTC), "Today 00:00", "today at 00:00"),
        (datetime(2026, 11, 20, 17, 20, tzinfo=UTC), "Yesterday 17:20", "yesterday at 17:20"),
        (datetime(2026, 11, 19, 23, 59, tzinfo=UTC), "2 days ago", "2 days ago"),
        (datetime(2026, 11, 15, tzinfo=UTC), "6 days ago", "6 days ago"),
        (datetime(2026, 11, 14, 23, 59, tzinfo=UTC), "14 Nov", "on 14 Nov"),
        (datetime(2025, 11, 12, tzinfo=UTC), "12 Nov 2025", "on 12 Nov 2025"),
        (datetime(2026, 11, 21, 16, tzinfo=UTC), "Today 16:00", "today at 16:00"),
        (datetime(2026, 11, 22, 9, tzinfo=UTC), "Tomorrow 09:00", "tomorrow at 09:00"),
        (datetime(2026, 11, 23, 9, tzinfo=UTC), "23 Nov", "on 23 Nov"),
        (datetime(2027, 3, 14, tzinfo=UTC), "14 Mar 2027", "on 14 Mar 2027"),
        (date(2026, 11, 21), "Today", "today"),
        (date(2026, 11, 20), "Yesterday", "yesterday"),
        (date(2026, 11, 18), "3 days ago", "3 days ago"),
        (date(2026, 11, 2), "2 Nov", "on 2 Nov"),
    ],
)
def test_as_people_say_it(at: date, said: str, in_sentence: str) -> None:
    assert (times.said(at), times.in_sentence(at)) == (said, in_sentence)


def test_just_after_midnight_a_minute_ago_is_no_yesterday(monkeypatch: pytest.MonkeyPatch) -> None:
    midnight = datetime(2026, 11, 21, 0, 0, 30, tzinfo=UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: midnight)
    assert times.said(midnight - timedelta(minutes=1)) == "1 minute ago"


def test_in_january_the_days_of_last_year_have_their_year(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime(2027, 1, 3, 9, tzinfo=UTC))
    days = [date(2026, 12, 20), date(2026, 12, 31), date(2027, 1, 2)]
    assert [times.said(day) for day in days] == ["20 Dec 2026", "3 days ago", "Yesterday"]
    assert [times.FORMS["heading"](day) for day in days[1:]] == ["Thursday, 31 December 2026", "Yesterday, 2 January"]


def shown(at: Any, form: str = "") -> str:
    tag = f"{{% load office %}}{{{{ at|when{f':{form!r}' if form else ''} }}}}"
    return str(Template(tag).render(Context({"at": at})))


def test_the_full_time_is_on_hover_and_for_machines() -> None:
    elsewhere = datetime(2026, 11, 20, 18, 20, 2, tzinfo=timezone(timedelta(hours=1)))
    tag = '<time datetime="2026-11-20T17:20:02Z" title="20 Nov 2026, 17:20:02 UTC">{}</time>'
    assert shown(elsewhere) == tag.format("Yesterday 17:20")
    assert shown(elsewhere, "clock") == tag.format("17:20:02")
    assert shown(elsewhere, "minute") == tag.format("20 Nov 2026, 17:20")
    assert shown(elsewhere, "day") == tag.format("20 Nov 2026")
    assert shown(date(2026, 11, 12)) == '<time datetime="2026-11-12" title="12 Nov 2026">12 Nov</time>'
    assert shown(None) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("day", "heading"),
    [
        (date(2026, 11, 21), "Today, 21 November"),
        (date(2026, 11, 20), "Yesterday, 20 November"),
        (date(2026, 11, 19), "Thursday, 19 November"),
        (date(2025, 12, 31), "Wednesday, 31 December 2025"),
    ],
)
def test_the_heading_of_a_day(day: date, heading: str) -> None:
    assert f">{heading}</time>" in shown(day, "heading")


FOLDERS = ("admin", "mfa", "account", "staff")
OTHER_FILTERS = re.compile(r"\|(date|time|naturaltime|naturalday|timeuntil)\b")


def test_no_page_of_the_back_office_writes_a_time_in_another_way() -> None:
    templates = [file for folder in FOLDERS for file in Path("templates", folder).rglob("*.html")]
    assert len(templates) > 80
    assert [str(file) for file in templates if OTHER_FILTERS.search(file.read_text())] == []


LONG_DASH_OR_HYPHEN = re.compile(r'"(-|\N{EM DASH})"\s*\}|\N{EM DASH}')


def test_there_is_one_dash() -> None:
    files = [file for folder in FOLDERS for file in Path("templates", folder).rglob("*.html")]
    assert [str(file) for file in files if LONG_DASH_OR_HYPHEN.search(file.read_text())] == []
