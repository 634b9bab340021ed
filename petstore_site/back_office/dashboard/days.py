"""The days that the dashboard looks back on."""

from datetime import date, timedelta

from django.utils import timezone

DAYS = 30


def last_days() -> list[date]:
    """Return the last 30 days in UTC, today the last of them."""
    today = timezone.now().date()
    return [today - timedelta(days=back) for back in reversed(range(DAYS))]
