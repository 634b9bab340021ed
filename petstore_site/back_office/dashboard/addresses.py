"""Where the lists behind the figures are."""

from datetime import date
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode


def listed(model: str, **filters: Any) -> str:
    """Return the address of the list of `model`, such as `pets_pet`, with these filters."""
    address = reverse(f"admin:{model}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address


def page_of(model: str, number: object) -> str:
    """Return the address of the page of one row; `number` is its primary key."""
    return reverse(f"admin:{model}_change", args=[number])


def within(day: date) -> dict[str, str]:
    """Return the filter for the animals that were added on that day in UTC."""
    return {"added_from": str(day), "added_to": str(day)}


def sold_on(day: date) -> dict[str, str]:
    """Return the filter for the animals that became sold on that day."""
    return {"sold_from": str(day), "sold_to": str(day)}
