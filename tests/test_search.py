"""The search at the top: each kind of thing in a group, and only what its user can see."""

import re
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from petstore_site.back_office.request_desk.models import KEPT, RequestRecord
from petstore_site.drawing import marked
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.staff.conftest import browser, member

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
    client = browser(f"the {role}", role)
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
    client = browser("ada", "Administrator")
    page = client.get(SEARCH, {"q": "rex"}).content.decode()
    shown = re.findall('class="glyph" aria-hidden="true"><svg.*?#i-([a-z-]+)', page)
    assert shown == ["cat", "paw-print", "key-round", "tags", "fish"]


def test_a_key_id_leads_to_its_page(shop: Any) -> None:
    client = browser("kim", "Key manager")
    key = shop[1]
    assert client.get(SEARCH, {"q": key.key_id})["Location"] == f"/admin/apikeys/apikey/{key.pk}/change/"
    palette = client.get(SEARCH, {"q": key.key_id, "palette": ""})
    assert [group["title"] for group in palette.context["groups"]] == ["API keys"]


def test_a_request_id_leads_to_its_story(shop: Any) -> None:
    client = browser("kim", "Key manager")
    desk = f"/admin/request_desk/requestrecord/desk/?request_id={REQUEST}"
    assert client.get(SEARCH, {"q": REQUEST})["Location"] == desk
    RequestRecord.objects.update(at=timezone.now() - KEPT)
    assert "Nothing was found." in client.get(SEARCH, {"q": REQUEST}).content.decode()
    RequestRecord.objects.update(at=timezone.now())
    client.force_login(member("vera", "Viewer"))
    assert "Nothing was found." in client.get(SEARCH, {"q": REQUEST}).content.decode()


@pytest.mark.parametrize("needle", ["", " ", "\0", "'", "%", "\\", "9" * 400, "<script>"])
def test_anything_can_be_searched_for(shop: Any, needle: str) -> None:
    client = browser("ada", "Administrator")
    page = client.get(SEARCH, {"q": needle})
    assert page.status_code == 200
    assert "<script>" not in page.content.decode()


@pytest.mark.parametrize(
    ("role", "needle", "groups"),
    [
        ("Viewer", "role", {}),
        ("Administrator", "role", {"Actions": ["Add a role"], "Pages": ["Roles"]}),
        ("Key manager", "add", {}),
        ("Curator", "ANI add", {"Actions": ["Add an animal"]}),
        ("Viewer", "your", {"Actions": ["Change your password", "Your sign-in"]}),
        ("Viewer", "", {
            "Actions": ["Change your password", "Your sign-in"],
            "Pages": ["Overview", "Animals", "Activity", "Categories"],
        }),
    ],
)  # fmt: skip
def test_pages_and_actions_are_found_by_who_can_open_them(
    db: None, role: str, needle: str, groups: dict[str, list[str]]
) -> None:
    assert found(role, needle) == groups


def test_staff_are_found_by_who_may_see_them(db: None) -> None:
    member("rosa", "Curator", first_name="Rosa", last_name="Ortega")
    assert found("Administrator", "orteg") == {"Staff": ["Rosa Ortega"]}
    assert found("Viewer", "orteg") == {}


def test_the_palette_gets_the_results_alone(shop: Any, django_assert_num_queries: Any) -> None:
    client = browser("ada", "Administrator")
    client.get(SEARCH)
    most = 10 if connection.vendor == "sqlite" else 13  # the animals are sorted in a transaction with a setting
    with django_assert_num_queries(most):
        part = client.get(SEARCH, {"q": "rex", "palette": ""})
    PetFactory(name="Rex two", category=CategoryFactory(name="Rex two"))
    APIKeyFactory(name="Rex two")
    with django_assert_num_queries(most):
        client.get(SEARCH, {"q": "rex", "palette": ""})
    html = part.content.decode()
    assert "<html" not in html
    assert re.findall('role="option"[^>]*id="([^"]+)"', html) == ["palette-1-1", "palette-2-1", "palette-3-1"]
    assert re.findall("<mark>([^<]+)</mark>", html) == ["Rex", "Rex", "Rex", "Rex"]
    assert "Cache-Control" in part
    desk = client.get(SEARCH, {"q": REQUEST, "palette": ""}).content.decode()
    assert f"/admin/request_desk/requestrecord/desk/?request_id={REQUEST}" in desk


@pytest.mark.parametrize(
    ("text", "needle", "html"),
    [
        ("Maple", "ma", "<mark>Ma</mark>ple"),
        ("<b>", "b", "&lt;<mark>b</mark>&gt;"),
        (
            "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}zmir",
            "iz",
            "<mark>\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}z</mark>mir",
        ),
        ("Señor", "EN", "S<mark>eñ</mark>or"),
        ("Sen\u0303or", "n", "Se<mark>n\u0303</mark>or"),
        ("Sen\u0303or", "o", "Sen\u0303<mark>o</mark>r"),
        ("Mr \xa0 Fox", "r f", "M<mark>r \xa0 F</mark>ox"),
        ("我的小花猫", "小花", "我的<mark>小花</mark>猫"),
        ("Straße", "s", "<mark>S</mark>traße"),
        ("Straße", "as", "Str<mark>aß</mark>e"),
        ("\ufb01sh & co", "f", "<mark>\ufb01</mark>sh &amp; co"),
        ("Rex", "\u0301", "Rex"),
        ("Rex", "cat", "Rex"),
        ("Rex", "", "Rex"),
    ],
)
def test_what_was_searched_for_is_marked(text: str, needle: str, html: str) -> None:
    assert marked(text, needle) == html
