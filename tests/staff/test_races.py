"""Two who change the same accounts at the same moment: nothing that one of them did is lost."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from commands.exits import ExitError
from tests.racing import race
from tests.staff.conftest import PASSWORD, form_of, member

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql("SQLite has one writer at a time, and no row locks"),
]

ACCOUNTS = "/admin/auth/user/"
NEW = "another battery staple"


def office(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def deactivating(client: Client, user: User) -> Callable[[], Any]:
    form = form_of(user, is_active="")
    return lambda: client.post(f"{ACCOUNTS}{user.pk}/change/", form)


def deleting(client: Client, user: User) -> Callable[[], Any]:
    return lambda: client.post(f"{ACCOUNTS}{user.pk}/delete/", {"post": "yes"})


@pytest.mark.parametrize("ending", [deactivating, deleting])
def test_two_administrators_who_end_each_other(ending: Callable[[Client, User], Callable[[], Any]]) -> None:
    ada, bob = member("ada", "Administrator"), member("bob", "Administrator")
    administrator = f"SELECT 1 FROM auth_group WHERE id = {Group.objects.get(name='Administrator').pk} FOR UPDATE"
    first, second = race(administrator, ending(office(ada), bob), ending(office(bob), ada))
    assert (first.status_code, second.status_code) == (302, 200)
    assert "last active administrator" in second.content.decode()
    assert list(User.objects.filter(is_active=True)) == [ada]


def changing_own_password(client: Client, _user: User) -> Callable[[], Any]:
    form = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    return lambda: client.post("/admin/account/password/", form)


def resetting_password(_client: Client, user: User) -> Callable[[], Any]:
    client = office(member("bob", "Administrator"))
    return lambda: client.post(f"{ACCOUNTS}{user.pk}/password/")


@pytest.mark.parametrize("changing", [changing_own_password, resetting_password])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_new_password_and_a_deactivation(
    changing: Callable[[Client, User], Callable[[], Any]], is_first: bool
) -> None:
    ada, anna = member("ada", "Administrator"), member("anna", "Viewer")
    before = anna.password
    works = [deactivating(office(ada), anna), changing(office(anna), anna)]
    race(f"SELECT 1 FROM auth_user WHERE id = {anna.pk} FOR UPDATE", *(works[::-1] if is_first else works))
    anna.refresh_from_db()
    assert (anna.is_active, anna.password != before) == (False, True)


def creating() -> str:
    try:
        call_command("create_admin", "nell", stdout=StringIO())
    except ExitError as error:
        return str(error)
    return "created"


def test_two_who_create_the_same_administrator() -> None:
    outcomes = race("LOCK TABLE auth_user IN SHARE MODE", creating, creating)
    taken = "The account 'nell' exists already. To restore access: create_admin nell --reset"
    assert sorted(outcomes) == [taken, "created"]
