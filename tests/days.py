"""The day on which a test runs."""

import time
from datetime import date, timedelta

from django.utils import timezone

MARGIN = timedelta(seconds=30)
"""More than a test takes from here to its end."""


def written(at: date) -> str:
    """Return a day as pages write it: "12 Nov 2025"."""
    return f"{at.day} {at:%b %Y}"


def today() -> date:
    """Return the day in UTC, and wait for the next one if this one is nearly over: a test has one day."""
    now = timezone.now()
    if (now + MARGIN).date() != now.date():
        time.sleep(MARGIN.total_seconds())
    return timezone.now().date()
