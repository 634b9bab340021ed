"""Members of the staff, and how they sign in."""

from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.contrib.auth.models import Group, User
from django.test import Client

from petstore_site.staff.grants import version_of

PASSWORD = "correct horse battery staple"
SIGN_IN = "/admin/account/sign-in/"


def member(username: str = "anna", role: str | None = None, **columns: Any) -> User:
    """Return a stored member of the staff."""
    user = User.objects.create_user(username, password=PASSWORD, **({"is_staff": True} | columns))
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def browser(username: str, role: str | None = None, **columns: Any) -> Client:
    """Return the browser of a new member of the staff, who is signed in."""
    client = Client()
    client.force_login(member(username, role, **columns))
    return client


def form_of(user: User, **changed: Any) -> dict[str, Any]:
    """Return what the form of the account sends if it is opened now and so much is changed in it."""
    ticked = {name: "on" for name in ("is_active", "is_staff") if getattr(user, name)}
    groups = [group.pk for group in user.groups.all()]
    return {"username": user.username, "groups": groups, "seen": version_of(user)} | ticked | changed


def sign_in(client: Client, username: str = "anna", password: str = PASSWORD, **sent: Any) -> Any:
    return client.post(SIGN_IN, {"login": username, "password": password}, **sent)


def read(answer: Any) -> str:
    """Return the body. A streamed response is closed only when all of it is read."""
    return b"".join(answer).decode(errors="replace")


COUNTER = 60_000_000
"""Of the half minutes since 1970: a test has one, or a code could be over before it is sent."""


@pytest.fixture(autouse=True)
def _one_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allauth.mfa.totp.internal.auth.yield_hotp_counters_from_time", lambda: [COUNTER])


def code(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, COUNTER)))


@pytest.fixture
def office(db: None) -> Client:
    """The browser of an administrator."""
    return browser("ada", "Administrator")


@pytest.fixture
def anna(db: None) -> User:
    return member()


@pytest.fixture
def secret(anna: User) -> str:
    """The secret of Anna's authenticator app."""
    secret = str(generate_totp_secret())
    TOTP.activate(anna, secret)
    return secret
