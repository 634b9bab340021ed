"""The search at the top: each kind of thing in a group, and only what its user can see."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from petstore_site.request_desk.models import RequestRecord
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.staff.conftest import member

SEARCH = "/admin/search/"
REQUEST = "5f0c" * 8


@pytest.fixture
def shop(db: None) -> Any:
    rex = PetFactory(name="Rex", external_reference="SHOP-1", category=CategoryFactory(name="Rex rabbits"))
    key = APIKeyFactory(name="Rex web shop")
    columns = {"request_id": REQUEST, "method": "GET", "route": "pet-list", "status": 400, "milliseconds": 1}
    RequestRecord.objects.create(at=timezone.now(), **columns)
    return rex, key


def found(role: str, needle: str) -> dict[str, list[str]]:
    client = Client()
    client.force_login(member(f"the {role}", role))
    page = client.get(SEARCH, {"q": needle})
    return {group["title"]: [each.label for each in group["results"]] for group in page.context["groups"]}


@pytest.mark.parametrize(
    ("role", "groups"),
    [
        ("Viewer", {"Animals": ["Rex"], "Categories": ["Rex rabbits"]}),
        ("Key manager", {"API keys": ["Rex web shop"]}),
        ("Administrator", {"Animals": ["Rex"], "API keys": ["Rex web shop"], "Categories": ["Rex rabbits"]}),
    ],
)
def test_each_role_finds_what_it_can_see(shop: Any, role: str, groups: dict[str, list[str]]) -> None:
    assert found(role, "rex") == groups


@pytest.mark.parametrize("needle", ["shop-1", "{rex.pk}"])
def test_animals_are_found_by_reference_and_id(shop: Any, needle: str) -> None:
    assert found("Viewer", needle.format(rex=shop[0])) == {"Animals": ["Rex"]}


def test_each_result_has_the_icon_of_its_kind(shop: Any) -> None:
    CategoryFactory(name="Rexes of the sea", icon="fish")
    PetFactory(name="Rexina", category=CategoryFactory(name="Cats", icon="cat"))
    client = Client()
    client.force_login(member("ada", "Administrator"))
    page = client.get(SEARCH, {"q": "rex"}).content.decode()
    assert re.findall('class="mark"><svg.*?#i-([a-z-]+)', page) == ["cat", "paw-print", "key-round", "tags", "fish"]


def test_a_key_is_found_by_its_id(shop: Any) -> None:
    assert found("Key manager", shop[1].key_id) == {"API keys": ["Rex web shop"]}


def test_a_request_id_leads_to_its_story(shop: Any) -> None:
    client = Client()
    client.force_login(member("kim", "Key manager"))
    desk = f"/admin/request_desk/requestrecord/desk/?request_id={REQUEST}"
    assert client.get(SEARCH, {"q": REQUEST})["Location"] == desk
    client.force_login(member("vera", "Viewer"))
    assert "Nothing was found." in client.get(SEARCH, {"q": REQUEST}).content.decode()


@pytest.mark.parametrize("needle", ["", " ", "\0", "'", "%", "\\", "9" * 400, "<script>"])
def test_anything_can_be_searched_for(shop: Any, needle: str) -> None:
    client = Client()
    client.force_login(member("ada", "Administrator"))
    page = client.get(SEARCH, {"q": needle})
    assert page.status_code == 200
    assert "<script>" not in page.content.decode()
