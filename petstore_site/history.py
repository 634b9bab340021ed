"""Fills in who a row of history is about, for what was changed in answer to a request."""

from typing import Any

from django.http import HttpRequest
from simple_history.models import HistoricalRecords

from changes.models import Change, staff_member
from petstore_site.logs import request_id


def name_the_actor(*, history_instance: Change, **_signal: Any) -> None:
    """Receive `pre_create_historical_record`: note the staff member or key, and the request."""
    request = getattr(HistoricalRecords.context, "request", None)
    if request is not None:
        history_instance.actor = history_instance.actor or _actor(request)
        history_instance.request_id = request_id.get()


def _actor(request: HttpRequest) -> str:
    if (key := getattr(request, "auth", None)) is not None:
        return f"key {key.key_id}"
    member = staff_member(request)
    return "" if member is None else f"staff {member.get_username()}"
