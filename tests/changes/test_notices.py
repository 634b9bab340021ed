"""The end of long changes is said to who began it, on the next page that they open, once."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes.models import Change
from pets.models import Pet
from petstore_site.work import WorkLoop
from tests.factories import PetFactory
from tests.pets.office import ask, member, text_of, told, work_off

OVERVIEW = "/admin/"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two animals."""
    for module in ("bulk", "undo", "plan", "preview"):
        monkeypatch.setattr(f"changes.{module}.BLOCK", 2)


@pytest.fixture
def begun(staff: Client, category: Category) -> Change:
    """A change of five animals of which the first block is done."""
    pets = [PetFactory(name=f"Rex {number}", category=category) for number in range(5)]
    page = ask(staff, "become_sold", *pets, across=True)
    staff.post(page.redirect_chain[-1][0])
    return Change.objects.get()


def said(client: Client, page: str = OVERVIEW, **headers: str) -> list[str]:
    return told(client.get(page, headers=headers))


def test_a_long_change_says_once_that_it_ended(staff: Client, begun: Change) -> None:
    assert said(staff) == []
    work_off()
    assert said(member("tomasz", "view_pet")) == []
    assert said(staff, **{"Sec-Fetch-Dest": "empty"}) == [], "a script looks only"
    ended = staff.get(OVERVIEW)
    assert told(ended) == ["Marked 5 animals sold."]
    assert f'href="/admin/activity/{begun.pk}/undo/"' in ended.content.decode()
    assert said(staff) == []


def test_its_own_page_says_it_instead(staff: Client, begun: Change) -> None:
    work_off()
    assert said(staff, f"/admin/activity/{begun.pk}/") == said(staff) == []


def test_a_long_undo_says_that_it_ended(staff: Client, begun: Change) -> None:
    work_off()
    said(staff)
    staff.post(f"/admin/activity/{begun.pk}/undo/")
    assert said(staff) == []
    work_off()
    assert said(staff) == ["Undid “marked 5 animals sold”."]
    assert Pet.objects.filter(status="available").count() == 5


def test_one_of_two_that_ended(staff: Client, begun: Change) -> None:
    page = ask(staff, "become_pending", Pet.objects.earliest("pk"), across=True)
    staff.post(page.redirect_chain[-1][0])
    Change.objects.filter(pk=begun.pk).update(state="done")
    assert len(said(staff)) == 1
    assert said(staff) == []
    work_off()
    assert len(said(staff)) == 1


@pytest.mark.parametrize(("seconds", "rate", "said"), [(2, None, "1 a second"), (60, 7, "7 a second")])
def test_the_rate_is_that_of_the_work_without_waiting(
    staff: Client, begun: Change, seconds: float, rate: float | None, said: str
) -> None:
    worked_at = timezone.now() - timedelta(seconds=seconds)
    Change.objects.filter(pk=begun.pk).update(worked_at=worked_at, rate=rate)
    WorkLoop().step()
    page = staff.get(f"/admin/activity/{begun.pk}/").content.decode()
    assert "<title>[Development] 80 % · " in page
    assert f"About 10 seconds left 4 of 5 animals, {said}" in text_of(page)
