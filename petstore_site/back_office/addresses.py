"""Where the lists behind the figures are."""

from typing import Any

from django.urls import reverse


def listed(model: str, **filters: Any) -> str:
    """Return the address of the list of `model`, such as `pets_pet`, with these filters."""
    return reverse(f"admin:{model}_changelist", query=filters)


def page_of(model: str, number: object) -> str:
    """Return the address of the page of one row; `number` is its primary key."""
    return reverse(f"admin:{model}_change", args=[number])
