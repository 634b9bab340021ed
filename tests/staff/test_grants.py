"""Nobody can give a role beyond what they can do, even with a forged form; test_tasks.py has what a role can get."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from pets.models import Pet
from petstore_site.staff.tasks import TASKS
from tests.factories import PetFactory
from tests.staff.conftest import PASSWORD, form_of, member, read

ACCOUNTS = "/admin/auth/user/"
ROLES = "/admin/auth/group/"


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


@pytest.mark.parametrize("is_active", [True, False])
def test_only_a_superuser_edits_a_superuser(client: Client, db: None, *, is_active: bool) -> None:
    root, clerk = member("root", is_superuser=True, is_active=is_active), member("carl")
    clerk.user_permissions.set(Permission.objects.all())  # what a superuser can do, but not one
    client.force_login(clerk)
    assert pages_of(client, root) == [403] * len(PAGES)
    client.force_login(member("boss", is_superuser=True))
    assert pages_of(client, root) == [302, 200, 302, 302]


def test_who_may_change_accounts_does_not_edit_an_administrator(client: Client, db: None) -> None:
    clerk = member("carl")
    clerk.groups.add(role("Desk", "auth.view_user", "auth.change_user", "auth.delete_user"))
    client.force_login(clerk)
    assert pages_of(client, member("ada", "Administrator")) == [403] * len(PAGES)
    assert client.get(f"{ACCOUNTS}{member('dora').pk}/change/").status_code == 200


def test_no_new_account_gets_a_role_beyond_who_makes_it(office: Client) -> None:
    assert office.post(f"{ACCOUNTS}add/", {"username": "new", "groups": role("Above", BEYOND).pk}).status_code == 200
    assert not User.objects.filter(username="new").exists()


@pytest.mark.parametrize("kept", ["pets.export_pet", BEYOND])
def test_nobody_changes_or_deletes_a_role_that_can_do_more(client: Client, db: None, kept: str) -> None:
    mine = ["auth.view_group", "auth.change_group", "auth.delete_group"]
    clerk = member("carl")
    clerk.groups.add(role("Desk", *mine))
    above, below = role("Above", *mine, kept), role("Below", "auth.view_group")
    client.force_login(clerk)
    page = client.get(f"{ROLES}{above.pk}/change/")
    assert (
        "You can\N{RIGHT SINGLE QUOTATION MARK}t change or delete it: it can do more than you." in page.content.decode()
    )
    levels = dict.fromkeys(TASKS, "no")
    sent = {"seen": client.get(f"{ROLES}{below.pk}/change/").context["adminform"].form["seen"].value()}
    for what, form in (("change", levels | sent | {"name": "Taken"}), ("delete", {"post": "yes"})):
        assert client.post(f"{ROLES}{above.pk}/{what}/", form).status_code == 403
        assert client.post(f"{ROLES}{below.pk}/{what}/", form).status_code == 302
    assert [group.name for group in Group.objects.filter(name__in=["Above", "Below", "Taken"])] == ["Above"]
    assert permissions_of(above) == sorted(each.partition(".")[2] for each in [*mine, kept])


@pytest.mark.parametrize(
    ("right", "place", "sent"),
    [
        ("pets.export_pet", "pet/export/csv/", None),
        ("pets.export_pet", "pet/export/xlsx/", None),
        ("pets.restore_pet", "../activity/r{deletion}/undo/", {}),
        ("pets.delete_pet", "pet/{pet}/delete/", {"post": "yes"}),
        ("pets.add_importrun", "importrun/add/", None),
    ],
)
def test_no_right_counts_over_animals_that_cannot_be_seen(
    client: Client, db: None, right: str, place: str, sent: dict[str, Any] | None
) -> None:
    pet, gone = PetFactory(), PetFactory()
    gone.delete()
    deletion = Pet.history.latest("history_id").pk
    address = ("/admin/pets/" + place.format(pet=pet.pk, deletion=deletion)).replace("pets/../", "")
    clerk = member("carl")
    clerk.groups.add(role("Desk", right))
    client.force_login(clerk)

    def open_it() -> int:
        answer = client.get(address) if sent is None else client.post(address, sent)
        read(answer)
        return int(answer.status_code)

    assert (open_it(), [*Pet.objects.all()]) == (403, [pet])
    clerk.groups.add(Group.objects.get(name="Viewer"))
    assert open_it() == (200 if sent is None else 302)
