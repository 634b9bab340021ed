"""What the tests of keys in the back office share: addresses, forms, and what their pages show."""

import re
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import LogEntry

from petstore_site.apikeys.models import APIKey

LIST = "/admin/apikeys/apikey/"
ADD = f"{LIST}add/"
ACTIONS = ("change", "history", "rotate", "revoke")
DAY = timedelta(days=1)
NEW = {"name": "Shop", "contact": "", "scope": "write", "rate_limit": "", "expires_at_0": "keep", "expires_at_1": ""}
"""What the form that issues a key sends."""

KEPT = {"name": "Shop", "contact": "", "rate_limit": "", "expires_at_0": "keep", "expires_at_1": ""}
"""What the form of a key sends."""

RATE = "A rate limit must be N/s, N/min, N/h or N/day with N from 1 to 1000000, as in 600/min."


def page(key: APIKey, action: str) -> str:
    return f"{LIST}{key.pk}/{action}/"


def secret_in(answer: Any) -> str:
    found: list[str] = re.findall(r"pets_test_[0-9A-Za-z]{46}", answer.content.decode())
    assert len(found) == 1
    return found[0]


def errors(answer: Any) -> dict[str, list[str]]:
    """Return the form's errors of a page that asks again."""
    assert answer.status_code == 200
    form = answer.context["adminform"].form if "adminform" in answer.context else answer.context["form"]
    return dict(form.errors)


def history() -> list[tuple[str, int, str]]:
    return [*LogEntry.objects.order_by("pk").values_list("object_repr", "action_flag", "change_message")]
