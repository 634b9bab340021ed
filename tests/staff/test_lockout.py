"""Who is locked out by whose failures, and who lets them in again."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from petstore_site.staff.adapters import LOCKED
from petstore_site.staff.models import KnownAddress
from tests.staff.conftest import PASSWORD, browser, form_of, member, sign_in
from tests.staff.test_sign_in import complaints

HOME, STRANGER = {"REMOTE_ADDR": "192.0.2.1"}, {"REMOTE_ADDR": "203.0.113.9"}


@pytest.fixture
def administrator(db: None) -> Client:
    return browser("root", "Administrator")


def fail(times: int, **sent: Any) -> None:
    for _ in range(times):
        sign_in(Client(), password="wrong", **sent)


def test_a_stranger_locks_a_name_for_the_own_address_only(anna: User) -> None:
    fail(5, **STRANGER)
    assert complaints(sign_in(Client(), **STRANGER)) == [LOCKED]
    assert sign_in(Client(), **HOME).status_code == 302


def test_strangers_do_not_lock_out_where_the_member_signed_in_before(anna: User) -> None:
    sign_in(Client(), **HOME)
    for number in range(20):
        fail(1, REMOTE_ADDR=f"203.0.113.{number}")
    assert complaints(sign_in(Client(), REMOTE_ADDR="203.0.113.99")) == [LOCKED]
    assert sign_in(Client(), **HOME).status_code == 302


def test_addresses_are_forgotten_after_90_days(anna: User) -> None:
    now = timezone.now()
    for address, days in (("192.0.2.8", 91), ("192.0.2.9", 89)):
        KnownAddress.objects.create(user=member(f"since-{days}"), address=address, last_at=now - timedelta(days=days))
    sign_in(Client(), **HOME)
    assert set(KnownAddress.objects.values_list("address", flat=True)) == {"192.0.2.9", HOME["REMOTE_ADDR"]}


def test_an_address_is_known_for_90_days_after_the_last_sign_in(anna: User) -> None:
    sign_in(Client(), **HOME)
    KnownAddress.objects.update(last_at=timezone.now() - timedelta(days=89))
    sign_in(Client(), **HOME)
    assert KnownAddress.objects.get().last_at > timezone.now() - timedelta(minutes=1)


def test_a_reset_clears_the_failures(anna: User, administrator: Client) -> None:
    fail(6, **HOME)
    page = administrator.post(f"/admin/auth/user/{anna.pk}/password/")
    assert sign_in(Client(), password=page.context["password"], **HOME).status_code == 302


def test_the_page_of_the_member_shows_a_lock_and_unlocks(anna: User, administrator: Client) -> None:
    address = f"/admin/auth/user/{anna.pk}/change/"
    fail(5, **HOME)
    assert ">Locked<" not in administrator.get(address).content.decode()
    assert complaints(sign_in(Client(), **HOME)) == [LOCKED]
    assert ">Locked<" in administrator.get(address).content.decode()
    assert administrator.post(f"/admin/auth/user/{anna.pk}/unlock/").status_code == 302
    assert ">Locked<" not in administrator.get(address).content.decode()
    assert sign_in(Client(), **HOME).status_code == 302


def test_an_unlocked_name_can_be_locked_again(anna: User, administrator: Client) -> None:
    fail(6, **HOME)
    administrator.post(f"/admin/auth/user/{anna.pk}/unlock/")
    fail(5, **HOME)
    assert complaints(sign_in(Client(), password=PASSWORD, **HOME)) == [LOCKED]
    administrator.post(f"/admin/auth/user/{anna.pk}/unlock/")
    assert sign_in(Client(), **HOME).status_code == 302


@pytest.mark.parametrize("changes", [{"groups": []}, {"is_active": ""}, {"is_staff": ""}])
def test_the_last_administrator_stays(administrator: Client, changes: Any) -> None:
    root = User.objects.get(username="root")
    address = f"/admin/auth/user/{root.pk}"
    rejected = administrator.post(f"{address}/change/", form_of(root, **changes)).content.decode()
    assert "This is the last active administrator." in rejected
    deletion = administrator.post(f"{address}/delete/", {"post": "yes"})
    assert "root, the last active administrator" in deletion.content.decode()
    all_of_them = {"action": "delete_selected", "post": "yes", "_selected_action": root.pk}
    administrator.post("/admin/auth/user/", all_of_them)
    assert administrator.get("/admin/auth/user/").status_code == 200


def test_a_passkey_nested_deeply_is_a_bad_request(anna: User) -> None:
    nested = {"credential": "[" * 200_000}
    assert Client().post("/admin/account/sign-in/passkey/", nested).status_code == 400
    deep = {"credential": '{"a":' * 2_000 + "1" + "}" * 2_000}
    asked = Client().post("/admin/account/sign-in/passkey/", deep)
    assert asked.status_code in {400, 302}, (
        "from Python 3.12 on, its reader takes this depth: it is only a wrong passkey"
    )
