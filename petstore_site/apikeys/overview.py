"""The page of a key: its state in words, its use, and whether a key that was replaced can be ended."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.timesince import timesince

from database import replica
from history.times import NOTHING, short_day, to_the_minute
from petstore_site.apikeys.models import APIKey, KeyState, KeyUsage, Scope
from petstore_site.apikeys.routes import operation
from petstore_site.charts import Chart, Figure, Row, Series

DAYS = 30
"""Days of use that are shown, today included."""

QUIET = timedelta(hours=24)
"""How long a key that was replaced must be unused to be called safe to end: a client's daily run is within it."""


ANSWERS = [Series("Answered", "bar-answered"), Series("4xx", "bar-rejected"), Series("5xx", "bar-failed")]
"""What becomes of a request, as charts have it."""


@dataclass
class Tally:
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
        """Return them as the chart has them: in the order of `ANSWERS`."""
        return [Figure(self.total - self.rejected - self.failed), Figure(self.rejected), Figure(self.failed)]

    @property
    def share(self) -> str:
        """The share of 4xx and 5xx among all, such as "2.5 %"."""
        return f"{100 * (self.rejected + self.failed) / self.total:.1f} %" if self.total else NOTHING


@dataclass
class UseOfKey:
    """How a key was used in the last `DAYS` days (UTC)."""

    days: dict[date, Tally]
    operations: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    all: Tally = field(default_factory=Tally)

    def add(self, day: date, route: str, status_class: int, count: int) -> None:
        """Add one row of `KeyUsage`."""
        for tally in (self.days[day], self.operations[operation(route)], self.all):
            tally.add(status_class, count)

    def by_operation(self) -> list[tuple[str, Tally]]:
        """Return (operation, its requests), the most used first."""
        return sorted(self.operations.items(), key=lambda row: (-row[1].total, row[0]))

    def chart(self, name: str, title: str, *, since: date | None = None, top: int = 0) -> Chart:
        """Return the bars of the days, the oldest first."""
        days = self.days if since is None else [day for day in self.days if day >= since]
        rows = [Row(short_day(day), self.days[day].figures()) for day in days]
        return Chart(name, title, ANSWERS, rows, top=top)


@dataclass
class Side:
    """One of two keys beside each other."""

    key: APIKey
    word: str
    last_used: str
    chart: Chart


@dataclass
class Rotation:
    """A key and the one that replaced it; `safe` says that the old one can be ended, `words` says why or why not."""

    old: APIKey
    new: APIKey
    safe: bool
    words: str
    sides: list[Side]


def overview(pk: int) -> dict[str, Any]:
    """Return what the page of the key shows beside its form, by two queries."""
    now = timezone.now()
    key = APIKey.objects.select_related("replaces", "replaced_by").get(pk=pk)
    pairs = [(old, new) for old, new in ((getattr(key, "replaces", None), key), (key, key.replaced_by)) if old and new]
    keys = {key, *(each for pair in pairs for each in pair)}
    use = replica.read(lambda using: _use(keys, now.date(), using))
    return {
        "as_of": now,
        "flush_seconds": settings.API_KEY_USE_FLUSH_SECONDS,
        "sentences": sentences(key, now),
        "rotations": [_rotation(old, new, use, now) for old, new in pairs],
        "use": use[key.pk],
        "chart": use[key.pk].chart("use", "Requests per day"),
    }


def sentences(key: APIKey, now: datetime) -> list[str]:
    """Return what the key is and may do, in words."""
    return [_state(key, now), _scope(key), _limit(key), _last_use(key, now)]


def judge(old: APIKey, new: APIKey, *, used_today: int, now: datetime) -> tuple[bool, str]:
    """Return whether the old key can be ended without harm, and the reasons; `used_today` counts the old one's."""
    if not old.is_active:
        return False, f"Nothing is left to end: key {old.key_id} is {old.state}."
    if not new.is_active:
        return False, f"Not yet: the new key {new.key_id} is {new.state}, so the client has only the old one."
    if new.last_used_at is None:
        return False, "Not yet: the new key has never been used."
    if _used_within(QUIET, old, now):
        times = "once" if used_today == 1 else f"{used_today} times"
        today = f"was used {times} today" if used_today else "was not used today"
        return False, f"Not yet: the old key {today}, last {_ago(old.last_used_at, now)}."
    if not _used_within(QUIET, new, now):
        return False, f"Not yet: the new key was last used {_ago(new.last_used_at, now)}; see that the client has it."
    unused = f"was last used {_ago(old.last_used_at, now)}" if old.last_used_at else "was never used"
    return True, f"Safe to end now: the old key {unused}, the new one {_ago(new.last_used_at, now)}."


def _use(keys: Iterable[APIKey], today: date, using: str) -> dict[int, UseOfKey]:
    days = [today - timedelta(days=number) for number in reversed(range(DAYS))]
    use = {key.pk: UseOfKey({day: Tally() for day in days}) for key in keys}
    rows = KeyUsage.objects.using(using).filter(key__in=use, day__range=(days[0], today))
    for key, day, route, status_class, count in rows.values_list("key_id", "day", "route", "status_class", "count"):
        use[key].add(day, route, status_class, count)
    return use


def _rotation(old: APIKey, new: APIKey, use: dict[int, UseOfKey], now: datetime) -> Rotation:
    safe, words = judge(old, new, used_today=use[old.pk].days[now.date()].total, now=now)
    since = new.created_at.date()
    shown = [tally.total for key in (old, new) for day, tally in use[key.pk].days.items() if day >= since]
    sides = [
        Side(key, word, _last_use(key, now), use[key.pk].chart(name, title, since=since, top=max(shown, default=0)))
        for key, word, name, title in (
            (old, "Old key", f"use-{old.key_id}", "Old key, requests per day"),
            (new, "New key", f"use-{new.key_id}", "New key, requests per day"),
        )
    ]
    return Rotation(old, new, safe, words, sides)


def _used_within(period: timedelta, key: APIKey, now: datetime) -> bool:
    return key.last_used_at is not None and now - key.last_used_at < period


def _state(key: APIKey, now: datetime) -> str:
    if key.revoked_at:
        return f"Revoked {_ago(key.revoked_at, now)}; requests with it are rejected."
    if key.expires_at is None:
        return "Active; it does not expire."
    at = f"{to_the_minute(key.expires_at)} UTC"
    if key.state == KeyState.EXPIRED:
        return f"Expired {_ago(key.expires_at, now)}, on {at}; requests with it are rejected."
    return f"Active; it expires in {_span(now, key.expires_at)}, on {at}."


def _scope(key: APIKey) -> str:
    return "It may read and add." if key.scope == Scope.WRITE else "It may read, and not add."


def _limit(key: APIKey) -> str:
    if key.rate_limit:
        return f"At most {key.rate_limit}, its own limit."
    return f"At most {settings.RATE_LIMIT}, the service's limit." if settings.RATE_LIMIT else "No rate limit."


def _last_use(key: APIKey, now: datetime) -> str:
    return f"Last used {_ago(key.last_used_at, now)}." if key.last_used_at else "Never used."


def _ago(at: datetime | None, now: datetime) -> str:
    return "never" if at is None else f"{_span(at, now)} ago"


def _span(start: datetime, end: datetime) -> str:
    """Return the time between as "5 minutes" or "2 days, 3 hours"; less than a minute is "a moment"."""
    if end - start < timedelta(minutes=1):
        return "a moment"
    return timesince(start, end).replace("\N{NO-BREAK SPACE}", " ")
