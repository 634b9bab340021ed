"""How long a session lasts, and how its user signed in."""

import time
from typing import Any

from allauth.account import app_settings as account_settings
from allauth.mfa.signals import authenticator_added, authenticator_used
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

SIGNED_IN_AT = "staff_signed_in_at"
SEEN_AT = "staff_seen_at"
SECOND_FACTOR = "staff_second_factor"

WRITE_INTERVAL = 60
"""Seconds between two writes of when a session was last used."""


@receiver(user_logged_in)
def note_sign_in(request: HttpRequest, **_signal: Any) -> None:
    """Store when the session began."""
    request.session[SIGNED_IN_AT] = request.session[SEEN_AT] = time.time()


@receiver([authenticator_added, authenticator_used])
def note_second_factor(request: HttpRequest, user: Any, **_signal: Any) -> None:
    """Store that this session used or set up a second factor of this account."""
    request.session[SECOND_FACTOR] = user.pk


def used_second_factor(request: Any) -> bool:
    """Return whether the account has a second factor, and this session was opened with one."""
    return bool(request.user.has_second_factor) and request.session.get(SECOND_FACTOR) == request.user.pk


def is_over(request: HttpRequest) -> bool:
    """Return whether the session is older than `SESSION_COOKIE_AGE`, or unused for `SESSION_IDLE_AGE`."""
    now = time.time()
    too_old = _at(request, SIGNED_IN_AT) <= now - settings.SESSION_COOKIE_AGE
    return too_old or _at(request, SEEN_AT) <= now - settings.SESSION_IDLE_AGE


def note_use(request: HttpRequest) -> None:
    """Store that the session is in use, with one write a minute at most."""
    now = time.time()
    if _at(request, SEEN_AT) <= now - WRITE_INTERVAL:
        request.session[SEEN_AT] = now


def signed_in_recently(request: HttpRequest) -> bool:
    """Return whether the session began less than `ACCOUNT_REAUTHENTICATION_TIMEOUT` ago."""
    return time.time() - _at(request, SIGNED_IN_AT) < float(account_settings.REAUTHENTICATION_TIMEOUT)


def _at(request: HttpRequest, what: str) -> float:
    return float(request.session.get(what, 0))
