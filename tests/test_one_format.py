"""The back office writes each number and each date in one way."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from changes.models import Change
from pets.models import ImportRun
from petstore_site.apikeys.models import KeyUsage, Use
from tests.days import today
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory

MANY = 1_234_567
MONTHS = "Jan(uary)?|Feb(ruary)?|March?|Apr(il)?|June?|July?|Aug(ust)?|Sept?(ember)?|Oct(ober)?|Nov(ember)?|Dec(ember)?"
OTHER_DATES = re.compile(rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b({MONTHS})\.? \d{{1,2}},")


def shown(client: Client, address: str) -> str:
    """Return what can be read on the page."""
    page = client.get(address, follow=True).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page.split('id="content-start"')[-1]).split())


@pytest.fixture
def office(staff: Client) -> dict[str, str]:
    """The address of each page that shows counts, or asks before it deletes."""
    counts: Any = dict.fromkeys(("rows", "created", "updated", "unchanged", "rejected"), MANY)
    run = ImportRun.objects.create(who="root", file_name="big.csv", options={}, state="done", **counts)
    bulk = Change.objects.create(who="staff anna", what="Status becomes sold", column="status", changed=MANY)
    key, pet, category = APIKeyFactory(), PetFactory(), CategoryFactory()
    KeyUsage.objects.add_all([(Use(key.pk, today(), "pet-list", 4), MANY)])
    other, role = User.objects.create_user("other"), Group.objects.create(name="Night shift")
    pages = ["activity/?kind=import", f"activity/i{run.pk}/", ""]
    pages += ["activity/", f"activity/{bulk.pk}/", "apikeys/keyusage/"]
    pages += [f"apikeys/apikey/{key.pk}/change/", f"pets/pet/{pet.pk}/delete/", f"auth/user/{other.pk}/delete/"]
    pages += [f"auth/group/{role.pk}/delete/", f"categories/category/{category.pk}/delete/", "account/"]
    return {page: shown(staff, f"/admin/{page}") for page in pages}


def test_numbers_have_commas(office: dict[str, str]) -> None:
    assert [page for page, text in office.items() if str(MANY) in text] == []
    assert sum("1,234,567" in text for text in office.values()) == 7


def test_dates_have_the_day_and_then_the_name_of_the_month(office: dict[str, str]) -> None:
    assert {page: match[0] for page, text in office.items() if (match := OTHER_DATES.search(text))} == {}
