"""Accounts in the back office: made and let in again with a one-time password that is shown once."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client

from petstore_site.staff.models import TemporaryPassword
from tests.staff.conftest import member, sign_in

ACCOUNTS = "/admin/auth/user/"


@pytest.fixture
def office(db: None) -> Client:
    client = Client()
    client.force_login(member("ada", "Administrator"))
    return client


def shown_password(html: str) -> str:
    found = re.search(r'id="one-time-password">([\w-]+)<', html)
    assert found
    return found[1]


def test_a_new_member_chooses_a_password(office: Client, client: Client) -> None:
    curator = Group.objects.get(name="Curator")
    answer = office.post(f"{ACCOUNTS}add/", {"username": "anna", "first_name": "Anna", "groups": curator.pk})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    anna = User.objects.get(username="anna")
    assert (anna.is_staff, anna.is_superuser, [group.name for group in anna.groups.all()]) == (True, False, ["Curator"])
    sign_in(client, "anna", shown_password(answer.content.decode()))
    assert client.get("/admin/")["Location"] == "/admin/account/password/"


def test_the_password_is_kept_nowhere(office: Client) -> None:
    password = shown_password(office.post(f"{ACCOUNTS}add/", {"username": "anna"}).content.decode())
    anna = User.objects.get(username="anna")
    pages = ["", f"{anna.pk}/change/", f"{anna.pk}/history/"]
    assert not [page for page in pages if password in office.get(f"{ACCOUNTS}{page}").content.decode()]
    assert password not in str(LogEntry.objects.values_list())


def test_the_list_has_roles_and_states_in_words(office: Client) -> None:
    member("ben", "Viewer", is_active=False).groups.add(Group.objects.get(name="Curator"))
    page = office.get(f"{ACCOUNTS}?groups__id__exact={Group.objects.get(name='Viewer').pk}").content.decode()
    assert re.findall('class="field-roles">([^<]*)<', page) == ["Curator, Viewer"]
    assert re.findall(r'class="field-active"><span class="badge badge-\w+">(\w+)<', page) == ["Inactive"]
    assert "1 staff member<" in page


def test_a_built_in_role_says_what_it_can_do(office: Client) -> None:
    page = office.get(f"/admin/auth/group/{Group.objects.get(name='Key manager').pk}/change/").content.decode()
    assert re.findall('class="readonly">(.*?)</div>', page) == [
        "Key manager",
        "API key: add, change, view<br>key usage: view<br>request: view",
    ]


def test_mistakes_make_no_account(office: Client) -> None:
    html = office.post(f"{ACCOUNTS}add/", {"username": "ada"}).content.decode()
    assert "A user with that username already exists." in html
    assert not TemporaryPassword.objects.exists()


def test_a_new_password_ends_sessions_and_keeps_the_second_factor(office: Client, anna: User, secret: str) -> None:
    elsewhere = Client()
    elsewhere.force_login(anna)
    page = f"{ACCOUNTS}{anna.pk}/password/"
    assert "Remove the second factors too" in office.get(page).content.decode()
    answer = office.post(page)
    assert "no-store" in answer["Cache-Control"]
    assert elsewhere.get("/admin/").status_code == 302
    assert sign_in(elsewhere, "anna", shown_password(answer.content.decode()))["Location"].endswith("second-factor/")
    assert LogEntry.objects.get().change_message == "One-time password set."


def test_a_lost_phone_is_removed(office: Client, anna: User, secret: str) -> None:
    office.post(f"{ACCOUNTS}{anna.pk}/password/", {"remove_second_factors": "on"})
    assert not Authenticator.objects.exists()
    assert LogEntry.objects.get().change_message == "One-time password set. Second factors removed."


def test_an_unknown_account_has_no_page(office: Client) -> None:
    assert office.get(f"{ACCOUNTS}0/password/").status_code == 404
