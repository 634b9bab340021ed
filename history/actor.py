"""Fills in who a row of history is about, for what was changed in answer to a request or by a command."""

import sys
from pathlib import Path
from typing import Any

from django.http import HttpRequest
from simple_history.models import HistoricalRecords

from history.accounts import account
from history.acting import request_id
from history.models import Change, staff_member

ENTRANCES = {"manage.py", "django-admin"}


def name_the_actor(*, history_instance: Change, **_signal: Any) -> None:
    """Receive `pre_create_historical_record`: note the staff member or key and the request, or the command."""
    request = getattr(HistoricalRecords.context, "request", None)
    if request is None:
        history_instance.actor = history_instance.actor or command(sys.argv)
        return
    history_instance.actor = history_instance.actor or _sender(request)
    history_instance.request_id = request_id.get()


def command(arguments: list[str]) -> str:
    """Return "command shell by root" for the arguments of a process that runs one, else nothing."""
    if len(arguments) < 2 or Path(arguments[0]).name not in ENTRANCES:
        return ""
    return f"command {arguments[1]} by {account()}"[:200]


def _sender(request: HttpRequest) -> str:
    if (key := getattr(request, "auth", None)) is not None:
        return f"key {key.key_id}"
    member = staff_member(request)
    return "" if member is None else f"staff {member.get_username()}"
