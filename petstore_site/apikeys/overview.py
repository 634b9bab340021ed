"""The page of a key: its state in words, its use, and whether a key that was replaced can be ended."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.timesince import timesince

from history.times import NOTHING, last_days, said, short_day, when
from petstore_site.apikeys.models import APIKey, KeyState, KeyUsage, in_days
from petstore_site.apikeys.routes import operation
from petstore_site.charts import Chart, Figure, Row, Series

DAYS = 30
"""Days of use that are shown, today included."""

BEFORE_ROTATION = 4
"""Days before a rotation that are shown with it: how busy the old key was."""

QUIET = timedelta(hours=24)
"""How long a key that was replaced must be unused to be called safe to end: a client's daily run is within it."""


ENOUGH = 200
"""Requests below which a share says nothing: 6 errors among 45 requests are one client's mistake."""

USUAL = 0.02
"""The share of errors up to which nothing is wrong."""

ANSWERS = [
    Series("Successful", "bar-answered"),
    Series("Rejected, 4xx", "bar-rejected"),
    Series("Failed, 5xx", "bar-failed"),
]
"""The outcomes of requests that charts show."""


def share(part: int, total: int) -> str:
    """Return the share, such as "2.5 %"; a dash of nothing."""
    return f"{100 * part / total:.1f} %" if total else NOTHING


def is_alarming(wrong: int, total: int, usual: float = 0.0) -> bool:
    """Return whether so many errors among so many requests are more than usual."""
    return total >= ENOUGH and wrong > max(USUAL, usual) * total


@dataclass
class RequestCount:
    """Requests of a day or an operation."""

    total: int = 0
    rejected: int = 0
    failed: int = 0

    def add(self, status_class: int, count: int) -> None:
        """Add `count` requests with a 4xx response (rejected), 5xx (failed) or another class."""
        self.total += count
        self.rejected += count if status_class == 4 else 0
        self.failed += count if status_class == 5 else 0

    def figures(self) -> list[Figure]:
        return [Figure(self.total - self.rejected - self.failed), Figure(self.rejected), Figure(self.failed)]

    @property
    def share(self) -> str:
        """The share of 4xx and 5xx among all, such as "2.5 %"."""
        return share(self.rejected + self.failed, self.total)

    @property
    def is_alarming(self) -> bool:
        return is_alarming(self.rejected + self.failed, self.total)


@dataclass
class UseOfKey:
    """How a key was used in the last `DAYS` days (UTC)."""

    days: dict[date, RequestCount]
    operations: dict[str, RequestCount] = field(default_factory=lambda: defaultdict(RequestCount))
    all: RequestCount = field(default_factory=RequestCount)

    def add(self, day: date, route: str, status_class: int, count: int) -> None:
        for tally in (self.days[day], self.operations[operation(route)], self.all):
            tally.add(status_class, count)

    def by_operation(self) -> list[tuple[str, RequestCount]]:
        """Return (operation, its requests), the most used first."""
        return sorted(self.operations.items(), key=lambda row: (-row[1].total, row[0]))

    @property
    def today(self) -> int:
        """Requests of the day that is not over."""
        return next(reversed(self.days.values())).total

    def chart(self, title: str, *, days: int = DAYS, **looks: int) -> Chart:
        """Return the bars of the last so many days, the oldest first."""
        rows = [Row(short_day(day), tally.figures()) for day, tally in list(self.days.items())[-days:]]
        return Chart(title, ANSWERS, rows, is_last_open=True, **looks)


class Fact(NamedTuple):
    """A line about the key, with a note behind its value."""

    label: str
    value: str
    note: str = ""


def overview(pk: int) -> dict[str, Any]:
    """Return what the page of the key shows beside its form, by two queries."""
    now = timezone.now()
    key = APIKey.objects.select_related("replaces", "replaced_by").get(pk=pk)
    pairs = [(old, new) for old, new in ((getattr(key, "replaces", None), key), (key, key.replaced_by)) if old and new]
    keys = {key, *(other for pair in pairs for other in pair)}
    use = _use(keys)
    return {
        "as_of": now,
        "flush_seconds": settings.API_KEY_USE_FLUSH_SECONDS,
        "facts": facts(key),
        "rotations": [_rotation(old, new, use, now) for old, new in pairs],
        "use": use[key.pk],
        "chart": use[key.pk].chart("Requests per day"),
    }


def facts(key: APIKey) -> list[Fact]:
    """Return what the key is and can do."""
    used = when(key.last_used_at) if key.last_used_at else "Never"
    return [_end(key), Fact("Access", key.access), _limit(key), Fact("Last used", used)]


def judge(old: APIKey, new: APIKey, *, used_today: int, now: datetime) -> tuple[bool, str]:
    """Return whether the old key can be ended without harm, and the reasons; `used_today` counts the old one's."""
    if not old.is_active:
        return False, f"Nothing is left to end: key {old.key_id} is {old.state}."
    if not new.is_active:
        return False, f"Not yet: the new key {new.key_id} is {new.state}, so the client has only the old one."
    old_used, new_used = old.last_used_at, new.last_used_at
    if new_used is None:
        return False, "Not yet: the new key has never been used."
    if old_used and now - old_used < QUIET:
        times = "once" if used_today == 1 else f"{used_today} times"
        today = f"was used {times} today" if used_today else "was not used today"
        return False, f"Not yet: the old key {today}, last {_ago(old_used, now)}."
    if now - new_used >= QUIET:
        return False, f"Not yet: the new key was last used {_ago(new_used, now)}; see that the client has it."
    unused = f"was last used {_ago(old_used, now)}" if old_used else "was never used"
    return True, f"Safe to end now: the old key {unused}, the new one {_ago(new_used, now)}."


def _use(keys: Iterable[APIKey]) -> dict[int, UseOfKey]:
    days = last_days(DAYS)
    use = {key.pk: UseOfKey({day: RequestCount() for day in days}) for key in keys}
    rows = KeyUsage.objects.filter(key__in=use, day__range=(days[0], days[-1]))
    for key, day, route, status_class, count in rows.values_list("key_id", "day", "route", "status_class", "count"):
        use[key].add(day, route, status_class, count)
    return use


def _rotation(old: APIKey, new: APIKey, use: dict[int, UseOfKey], now: datetime) -> dict[str, Any]:
    """Return a key and the one that replaced it, whether the old one can be ended and why, and the use of both."""
    safe, words = judge(old, new, used_today=use[old.pk].today, now=now)
    days = min((now.date() - new.created_at.date()).days + BEFORE_ROTATION, DAYS)
    shown = [tally.total for key in (old, new) for tally in list(use[key.pk].days.values())[-days:]]
    looks = {"days": days, "top": max(shown), "height": 112}
    sides = [
        {"key": key, "word": word, "today": of.today, "chart": of.chart(f"{word}, requests per day", **looks)}
        for key, word, of in ((old, "Old key", use[old.pk]), (new, "New key", use[new.pk]))
    ]
    return {"old": old, "new": new, "safe": safe, "words": words, "sides": sides}


def _end(key: APIKey) -> Fact:
    if key.revoked_at:
        return Fact("Revoked", when(key.revoked_at, "minute"), f"{said(key.revoked_at)}. Requests are rejected.")
    if key.expires_at is None:
        return Fact("Expires", "Never")
    if key.state == KeyState.EXPIRED:
        return Fact("Expired", when(key.expires_at, "minute"), f"{said(key.expires_at)}. Requests are rejected.")
    return Fact("Works until", when(key.expires_at, "minute"), in_days(key.expires_at))


def _limit(key: APIKey) -> Fact:
    if key.rate_limit:
        return Fact("Limit", key.rate_limit, "its own")
    return Fact("Limit", settings.RATE_LIMIT, "the service's") if settings.RATE_LIMIT else Fact("Limit", "None")


def _ago(at: datetime, now: datetime) -> str:
    """Return "5 minutes ago" or "2 days, 3 hours ago"; less than a minute is "a moment ago"."""
    if now - at < timedelta(minutes=1):
        return "a moment ago"
    return f"{timesince(at, now)} ago".replace("\N{NO-BREAK SPACE}", " ")
