"""Lists of animals as files."""

import contextlib
import re
from io import BytesIO
from typing import Any
from urllib.parse import urlencode, urljoin

import openpyxl
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from categories.models import Category
from files import downloads
from files.export import FileFormat
from pets.models import Pet
from tests.factories import CategoryFactory, PetFactory
from tests.files.test_admin_imports import send
from tests.pets.office import PETS, member, told
from tests.whole import CSV_HEADER, HEADER, lines, row

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def animals() -> list[Pet]:
    dogs, cats = CategoryFactory(name="Dogs"), CategoryFactory(name="Cats")
    return [
        PetFactory(name="Rex", category=dogs, external_reference="A-1"),
        PetFactory(name="=1+1", category=cats, status="sold", external_reference="A-2"),
        PetFactory(name="Rexy", category=cats, status="sold", external_reference=None),
    ]


def content(answer: Any) -> bytes:
    with contextlib.closing(answer):
        return b"".join(answer.streaming_content)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ["A-1,Rex,Dogs,available", "A-2,'=1+1,Cats,sold", ",Rexy,Cats,sold"]),
        ("?status__exact=sold", ["A-2,'=1+1,Cats,sold", ",Rexy,Cats,sold"]),
        ("?q=rex", ["A-1,Rex,Dogs,available", ",Rexy,Cats,sold"]),
        ("?q=nothing", []),
    ],
)
def test_what_the_list_shows_is_exported(staff: Client, animals: list[Pet], query: str, shown: list[str]) -> None:
    answer = staff.get(f"{PETS}export/csv/{query}")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]
    assert re.fullmatch(r'attachment; filename="animals-[0-9-]+\.csv"', answer["Content-Disposition"])
    header, *exported = content(answer).decode().splitlines()
    assert header == f"\ufeffid,{CSV_HEADER}"
    ids = {f"{pet.name.lstrip('=')}": pet.pk for pet in animals}
    assert exported == [
        f"{ids[re.split(',', line)[1].lstrip(chr(39) + '=')]},{whole}"
        for line, whole in zip(shown, lines(shown), strict=True)
    ]


@pytest.mark.parametrize("path", [f"{PETS}export/csv/", "activity/csv/", "activity/r1/csv/"])
def test_nothing_is_read_for_the_headers_of_a_file_alone(staff: Client, path: str) -> None:
    assert staff.head(urljoin("/admin/", path)).status_code == 405


def test_a_workbook(staff: Client, animals: list[Pet]) -> None:
    answer = staff.get(f"{PETS}export/xlsx/?q=rex")
    sheet = openpyxl.load_workbook(BytesIO(content(answer))).worksheets[0]
    assert list(sheet.values) == [
        ("id", *HEADER),
        (str(animals[0].pk), *row("A-1", "Rex", "Dogs", "available")),
        (str(animals[2].pk), *row(None, "Rexy", "Cats", "sold")),
    ]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_what_is_exported_is_imported_unchanged(staff: Client, animals: list[Pet], ending: str) -> None:
    run = send(staff, content(staff.get(f"{PETS}export/{ending}/?q=A-")), f"animals.{ending}").context["run"]
    assert (run.created, run.updated, run.unchanged, run.rejected) == (0, 0, 2, 0)


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_the_list_offers_what_it_shows(staff: Client, animals: list[Pet], ending: str) -> None:
    """As a browser sends the form: the filters, and the columns that are chosen at first."""
    html = staff.get(f"{PETS}?status__exact=sold&q=rex").content.decode()
    form = re.search(rf'<form class="menu-panel" method="get" action="{PETS}export/csv/">.*?</form>', html, re.DOTALL)
    assert form
    assert f'formaction="{PETS}export/xlsx/"' in form[0]
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="(\w*)">', form[0])
    chosen = re.findall(r'name="column" value="(\w+)" checked', form[0])
    assert (sorted(hidden), chosen) == ([("q", "rex"), ("status__exact", "sold")], ["id", *HEADER])
    query = urlencode([*hidden, *(("column", name) for name in chosen)])
    answer = staff.get(f"{PETS}export/{ending}/?{query}")
    assert content(answer) == content(staff.get(f"{PETS}export/{ending}/?status__exact=sold&q=rex"))


def test_columns_are_chosen(staff: Client, animals: list[Pet]) -> None:
    exported = content(staff.get(f"{PETS}export/csv/?q=rexy&column=status&column=name&column=sold_on"))
    assert exported.decode() == "\ufeffstatus,name,sold_on\nsold,Rexy,\n"
    wrong = staff.get(f"{PETS}export/csv/?q=rexy&column=name&column=colour", follow=True)
    known = ", ".join(["id", *HEADER, "sold_on", "added_at", "changed_at"])
    assert told(wrong) == [f"Choose each column once. A file can have {known}."]


@pytest.mark.parametrize(("ending", "more"), [("csv", ""), ("xlsx", ", or choose CSV, which can hold more")])
def test_more_than_a_page_sends(
    staff: Client, animals: list[Pet], monkeypatch: pytest.MonkeyPatch, ending: str, more: str
) -> None:
    monkeypatch.setattr(downloads, "MOST_ANIMALS", dict.fromkeys(FileFormat, 2))
    answer = staff.get(f"{PETS}export/{ending}/", follow=True)
    assert told(answer) == [
        f"These are more than 2 animals. Filter for fewer{more}. An operator can export all of them with "
        "manage.py export_pets."
    ]
    monkeypatch.setattr(downloads, "MOST_ANIMALS", dict.fromkeys(FileFormat, len(animals)))
    assert content(staff.get(f"{PETS}export/{ending}/"))


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("query", ["import_run=x", "added_from=2026-02-31", "status__exact=gone"])
def test_a_filter_that_makes_no_sense_exports_nothing(
    staff: Client, animals: list[Pet], ending: str, query: str
) -> None:
    answer = staff.get(f"{PETS}export/{ending}/?{query}", follow=True)
    assert told(answer) == ["The list has no such filter."]


@pytest.mark.postgresql("SQLite has no such settings")
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_no_setting_outlives_the_transaction(staff: Client, animals: list[Pet], ending: str) -> None:
    """Behind PgBouncer it would stay with a connection that others get."""
    with CaptureQueriesContext(connection) as done:
        assert content(staff.get(f"{PETS}export/{ending}/"))
    settings = [query["sql"] for query in done if query["sql"].startswith(("SET", "RESET"))]
    assert settings == ["SET LOCAL statement_timeout = '30s'", "SET LOCAL idle_in_transaction_session_timeout = '30s'"]


def test_only_with_the_right(animals: list[Pet], staff: Client) -> None:
    viewer = member("viewer", "view_pet")
    assert "export/csv" not in viewer.get(PETS).content.decode()
    assert viewer.get(f"{PETS}export/csv/").status_code == 403
    assert staff.post(f"{PETS}export/csv/").status_code == 405
    assert Category.objects.count() == 2
