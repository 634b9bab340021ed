"""Accounts in the back office: made and let in again with a one-time password that is shown once."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from history.times import NOTHING
from petstore_site.staff import lockout
from petstore_site.staff.models import LIFETIME, TemporaryPassword
from petstore_site.staff.roles import permissions_of
from petstore_site.staff.tasks import sentence
from tests.staff.conftest import form_of, member, sign_in

ACCOUNTS = "/admin/auth/user/"


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
    member("ben", "Viewer", is_active=False, first_name="Ben").groups.add(Group.objects.get(name="Curator"))
    page = office.get(f"{ACCOUNTS}?groups__id__exact={Group.objects.get(name='Viewer').pk}").content.decode()
    assert re.findall('class="tag">([^<]*)<', page) == ["Curator", "Viewer"]
    assert re.findall(r'class="badge badge-\w+">([\w ]+)<', page) == ["Deactivated"]
    assert ">Ben<small>ben</small>" in page
    assert "1 staff member<" in page


def test_the_list_says_who_can_sign_in_and_how(office: Client, anna: User, secret: str) -> None:
    member("carl")
    TemporaryPassword.objects.mark(member("dora"))
    lockout.note("carl")
    page = office.get(ACCOUNTS).content.decode()
    found = re.findall(r'change/">(\w+)<small>.*?badge-\w+">([\w ]+)<.*?field-second_factor">(.*?)</td>', page)
    said = [(name, state, re.sub("<[^>]+>", "", factor).strip()) for name, state, factor in found]
    assert sorted(said) == [
        ("ada", "Can sign in", NOTHING), ("anna", "Can sign in", "App"), ("carl", "Locked", NOTHING),
        ("dora", "Invited", NOTHING),
    ]  # fmt: skip
    assert "carl is locked out." in re.sub("<[^>]+>", "", page)


def test_what_goes_with_an_account_has_no_page_and_nothing_keeps_the_account() -> None:
    """So deleting one need not look for what goes with it."""
    related: list[Any] = [
        each for each in User._meta.get_fields(include_hidden=True) if each.auto_created and not each.concrete
    ]
    kept = [each.related_model for each in related if each.on_delete in (models.PROTECT, models.RESTRICT)]
    gone = [each.related_model for each in related if each.on_delete is models.CASCADE]
    assert TemporaryPassword in gone
    assert [*kept, *filter(admin.site.is_registered, gone)] == []


def test_the_page_of_an_account_says_how_they_sign_in(office: Client, anna: User, secret: str) -> None:
    RecoveryCodes.activate(anna)
    page = unescape(re.sub("<[^>]+>", " ", office.get(f"{ACCOUNTS}{anna.pk}/change/").content.decode()))
    said = ["Can sign in", "Authenticator app", "Never used", "Recovery codes", "10 left", "Never signed in"]
    assert [each for each in said if each not in page] == []
    assert sentence(permissions_of("Viewer")) in page


@pytest.mark.parametrize(("who", "shows"), [("ada", False), ("root", True)])
def test_single_permissions_of_an_account_are_said_and_taken_away(
    client: Client, db: None, who: str, shows: bool
) -> None:
    client.force_login(member(who, "Administrator", is_superuser=who == "root"))
    ben = member("ben")
    ben.user_permissions.add(Permission.objects.get(codename="view_pet"))
    page = client.get(f"{ACCOUNTS}{ben.pk}/change/").content.decode()
    assert ("Take away what they can do without a role" in page) is shows
    assert ("Can do everything, without a role" in page) is shows
    client.post(f"{ACCOUNTS}{ben.pk}/change/", form_of(ben))
    assert ben.user_permissions.count() == 1
    client.post(f"{ACCOUNTS}{ben.pk}/change/", form_of(ben, drop_own="on"))
    assert not ben.user_permissions.exists()


@pytest.mark.parametrize("meanwhile", ["is_active", "is_staff", "groups"])
def test_a_form_that_was_opened_before_a_change_gives_nothing_back(office: Client, anna: User, meanwhile: str) -> None:
    anna.groups.add(Group.objects.get(name="Curator"))
    opened = form_of(anna, email="anna@petstore.example")
    assert f'name="seen" value="{opened["seen"]}"' in office.get(f"{ACCOUNTS}{anna.pk}/change/").content.decode()
    taken: dict[str, Any] = {"groups": []} if meanwhile == "groups" else {meanwhile: ""}
    ended = form_of(anna, **taken)
    assert office.post(f"{ACCOUNTS}{anna.pk}/change/", ended).status_code == 302
    before = User.objects.values().get(pk=anna.pk)
    for form in (opened, opened | {"seen": ""}):
        assert "Someone else changed what this account can do after you opened it." in unescape(
            office.post(f"{ACCOUNTS}{anna.pk}/change/", form).content.decode()
        )
    assert User.objects.values().get(pk=anna.pk) == before
    anna.refresh_from_db()
    assert office.post(f"{ACCOUNTS}{anna.pk}/change/", form_of(anna, email="a@b.example")).status_code == 302
    assert LogEntry.objects.latest("pk").change_message == '[{"changed": {"fields": ["Email address"]}}]'


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


def test_a_second_one_time_password_works_for_72_hours_too(office: Client, anna: User) -> None:
    office.post(f"{ACCOUNTS}{anna.pk}/password/")
    TemporaryPassword.objects.update(given_at=timezone.now() - LIFETIME)
    again = shown_password(office.post(f"{ACCOUNTS}{anna.pk}/password/").content.decode())
    assert sign_in(Client(), "anna", again).status_code == 302
    assert TemporaryPassword.objects.get().given_at > timezone.now() - timedelta(minutes=1)


def test_a_lost_phone_is_removed(office: Client, anna: User, secret: str) -> None:
    office.post(f"{ACCOUNTS}{anna.pk}/password/", {"remove_second_factors": "on"})
    assert not Authenticator.objects.exists()
    assert LogEntry.objects.get().change_message == "One-time password set. Second factors removed."


SLOW_HISTORY = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(9); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE UPDATE ON categories_categorychange FOR EACH ROW EXECUTE FUNCTION slow();
SET LOCAL statement_timeout = '1500ms';
"""


@pytest.mark.postgresql("SQLite has no such deadline")
def test_an_account_with_too_many_changes_is_deactivated_instead(office: Client, anna: User) -> None:
    client = Client()
    client.force_login(anna)
    anna.user_permissions.set(Permission.objects.filter(codename="add_category"))
    client.post("/admin/categories/category/add/", {"name": "Birds"})
    with connection.cursor() as cursor:
        cursor.execute(SLOW_HISTORY)
    answer = office.post(f"{ACCOUNTS}{anna.pk}/delete/", {"post": "yes"}, follow=True)
    assert [str(message) for message in answer.context["messages"]] == [
        "Not deleted. Too many changes in the history are theirs. Untick “Active” instead."
    ]


def test_an_unknown_account_has_no_page(office: Client) -> None:
    assert office.get(f"{ACCOUNTS}0/password/").status_code == 404


def test_an_account_that_is_deleted_at_the_same_moment_has_no_new_password(office: Client, anna: User) -> None:
    def delete(execute: Any, sql: str, *rest: Any) -> Any:
        answer = execute(sql, *rest)
        if "is_invited" in sql:
            User.objects.filter(username="anna").delete()
        return answer

    with connection.execute_wrapper(delete):
        assert office.post(f"{ACCOUNTS}{anna.pk}/password/").status_code == 404


@pytest.mark.postgresql("SQLite has no row locks")
def test_an_account_is_locked_before_what_belongs_to_it(office: Client, anna: User) -> None:
    """As by a new password: in another order, each of the two could wait for the other."""
    with CaptureQueriesContext(connection) as statements:
        office.post(f"{ACCOUNTS}{anna.pk}/delete/", {"post": "yes"})
    locks = [each["sql"] for each in statements if each["sql"].startswith("DELETE") or "FOR UPDATE" in each["sql"]]
    assert 'FROM "auth_user"' in locks[0]
    assert not User.objects.filter(username="anna").exists()
