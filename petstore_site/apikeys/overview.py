"""The page of a key: its state in words, its use, and whether a key that was replaced can be ended."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.timesince import timesince

from history.times import NOTHING, last_days, said, short_day, when
from petstore_site.apikeys.models import APIKey, KeyState, KeyUsage, in_days
from petstore_site.apikeys.routes import operation
from petstore_site.charts import Chart, Figure, Row, Series, Spark

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


@dataclass
class RequestCount:
    """Requests of a day, a key or an operation."""

    total: int = 0
    rejected: int = 0
    """With a 4xx response."""
    failed: int = 0
    """With a 5xx response."""

    def __add__(self, other: "RequestCount") -> "RequestCount":
        return RequestCount(self.total + other.total, self.rejected + other.rejected, self.failed + other.failed)

    def figures(self) -> list[Figure]:
        return [Figure(self.total - self.errors), Figure(self.rejected), Figure(self.failed)]

    @property
    def errors(self) -> int:
        return self.rejected + self.failed

    @property
    def share(self) -> str:
        """The share of errors among all, such as "2.5 %"; a dash of nothing."""
        return f"{100 * self.errors / self.total:.1f} %" if self.total else NOTHING

    def is_alarming(self, usual: float = 0.0) -> bool:
        """Return whether so many errors among so many requests are more than usual."""
        return self.total >= ENOUGH and self.errors > max(USUAL, usual) * self.total


Counts = dict[Any, RequestCount]
"""By what they are counted."""


def counted(rows: Iterable[Sequence[Any]]) -> Counts:
    """Return the requests of rows that end with a status class and a count: by what is before these."""
    counts: Counts = defaultdict(RequestCount)
    for *by, status_class, count in rows:
        counted = RequestCount(count, count if status_class == 4 else 0, count if status_class == 5 else 0)
        counts[tuple(by) if by[1:] else by[0]] += counted
    return counts


def by_operation(use: Any) -> list[dict[str, Any]]:
    """Return each operation with its requests, and when it is removed; the most used first."""
    sunsets = {operation(route): deprecation["sunset"] for route, deprecation in settings.API_DEPRECATIONS.items()}
    counts: Counts = defaultdict(RequestCount)
    for route, count in counted(use.sums("route")).items():
        counts[operation(route)] += count
    ranked = sorted(counts.items(), key=lambda row: (-row[1].total, row[0]))
    return [{"operation": words, "tally": count, "sunset": sunsets.get(words)} for words, count in ranked]


def spark_of(counts: Sequence[RequestCount]) -> Spark:
    """Return the line of some days. It ends yesterday, because today is not over."""
    return Spark([count.total for count in counts[:-1]], tone="quiet")


def chart(title: str, counts: Mapping[date, RequestCount], **looks: int) -> Chart:
    """Return the bars of days, the oldest first; the last is not over."""
    rows = [Row(short_day(day), count.figures()) for day, count in counts.items()]
    return Chart(title, ANSWERS, rows, is_last_open=True, **looks)


class Fact(NamedTuple):
    """A line about the key, with a note behind its value."""

    label: str
    value: str
    note: str = ""


def overview(pk: int) -> dict[str, Any]:
    """Return what the page of the key shows beside its form, by three queries."""
    now = timezone.now()
    key = APIKey.objects.select_related("replaces", "replaced_by").get(pk=pk)
    pairs = [(old, new) for old, new in ((getattr(key, "replaces", None), key), (key, key.replaced_by)) if old and new]
    days = last_days(DAYS)
    counts = counted(KeyUsage.objects.within(days).filter(key__in={key, *chain(*pairs)}).sums("key", "day"))
    use = {day: counts[key.pk, day] for day in days}
    return {
        "as_of": now,
        "flush_seconds": settings.API_KEY_USE_FLUSH_SECONDS,
        "facts": facts(key),
        "rotations": [_rotation(old, new, counts, now) for old, new in pairs],
        "all": sum(use.values(), RequestCount()),
        "chart": chart("Requests per day", use),
        "operations": by_operation(KeyUsage.objects.within(days).filter(key=key)),
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


def _rotation(old: APIKey, new: APIKey, counts: Counts, now: datetime) -> dict[str, Any]:
    """Return a key and the one that replaced it, whether the old one can be ended and why, and the use of both."""
    days = last_days(min((now.date() - new.created_at.date()).days + BEFORE_ROTATION, DAYS))
    use = {key: {day: counts[key.pk, day] for day in days} for key in (old, new)}
    safe, words = judge(old, new, used_today=counts[old.pk, days[-1]].total, now=now)
    top = max(count.total for of_key in use.values() for count in of_key.values())
    sides = [
        {
            "key": key,
            "word": word,
            "today": counts[key.pk, days[-1]].total,
            "chart": chart(f"{word}, requests per day", use[key], top=top, height=112),
        }
        for key, word in ((old, "Old key"), (new, "New key"))
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
