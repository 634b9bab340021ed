"""Activity of keys and team: who issued and revoked a key, who let whom in, for who can see these."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from petstore_site.apikeys.models import APIKey
from petstore_site.back_office import team
from tests.factories import APIKeyFactory
from tests.pets.office import member, text_of

TEAM = "/admin/activity/team/"


def lines(client: Client, query: str = "") -> list[str]:
    """Return what each line says before its time."""
    page = client.get(f"{TEAM}{query}").content.decode().partition('<section class="card list"')[2]
    return [text_of(line) for line in re.findall(r"(?s)</span>\s*<div><p>(.*?)</p>", page)]


@pytest.fixture
def root(db: None) -> Client:
    return member("root", superuser=True)


def test_what_people_and_commands_did_with_keys_accounts_and_roles(root: Client) -> None:
    key = APIKeyFactory(name="Web <b>shop")
    root.post(f"/admin/apikeys/apikey/{key.pk}/revoke/")
    root.post("/admin/auth/user/add/", {"username": "tomasz"})
    role = Group.objects.create(name="Night shift")
    root.post(f"/admin/auth/group/{role.pk}/delete/", {"post": "yes"})
    assert lines(root) == [
        "root deleted the role Night shift",
        "root added the account tomasz",
        "root revoked the key Web <b>shop",
        "A command or script issued the key Web <b>shop",
    ]
    page = root.get(TEAM).content.decode()
    assert f'href="/admin/auth/user/{User.objects.get(username="tomasz").pk}/change/"' in page
    assert f'href="/admin/apikeys/apikey/{key.pk}/change/"' in page
    assert f"/admin/auth/group/{role.pk}/" not in page
    keeper = member("keeper", "view_apikey")
    assert [line.split()[-4:-1] for line in lines(keeper)] == [["the", "key", "Web"]] * 2
    assert lines(member("boss", "view_user")) == ["root added the account tomasz"]


@pytest.mark.parametrize(
    ("permission", "status"), [("view_apikey", 200), ("view_user", 200), ("view_group", 200), ("view_pet", 403)]
)
def test_who_can_see_it(db: None, permission: str, status: int) -> None:
    client = member("someone", permission)
    assert client.get(TEAM).status_code == status
    tab = f'href="{TEAM}"' in client.get("/admin/activity/").content.decode()
    assert not tab
    assert f'href="{TEAM}"' in member("other", "view_pet", "view_apikey").get("/admin/activity/").content.decode()


@pytest.mark.parametrize("query", ["?before=", "?before=x", "?before=2026-11-21T09:30"])
def test_a_damaged_place_is_the_newest_page(root: Client, query: str) -> None:
    APIKeyFactory()
    assert len(lines(root, query)) == 1


def test_no_line_is_lost_or_doubled_between_pages(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "PER_PAGE", 3)
    now = timezone.now()
    names = [f"Key {number}" for number in range(8)]
    for number, name in enumerate(names):
        key = APIKeyFactory(name=name)
        same = number // 2  # two at the same moment
        APIKey.history.filter(id=key.pk).update(history_date=now - timedelta(minutes=same))
    found, query = [], ""
    while True:
        page = root.get(f"{TEAM}{query}")
        found += [event.what for event in page.context["events"]]
        if not page.context["older"]:
            break
        query = f"?before={page.context['older'].replace('+', '%2B')}"
    assert sorted(found) == names
