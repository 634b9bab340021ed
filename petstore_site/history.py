"""Fills in who a row of history is about: who sent the request, or which command runs."""

from typing import Any

from django.http import HttpRequest
from simple_history.models import HistoricalRecords

from changes.actors import actor
from changes.models import Change, staff_member
from petstore_site.logs import request_id


def name_the_actor(*, history_instance: Change, **_signal: Any) -> None:
    """Receive `pre_create_historical_record`: note the staff member, key or command, and the request."""
    request = getattr(HistoricalRecords.context, "request", None)
    history_instance.actor = history_instance.actor or (actor.get() if request is None else _sender(request))
    if request is not None:
        history_instance.request_id = request_id.get()


def _sender(request: HttpRequest) -> str:
    if (key := getattr(request, "auth", None)) is not None:
        return f"key {key.key_id}"
    member = staff_member(request)
    return "" if member is None else f"staff {member.get_username()}"
