"""What docs/staff-sign-in.md says of a leaked `SECRET_KEY`: what ends with it, what stays, and how people come back."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.utils.crypto import get_random_string

from tests.running import run
from tests.staff.conftest import PASSWORD, code, sign_in

UNREADABLE = "This second factor can no longer be read. Ask an administrator to remove it."


@pytest.fixture
def change_key(settings: Any) -> Callable[..., None]:
    """Change the key, and keep the old one or not."""

    def change(*, keep: bool) -> None:
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] if keep else []
        settings.SECRET_KEY = get_random_string(50)

    return change


def is_signed_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def enter(client: Client, secret: str) -> Any:
    return client.post(sign_in(client)["Location"], {"code": code(secret)})


@pytest.mark.usefixtures("anna")
@pytest.mark.parametrize("keep", [True, False])
def test_a_kept_key_keeps_sessions(client: Client, secret: str, change_key: Callable[..., None], *, keep: bool) -> None:
    enter(client, secret)
    assert is_signed_in(client)
    change_key(keep=keep)
    assert is_signed_in(client) is keep


def test_without_it_second_factors_are_unreadable_and_a_reset_lets_people_in(
    client: Client, anna: User, secret: str, change_key: Callable[..., None]
) -> None:
    change_key(keep=False)
    assert UNREADABLE in enter(client, secret).content.decode()
    assert not is_signed_in(client)
    password = run("create_admin", "anna", "--reset", "--password-only").strip()
    assert not Authenticator.objects.filter(user=anna).exists()
    again = Client()
    assert sign_in(again, password=PASSWORD).status_code == 200
    assert sign_in(again, password=password)["Location"] == "/admin/"
    assert again.get("/admin/")["Location"] == "/admin/account/password/"


def test_someone_who_signs_in_by_a_passkey_removes_the_unreadable_app(
    client: Client, anna: User, secret: str, change_key: Callable[..., None]
) -> None:
    change_key(keep=False)
    client.force_login(anna)
    assert client.post("/admin/account/app/remove/").status_code == 302
    assert not Authenticator.objects.filter(user=anna, type=Authenticator.Type.TOTP).exists()
