"""Who acts now, and in which request: one context variable, read by histories, the log and the error pages.

A request gets its ID from the outermost middleware, and its actor from what identifies the caller: the API key's check,
or the sign-in of the staff. A process that runs a command acts for the account that started it.
"""

from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from changes.accounts import account

ENTRANCES = {"manage.py", "django-admin"}


class Acting(NamedTuple):
    """Who, in words that stay ("staff anna", "key Ab3dE6gH", "command shell by root"), and the X-Request-ID, if any."""

    actor: str = ""
    request_id: str = ""


NOBODY = Acting()

_acting: ContextVar[Acting] = ContextVar("acting", default=NOBODY)


def acting() -> Acting:
    """Return who acts now."""
    return _acting.get()


def begin_request(request_id: str) -> None:
    """Begin a request, whose caller is not known yet."""
    _acting.set(Acting(request_id=request_id))


def identify(actor: str) -> None:
    """Say who made the request."""
    _acting.set(Acting(actor, acting().request_id))


def end_request(**_signal: Any) -> None:
    """Receive `request_finished`: what this thread does from now on belongs to no request."""
    _acting.set(NOBODY)


def begin_command(arguments: list[str]) -> None:
    """Name the command and the account, if these are the arguments of a process that runs a command."""
    if len(arguments) > 1 and Path(arguments[0]).name in ENTRANCES:
        identify(f"command {arguments[1]} by {account()}"[:200])


def sign(*, history_instance: Any, **_signal: Any) -> None:
    """Receive `pre_create_historical_record`: write who acts into the row of history."""
    history_instance.actor = history_instance.actor or acting().actor
    history_instance.request_id = acting().request_id
