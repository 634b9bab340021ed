"""How much keys are used, in the back office: beside each key in the list, on a page of their own, and as a list."""

import re
from datetime import date

import pytest
from django.test import Client
from django.utils import timezone

from history.times import NOTHING, short_day
from petstore_site.apikeys.admin import use
from petstore_site.apikeys.models import APIKey, KeyUsage, Use
from tests.apikeys.office import DAY, LIST
from tests.factories import APIKeyFactory
from tests.pets.office import text_of

pytestmark = pytest.mark.django_db

USAGE = "/admin/apikeys/keyusage/"


@pytest.fixture
def till(today: date) -> APIKey:
    """A key with more requests than another one, which has no contact; both have use that is too old."""
    shop, till = APIKeyFactory(name="Shop"), APIKeyFactory(name="Till", contact="it@till.example")
    rows = [
        (till, 0, "pet-list", 2, 150),
        (till, 0, "pet-list", 4, 30),
        (till, 1, "pet-list POST", 2, 40),
        (till, 13, "pet-detail", 5, 80),
        (till, 14, "pet-list", 2, 1_000),
        (till, 30, "pet-list", 2, 9_999),
        (shop, 1, "pet-list", 2, 90),
        (shop, 30, "pet-list", 2, 9_999),
    ]
    KeyUsage.objects.add_all(
        [(Use(key.pk, today - ago * DAY, route, answers), count) for key, ago, route, answers, count in rows]
    )
    return till


def rows_of(client: Client, address: str, after: str = "<table") -> list[list[str]]:
    """Return the cells of each row of the first table behind the text `after`."""
    table = client.get(address).content.decode().partition(after)[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [[text_of(cell) for cell in re.findall("(?s)<t[hd].*?</t[hd]>", row)] for row in table.split("</tr>")[:-1]]


def test_the_list_of_keys_has_fourteen_days(office: Client, till: APIKey) -> None:
    shop, unused = APIKey.objects.get(name="Shop"), APIKeyFactory(name="New")
    assert rows_of(office, LIST, "result_list") == [
        [f"New {unused.key_id}", "Active", "Read and add", "No requests", "0", NOTHING, "Never"],
        [f"Till {till.key_id} · it@till.example", "Active", "Read and add", "", "300", "36.7 %", "Never"],
        [f"Shop {shop.key_id}", "Active", "Read and add", "", "90", "0.0 %", "Never"],
    ]
    page = office.get(LIST)
    assert [spark.values for _, spark, _ in page.context["cl"].lines()] == [
        [0] * 13,
        [80, *[0] * 11, 40],
        [*[0] * 12, 90],
    ]
    assert re.findall('<span class="(alarming|quiet)">([0-9.]+ %)<', page.content.decode()) == [
        ("alarming", "36.7 %"),
        ("quiet", "0.0 %"),
    ]


def test_the_list_of_keys_warns_of_those_that_expire(office: Client) -> None:
    def warning(query: str = "") -> list[str]:
        return re.findall(r"<strong>(.*? within 14 days\.)</strong>", office.get(f"{LIST}{query}").content.decode())

    APIKeyFactory(expires_at=timezone.now() + 15 * DAY)
    assert warning() == []
    APIKeyFactory(expires_at=timezone.now() + DAY)
    assert warning() == ["1 key expires within 14 days."]
    APIKeyFactory(expires_at=timezone.now() + DAY)
    assert warning() == ["2 keys expire within 14 days."]
    assert warning("?state=expiring") == warning("?q=x") == []


def test_the_page_of_usage(office: Client, till: APIKey, today: date) -> None:
    shop = APIKey.objects.get(name="Shop")
    page = office.get(USAGE).content.decode()
    tiles = [text_of(tile) for tile in re.findall('<div class="card tile">.*?</div>', page)]
    assert (tiles[0], tiles[1].partition(" until")[0], tiles[2]) == (
        "Requests 1,390 in 30 days",
        "Today so far 180",
        "Errors 7.9 % 30 rejected, 80 failed",
    )
    assert rows_of(office, USAGE, 'id="by-day"')[:2] == [
        [f"{today.day} {today:%b}, so far", "150", "30", "0"],
        [short_day(today - DAY), "130", "0", "0"],
    ]
    assert len(rows_of(office, USAGE, 'id="by-day"')) == 30
    assert rows_of(office, USAGE, 'id="by-key"') == [
        ["Till it@till.example", "", "1,300", "8.5 %"],
        [f"Shop {shop.key_id}", "", "90", "0.0 %"],
    ]
    assert rows_of(office, USAGE, 'id="by-operation"') == [
        ["List animals GET /v1/pets", "1,270", "2.4 %"],
        ["Get an animal GET /v1/pets/{petId} Deprecated. We plan to remove it on 5 Dec 2030.", "80", "100.0 %"],
        ["Add an animal POST /v1/pets", "40", "0.0 %"],
    ]


def test_the_page_of_usage_has_the_busiest_keys(
    office: Client, till: APIKey, today: date, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(use, "MOST", 1)
    assert [row[0] for row in rows_of(office, USAGE, 'id="by-key"')] == ["Till it@till.example"]
    assert "1 more key with fewer requests." in office.get(USAGE).content.decode()
    quiet = APIKeyFactory()
    KeyUsage.objects.add_all([(Use(quiet.pk, today, "pet-list", 2), 1)])
    assert "2 more keys with fewer requests." in office.get(USAGE).content.decode()


def test_the_page_of_usage_of_a_store_that_nobody_called(office: Client) -> None:
    page = office.get(USAGE).content.decode()
    assert "No key was used in the last 30 days." in page
    assert "Nothing was called in the last 30 days." in page
    assert "more key" not in page
