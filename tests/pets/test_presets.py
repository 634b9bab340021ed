"""Spans of days that one click filters the list of animals by."""

import re
from datetime import date, timedelta
from html import unescape

import pytest
from django.test import Client

from categories.models import Category
from history.times import spans
from tests.days import today
from tests.factories import PetFactory
from tests.pets.office import PETS


@pytest.mark.parametrize(
    ("day", "last_week", "last_month"),
    [
        (date(2026, 11, 23), (date(2026, 11, 16), date(2026, 11, 22)), (date(2026, 10, 1), date(2026, 10, 31))),
        (date(2026, 11, 22), (date(2026, 11, 9), date(2026, 11, 15)), (date(2026, 10, 1), date(2026, 10, 31))),
        (date(2024, 3, 31), (date(2024, 3, 18), date(2024, 3, 24)), (date(2024, 2, 1), date(2024, 2, 29))),
        (date(2026, 1, 1), (date(2025, 12, 22), date(2025, 12, 28)), (date(2025, 12, 1), date(2025, 12, 31))),
    ],
)
def test_weeks_begin_on_monday_and_months_on_the_first(day: date, last_week: object, last_month: object) -> None:
    one = timedelta(days=1)
    assert spans(day) == {
        "Today": (day, day),
        "Yesterday": (day - one, day - one),
        "Last 7 days": (day - 6 * one, day),
        "Last week": last_week,
        "Last month": last_month,
    }


def test_sold_last_week_is_one_link_that_keeps_the_other_filters(staff: Client, category: Category) -> None:
    monday = today() - timedelta(days=today().weekday())
    for name, day in (
        ("This week", monday),
        ("Sunday", monday - timedelta(days=1)),
        ("Before", monday - timedelta(days=8)),
    ):
        PetFactory(name=name, category=category, status="sold", sold_on=day)
    page = staff.get(f"{PETS}?status__exact=sold").content.decode()
    [link] = re.findall('<a href="([^"]*)"><span class="visually-hidden">Sold: </span>Last week', page)
    listed = staff.get(f"{PETS}{unescape(link)}")
    assert [pet.name for pet in listed.context["cl"].result_list] == ["Sunday"]
    assert "status__exact=sold" in link
    here = re.findall(
        'aria-current="true"><span class="visually-hidden">(.*?)</span>(.*?)</a>', listed.content.decode()
    )
    assert here == [("Sold: ", "Last week")]


def test_a_chip_says_the_span_in_words(staff: Client) -> None:
    monday, year = today() - timedelta(days=today().weekday()), today().year
    last_week = {"sold_from": str(monday - timedelta(days=7)), "sold_to": str(monday - timedelta(days=1))}
    for query, label, value in (
        (last_week, "Sold", "last week"),
        ({"added_from": f"{year}-01-15"}, "Added", "since 15 Jan"),
        ({"added_to": "2025-03-01"}, "Added", "until 1 Mar 2025"),
        ({"added_from": "2025-03-01", "added_to": "2025-03-01"}, "Added", "1 Mar 2025"),
        ({"added_from": "2025-03-01", "added_to": "2025-04-02"}, "Added", "1 Mar 2025 to 2 Apr 2025"),
        ({"unchanged_since": "2025-03-01"}, "Not changed since", "1 Mar 2025"),
        ({"added_from": "soon"}, "Added from", "soon"),
    ):
        chips = staff.get(PETS, {"q": "x"} | query).context["cl"].chips()
        assert chips == [{"label": label, "value": value, "without": "?q=x"}]
