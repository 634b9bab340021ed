"""Who signs what is written to a history many rows at a time, for which django-simple-history asks nobody."""

from typing import Any

from simple_history.signals import pre_create_historical_record

from history.models import Change


def signature(history: type[Change]) -> dict[str, Any]:
    """Return the `actor` and `request_id` that a row of `history` written now would get."""
    blank = history()
    pre_create_historical_record.send(sender=history, instance=None, history_instance=blank)
    return {"actor": blank.actor, "request_id": blank.request_id}
