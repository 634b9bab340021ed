"""Who acts now, in which request and as a part of which change: read by histories, the log and the error pages.

A request gets its ID from the outermost middleware, and its actor from what identifies the caller: the API key's check,
or the sign-in of the staff. A process that runs a command acts for the account that started it.
"""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

ENTRANCES = {"manage.py", "django-admin"}


class Acting(NamedTuple):
    """Who, in words that stay ("staff anna", "key Ab3dE6gH", "command shell by root"), and the X-Request-ID, if any."""

    actor: str = ""
    request_id: str = ""
    comment: str = ""
    """Why, in the words of the person who acts, if they say."""


NOBODY = Acting()

_acting: ContextVar[Acting] = ContextVar("acting", default=NOBODY)
_change: ContextVar[int | None] = ContextVar("change", default=None)


def acting() -> Acting:
    """Return who acts now."""
    return _acting.get()


def begin_request(request_id: str) -> None:
    """Begin a request, whose caller is not known yet."""
    _acting.set(Acting(request_id=request_id))


def identify(actor: str) -> None:
    """Say who made the request."""
    _acting.set(Acting(actor, acting().request_id))


def explain(comment: str) -> None:
    """Keep why the person acts, for the change that this request makes."""
    _acting.set(acting()._replace(comment=comment))


def end_request(**_signal: Any) -> None:
    """Receive `request_finished`: what this thread does from now on belongs to no request."""
    _acting.set(NOBODY)


@contextmanager
def acting_for(actor: str, request_id: str) -> Iterator[None]:
    """In this block, act for who made a request before, and then as before for who makes the one that goes on."""
    token = _acting.set(Acting(actor, request_id))
    try:
        yield
    finally:
        _acting.reset(token)


def account() -> str:
    """Return the account of the operating system, 150 characters at most, or "uid 1000" if it has no name."""
    try:
        return getpass.getuser()[:150]
    except (KeyError, OSError):  # a container may run as a number
        return f"uid {os.getuid()}"


def begin_command(arguments: list[str]) -> None:
    """Name the command and the account, if these are the arguments of a process that runs a command."""
    if len(arguments) > 1 and Path(arguments[0]).name in ENTRANCES:
        identify(f"command {arguments[1]} by {account()}"[:200])


@contextmanager
def recording(change: int) -> Iterator[None]:
    """Let every row of history that is saved in this block refer to the change, if its table has a column for that."""
    token = _change.set(change)
    try:
        yield
    finally:
        _change.reset(token)


def sign(*, history_instance: Any, **_signal: Any) -> None:
    """Receive `pre_create_historical_record`: write into the row of history who acts, and for which change."""
    history_instance.actor = history_instance.actor or acting().actor
    history_instance.request_id = acting().request_id
    if (change := _change.get()) is not None and hasattr(history_instance, "change_id"):
        history_instance.change_id = change
