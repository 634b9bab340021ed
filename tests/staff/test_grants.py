"""Nobody can give a role beyond what they can do, even with a forged form; test_tasks.py has what a role can get."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from tests.staff.conftest import PASSWORD, form_of, member

ACCOUNTS = "/admin/auth/user/"


@pytest.fixture
def office(db: None) -> Client:
    client = Client()
    client.force_login(member("ada", "Administrator"))
    return client


def permission(name: str) -> Permission:
    app, codename = name.split(".")
    return Permission.objects.get(content_type__app_label=app, codename=codename)


def role(name: str, *permissions: str) -> Group:
    group = Group.objects.create(name=name)
    group.permissions.set([permission(each) for each in permissions])
    return group


def permissions_of(group: Group) -> list[str]:
    return sorted(each.codename for each in group.permissions.all())


def roles_of(user: User) -> list[str]:
    return sorted(group.name for group in user.groups.all())


BEYOND = "sessions.delete_session"
"""What no administrator has."""


@pytest.mark.parametrize("who", ["ada", "ben"])
def test_nobody_gets_a_role_beyond_who_gives_it(office: Client, who: str) -> None:
    above = role("Above", BEYOND)
    user = User.objects.filter(username=who).first() or member(who)
    before = roles_of(user)
    groups = [*(group.pk for group in user.groups.all()), above.pk]
    assert office.post(f"{ACCOUNTS}{user.pk}/change/", form_of(user, groups=groups)).status_code == 200
    assert roles_of(user) == before


PAGES = ["change/", "password/", "unlock/", "delete/"]


def pages_of(office: Client, user: User) -> list[int]:
    """Return the status of each form about an account, sent as if it had been shown."""
    form = form_of(user, username="renamed", usable_password="true", post="yes")
    return [office.post(f"{ACCOUNTS}{user.pk}/{page}", form).status_code for page in PAGES]


def test_nobody_edits_an_account_that_can_do_more(office: Client) -> None:
    above = member("ben", "Administrator")
    above.groups.add(role("Above", BEYOND))
    assert pages_of(office, above) == [403] * len(PAGES)
    above.is_active = False
    above.save()
    assert pages_of(office, above) == [403] * len(PAGES)
    above.refresh_from_db()
    assert (above.username, above.check_password(PASSWORD)) == ("ben", True)


def test_who_may_change_accounts_does_not_edit_an_administrator(client: Client, db: None) -> None:
    clerk = member("carl")
    clerk.groups.add(role("Desk", "auth.view_user", "auth.change_user", "auth.delete_user"))
    client.force_login(clerk)
    assert pages_of(client, member("ada", "Administrator")) == [403] * len(PAGES)
    assert client.get(f"{ACCOUNTS}{member('dora').pk}/change/").status_code == 200


def test_no_new_account_gets_a_role_beyond_who_makes_it(office: Client) -> None:
    assert office.post(f"{ACCOUNTS}add/", {"username": "new", "groups": role("Above", BEYOND).pk}).status_code == 200
    assert not User.objects.filter(username="new").exists()
