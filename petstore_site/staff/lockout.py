"""Locked names: failed sign-ins are counted by name and address, so that no stranger can lock an owner out."""

import time
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from typing import Any

from allauth.core.internal import ratelimit
from django.core.cache import cache
from django.http import HttpRequest
from django.utils import timezone

from petstore_site.staff.models import KnownAddress

PERIOD = 15 * 60
"""Seconds for which a failure counts, and for which a lock lasts."""

CODES = {"too_many_login_attempts", "rate_limited"}
"""What allauth calls the errors of a form while it rejects all passwords or codes."""

ELSEWHERE = {"login_failed": "20/15m/key"}
"""Failures of one name from all addresses together that it never signed in from."""

REMEMBERED = timedelta(days=90)
"""How long an address stays known after the last sign-in from it."""

APP, ACTION = "allauth.account", "login_failed"


def key_of(name: str, address: str = "") -> str:
    """Return what the failures of a name are counted by. An unlocked name is counted afresh."""
    name = name.strip().lower()
    return f"sign-in:{cache.get(_key('unlocked', name), 0)}:{name}:{address}"


def spend_elsewhere(request: HttpRequest, name: str) -> list[Any] | None:
    """Count an attempt from an address that the name did not sign in from, and return what undoes that.

    None says that there were too many.
    """
    since = timezone.now() - REMEMBERED
    known = KnownAddress.objects.filter(
        user__username__iexact=name, address=ratelimit.get_ip(request), last_at__gt=since
    )
    if known.exists():
        return []
    counted = ratelimit.consume(request, app=APP, action=ACTION, config=ELSEWHERE, key=key_of(name))
    return counted and list(counted.usage)


def note(name: str) -> None:
    """Store that a name is locked for an address, or everywhere, for the page of the account."""
    cache.set(_key("locked", name), time.time(), PERIOD)


def locked_of(names: Iterable[str]) -> set[str]:
    """Return those of the names whose sign-in was rejected for too many failures in the last 15 minutes.

    It is one request to the cache.
    """
    keys = {_key("locked", name): name for name in names}
    return {keys[key] for key in cache.get_many(keys)}


def unlock(name: str) -> None:
    """Forget the failed attempts of a name, wherever they came from."""
    cache.set(_key("unlocked", name), time.time(), 2 * PERIOD)
    cache.delete(_key("locked", name))


def note_address(request: HttpRequest, user: Any) -> None:
    """Store that this account signed in from this address, and forget addresses that no one used for long."""
    now = timezone.now()
    KnownAddress.objects.filter(last_at__lte=now - REMEMBERED).delete()
    KnownAddress.objects.update_or_create(user=user, address=ratelimit.get_ip(request), defaults={"last_at": now})


def _key(state: str, name: str) -> str:
    """Return the cache's key for when a name was `locked` or `unlocked`."""
    return f"sign-in-{state}:{sha256(name.strip().lower().encode('utf-8', 'replace')).hexdigest()}"
