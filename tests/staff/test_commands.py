"""`create_admin` and `create_staff_roles`."""

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError
from django.test import Client

from petstore_site.staff.models import TemporaryPassword
from petstore_site.staff.roles import ROLES
from tests.running import run, run_json
from tests.staff.conftest import PASSWORD, member, sign_in

pytestmark = pytest.mark.django_db


SEEING = {"pets.view_pet", "pets.view_importrun", "categories.view_category"}
CURATING = {
    *("pets.add_pet", "pets.change_pet", "pets.delete_pet", "pets.export_pet", "pets.restore_pet"),
    *("pets.add_importrun", "categories.add_category", "categories.change_category", "categories.delete_category"),
}
KEYS = {
    *("apikeys.view_apikey", "apikeys.add_apikey", "apikeys.change_apikey"),
    *("apikeys.view_keyusage", "request_desk.view_requestrecord"),
}
STAFF = {f"auth.{verb}_{model}" for verb in ("view", "add", "change", "delete") for model in ("user", "group")}


class TestCreateAdmin:
    def test_prints_a_password_that_must_be_changed(self, client: Client) -> None:
        out = run_json("create_admin", "ada")
        assert out == {"username": "ada", "password": out["password"], "hours": 72, "reset": False}
        ada = User.objects.get()
        assert (ada.is_staff, ada.is_superuser) == (True, True)
        assert [group.name for group in ada.groups.all()] == ["Administrator"]
        assert sign_in(client, "ada", out["password"]).status_code == 302
        assert client.get("/admin/")["Location"] == "/admin/account/password/"

    def test_prints_for_people_and_for_pipes(self) -> None:
        out = run("create_admin", "ada")
        assert out.startswith(
            "Created the account ada. Sign in within 72 hours with this password and choose another:\n"
        )
        assert out.endswith("Copy it now. You won't see it again.\n")
        password = run("create_admin", "ben", "--password-only").strip()
        assert User.objects.get(username="ben").check_password(password)

    def test_does_not_touch_an_account_that_is_there(self) -> None:
        anna = member()
        with pytest.raises(CommandError, match=r"^The account 'anna' exists already\. .* create_admin anna --reset$"):
            run("create_admin", "anna")
        assert User.objects.get().password == anna.password

    @pytest.mark.usefixtures("secret")
    def test_lets_in_again(self, client: Client) -> None:
        User.objects.update(is_active=False)
        out = run("create_admin", "anna", "--reset")
        assert out.startswith("Reset the account anna and removed its second factors.")
        assert not Authenticator.objects.exists()
        assert not User.objects.get().is_superuser
        assert sign_in(client, password=PASSWORD).status_code == 200
        assert sign_in(client, password=out.splitlines()[2].strip())["Location"] == "/admin/"

    def test_unlocks(self, client: Client) -> None:
        member()
        answers = [sign_in(client, password="wrong").status_code for _ in range(6)]
        assert answers == [200, 200, 200, 200, 200, 429]
        password = run("create_admin", "anna", "--reset", "--password-only").strip()
        assert sign_in(client, password=password)["Location"] == "/admin/"

    def test_resets_nobody_who_is_not_there(self) -> None:
        with pytest.raises(CommandError, match=r"^There is no account 'ada' to reset\.$"):
            run("create_admin", "ada", "--reset")

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("a b", "Enter a valid username."),
            ("\udcff", "Enter a valid username."),  # a byte that is not UTF-8
            ("a" * 151, "Ensure this value has at most 150 characters"),
        ],
    )
    def test_rejects_an_invalid_name(self, name: str, message: str) -> None:
        with pytest.raises(CommandError, match=f"^argument USERNAME: {message}"):
            run("create_admin", name)
        assert not User.objects.exists()
        assert not TemporaryPassword.objects.exists()


class TestCreateStaffRoles:
    def test_a_new_database_has_them(self) -> None:
        assert {group.name for group in Group.objects.all()} == set(ROLES)
        assert run("create_staff_roles") == "Viewer, Curator, Key manager, Administrator have their permissions.\n"

    def test_they_have_exactly_these_permissions(self) -> None:
        has: dict[str, set[str]] = {}
        for role, app, name in Permission.objects.values_list("group__name", "content_type__app_label", "codename"):
            has.setdefault(role, set()).add(f"{app}.{name}")
        assert {role: has[role] for role in ROLES} == {
            "Viewer": SEEING,
            "Curator": SEEING | CURATING,
            "Key manager": KEYS,
            "Administrator": SEEING | CURATING | KEYS | STAFF,
        }

    def test_resets_what_was_changed(self) -> None:
        Group.objects.get(name="Viewer").delete()
        curator = Group.objects.get(name="Curator")
        curator.permissions.remove(Permission.objects.get(codename="export_pet"))
        curator.permissions.add(Permission.objects.get(codename="add_user"))
        assert run_json("create_staff_roles") == {"roles": [*ROLES]}
        self.test_they_have_exactly_these_permissions()

    def test_leaves_other_groups_and_their_members_alone(self) -> None:
        own = Group.objects.create(name="Our own")
        own.permissions.add(Permission.objects.get(codename="view_pet"))
        ada = member("ada", "Viewer")
        ada.groups.add(own)
        run("create_staff_roles")
        assert [permission.codename for permission in own.permissions.all()] == ["view_pet"]
        assert {group.name for group in ada.groups.all()} == {"Our own", "Viewer"}
