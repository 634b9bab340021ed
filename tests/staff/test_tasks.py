"""Roles as tasks in words: the page asks about tasks, and the server knows which permissions a level needs."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from petstore_site.staff.roles import ROLES, permissions_of
from petstore_site.staff.tasks import ALL, TASKS, sentence
from tests.staff.conftest import member
from tests.staff.test_grants import BEYOND, role
from tests.staff.test_grants import permissions_of as stored

PAGES = "/admin/auth/group/"


def levels(**given: str) -> dict[str, str]:
    """Return a form in which each other task has the level no."""
    return dict.fromkeys(TASKS, "no") | {"name": "Weekend team"} | given


def opened(office: Client, group: Group) -> dict[str, str]:
    """Return what the form of the role would send of what its page showed and nobody sees."""
    return {"seen": office.get(f"{PAGES}{group.pk}/change/").context["adminform"].form["seen"].value()}


def words(page: Any) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.content.decode())).split())


def test_levels_become_permissions(office: Client) -> None:
    office.post(f"{PAGES}add/", levels(animals="change", categories="see", exports="change"))
    weekend = Group.objects.get(name="Weekend team")
    assert stored(weekend) == [
        "add_pet", "change_pet", "delete_pet", "export_pet", "restore_pet", "view_category", "view_pet",
    ]  # fmt: skip
    office.post(f"{PAGES}{weekend.pk}/change/", levels(usage="see") | opened(office, weekend))
    assert stored(weekend) == ["view_keyusage"]


def test_a_form_that_was_opened_before_a_change_gives_nothing_back(office: Client) -> None:
    desk = role("Desk", "pets.view_pet", "apikeys.view_apikey")
    page = f"{PAGES}{desk.pk}/change/"
    before = opened(office, desk)
    assert f'name="seen" value="{before["seen"]}"' in office.get(page).content.decode()
    office.post(page, levels(animals="see") | before)
    assert stored(desk) == ["view_pet"]
    for seen in (before, {}):
        answer = office.post(page, levels(animals="see", keys="see") | seen)
        assert "Someone else changed what this role can do after you opened it." in words(answer)
    assert stored(desk) == ["view_pet"]


def test_a_built_in_role_shows_its_levels_and_takes_no_others(office: Client) -> None:
    group = Group.objects.get(name="Key manager")
    page = office.get(f"{PAGES}{group.pk}/change/")
    assert "Can issue and revoke keys, and see requests and usage. Can't export, or see animals" in words(page)
    assert "Keys Change: issue, rotate, revoke Change Requests Can only be seen See" in words(page)
    assert 'type="radio"' not in page.content.decode()
    assert office.post(f"{PAGES}{group.pk}/change/", levels(animals="see")).status_code == 403


def test_single_permissions_stay_until_the_task_is_set(office: Client) -> None:
    User.objects.update(is_superuser=True)  # who else can change a role with what no task is about?
    desk = role("Night desk", "pets.view_pet", "pets.change_pet", BEYOND)
    page = office.get(f"{PAGES}{desk.pk}/change/")
    assert "Now: see and edit" in words(page)
    assert "It can also do things that no task on this page is about." in words(page)
    office.post(f"{PAGES}{desk.pk}/change/", levels(animals="some", keys="see") | opened(office, desk))
    assert stored(desk) == ["change_pet", "delete_session", "view_apikey", "view_pet"]
    office.post(f"{PAGES}{desk.pk}/change/", levels(animals="see") | opened(office, desk))
    assert stored(desk) == ["delete_session", "view_pet"]


def test_only_what_the_sender_can_do_is_asked_and_taken(client: Client, db: None) -> None:
    clerk = member("carl")
    clerk.groups.add(role("Desk", "auth.add_group", "auth.view_group", "pets.view_pet"))
    client.force_login(clerk)
    page = client.get(f"{PAGES}add/")
    assert "You can\N{RIGHT SINGLE QUOTATION MARK}t grant more than you can do yourself." in page.content.decode()
    choices = {task: [value for value, _ in page.context["adminform"].form.fields[task].choices] for task in TASKS}
    assert {task: given for task, given in choices.items() if given != ["no"]} == {
        "animals": ["no", "see"],
        "roles": ["no", "see"],
    }
    assert client.post(f"{PAGES}add/", levels(animals="change")).status_code == 200
    assert client.post(f"{PAGES}add/", levels(animals="some")).status_code == 200
    assert not Group.objects.filter(name="Weekend team").exists()
    assert client.post(f"{PAGES}add/", levels(animals="see")).status_code == 302
    assert stored(Group.objects.get(name="Weekend team")) == ["view_pet"]


def test_a_new_role_can_begin_as_another(office: Client) -> None:
    desk = role("Night desk", "pets.view_pet", "pets.change_pet", "auth.view_user", BEYOND)
    page = office.get(f"{PAGES}add/?start={desk.pk}")
    form = page.context["adminform"].form
    assert {name: form[name].value() for name in TASKS if form[name].value() != "no"} == {
        "animals": "some",
        "staff": "see",
    }
    office.post(f"{PAGES}add/?start={desk.pk}", levels(animals="some", staff="see"))
    assert stored(Group.objects.get(name="Weekend team")) == ["change_pet", "view_pet", "view_user"]


@pytest.mark.parametrize("start", ["0", "x", "9" * 40, "-1", "٣"])
def test_a_start_that_is_no_role_is_nothing(office: Client, start: str) -> None:
    assert office.get(f"{PAGES}add/", {"start": start}).context["start"] is None


def test_built_in_and_own_roles_are_on_one_page(office: Client) -> None:
    member("ben").groups.add(role("Away team", "pets.view_pet"))
    page = office.get(PAGES)
    listed = re.findall(r'/change/">([^<]+)</a>', page.content.decode())
    assert listed == [*ROLES, "Away team"]
    assert "Away team Your own Can see animals. Can't change anything, or see imports," in words(page)
    assert "4 built in, 1 your own" in page.content.decode()


def test_the_page_lists_the_people_of_the_role(office: Client) -> None:
    away = role("Away team", "pets.view_pet")
    for number in range(22):
        member(f"person {number:02}", "Viewer").groups.add(away)
    page = office.get(f"{PAGES}{away.pk}/change/").content.decode()
    assert page.count(", also Viewer") == 20
    assert "All 22" in page
    assert "Changes apply to 22 people at their next click." in page


def test_a_name_that_is_taken_is_said_in_our_words(office: Client) -> None:
    role("Weekend team")
    assert "Another role has this name." in office.post(f"{PAGES}add/", levels()).content.decode()


def test_every_permission_of_the_built_in_roles_belongs_to_a_task() -> None:
    assert permissions_of("Administrator") == ALL


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (ALL, "Can do everything."),
        ((), "Can't see or change anything yet."),
        ({"pets.export_pet"}, "Can export. This needs another role that can see animals. Can't see animals, imports, categories, keys, requests, usage, staff or roles."),
        ({"pets.view_importrun", "pets.add_importrun"}, "Can import. This needs another role that can see animals. Can't export, or see animals, categories, keys, requests, usage, staff or roles."),
        ({"pets.view_importrun"}, "Can see imports. Can't change anything, or see animals, categories, keys, requests, usage, staff or roles."),
        (permissions_of("Viewer"), "Can see animals, imports and categories. Can't change anything, or see keys, requests, usage, staff or roles."),
        (ALL - {"auth.delete_group"}, "Can edit animals, import, export, edit categories, issue and revoke keys, edit staff and see, add and edit roles, and see requests and usage."),
    ],
)  # fmt: skip
def test_a_sentence_says_what_a_role_can_do(held: set[str], said: str) -> None:
    assert sentence(held) == said
