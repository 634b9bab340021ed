"""The page of an animal: its status by one click, its facts and story, and the animals beside it in the list."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from categories.models import Category
from changes.models import Change
from pets.models import ImportRun, Pet
from tests.days import written
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import PETS, form_of, member, seen, told
from tests.whole import shown


@pytest.fixture
def rex(category: Category) -> Pet:
    return PetFactory(name="Rex", category=category)


def opened(client: Client, pet: Pet, filters: str = "") -> Any:
    """Open the page as a link of the list with this query does."""
    return client.get(page_of(pet, filters))


def page_of(pet: Pet, filters: str = "") -> str:
    query = f"?{urlencode({'_changelist_filters': filters})}" if filters else ""
    return f"{PETS}{pet.pk}/change/{query}"


def buttons(answer: Any) -> dict[str, str]:
    """Return what each button that marks the animal sends, and where to."""
    page = answer.content.decode()
    form = re.search(r'<form method="post" class="actions" action="([^"]+)">', page)
    sent = re.findall(r'name="becomes" value="([^"]+)">', page)
    return {becomes: unescape(form[1]) for becomes in sent} if form else {}


def press(client: Client, answer: Any, becomes: str) -> Any:
    back = re.findall(r'name="back" value="([^"]+)"', answer.content.decode())[0]
    return client.post(buttons(answer)[becomes], {"becomes": becomes, "back": unescape(back)}, follow=True)


def test_a_button_saves_at_once_and_comes_back_to_the_page(staff: Client, rex: Pet) -> None:
    shown = opened(staff, rex, "status__exact=available&q=re")
    assert list(buttons(shown)) == [f"pending:{seen(rex)}", f"sold:{seen(rex)}"]
    after = press(staff, shown, f"sold:{seen(rex)}")
    here = page_of(rex, "status__exact=available&q=re")
    assert after.redirect_chain == [(here, 302)]
    assert told(after) == ["Marked Rex sold."]
    assert Pet.objects.get().status == "sold"
    undo = f"/admin/activity/r{seen(rex)}/undo/"
    assert f'<form method="post" action="{undo}">' in after.content.decode()
    back = unescape(re.findall(r'name="back" value="([^"]+)"', after.content.decode())[0])
    assert staff.post(undo, {"back": back}, follow=True).redirect_chain == [(here, 302)]
    assert Pet.objects.get().status == "available"


def test_the_button_of_a_deleted_animal_leads_to_its_page(staff: Client, rex: Pet) -> None:
    stale, becomes, number = opened(staff, rex, "q=re"), f"sold:{seen(rex)}", rex.pk
    rex.delete()
    after = press(staff, stale, becomes)
    assert after.redirect_chain == [(f"{PETS}{number}/change/?_changelist_filters=q%3Dre", 302)]
    assert "“Rex” was deleted after you opened the page. Nothing changed." in told(after)[0]
    assert f'href="{PETS}{number}/change/"' in told(after)[0]


def test_who_may_only_look_sees_everything_and_can_change_nothing(rex: Pet) -> None:
    viewer = member("viewer", "view_pet")
    answer = opened(viewer, rex)
    page = answer.content.decode()
    assert buttons(answer) == {}
    form = re.sub("(?s)<dialog.*?</dialog>", "", page)
    assert not re.search(r'<input(?! type="(hidden|search)")|<select|name="_save"|deletelink', form)
    assert "What happened" in page
    assert "Rex" in page
    assert viewer.post(f"{PETS}{rex.pk}/status/", {"becomes": f"sold:{seen(rex)}"}).status_code == 403
    assert Pet.objects.get().status == "available"


def events(answer: Any) -> list[tuple[str, str, list[tuple[str, ...]]]]:
    return [(event.row.actor, event.verb, list(map(tuple, event.changes))) for event in answer.context["happened"]]


def test_it_tells_what_happened_newest_first(staff: Client, rex: Pet) -> None:
    cats = CategoryFactory(name="<b>Cats</b>")
    anna = member("anna", "view_pet", "change_pet", "delete_pet", "restore_pet")
    for changed in ({"status": "pending"}, {"category": cats.pk}, {"name": "Max", "external_reference": "A-1"}):
        rex.refresh_from_db()
        anna.post(page_of(rex), form_of(rex, **changed))
    number = rex.pk
    anna.post(f"{PETS}{number}/delete/", {"post": "yes"})
    anna.post(f"/admin/activity/r{Pet.history.latest('history_id').pk}/undo/")
    answer = opened(staff, rex)
    assert events(answer) == [
        ("staff anna", "restored it", []),
        ("staff anna", "deleted it", []),
        ("staff anna", "changed it", [("Name", "Rex", "Max", ""), ("Reference", "none", "A-1", "")]),
        ("staff anna", "moved it to another category", [("Category", "Dogs", "<b>Cats</b>", "")]),
        ("staff anna", "marked it pending", [("Status", "Available", "Pending", "pending")]),
        ("", "added it", []),
    ]
    assert "<ins>&lt;b&gt;Cats&lt;/b&gt;</ins>" in answer.content.decode()


def test_a_long_story_is_cut_and_still_knows_where_the_animal_came_from(staff: Client, rex: Pet) -> None:
    run = ImportRun.objects.create(
        who="root", file_name="<friday>.csv", options={}, state="done", change=Change.objects.create()
    )
    Pet.history.update(actor=str(run), change=run.change, import_line=7)
    for number in range(9):
        rex.name = f"Rex {number}"
        rex.save()
    answer = opened(staff, rex)
    assert [changes[0][1:3] for _, _, changes in events(answer)] == [
        (f"Rex {number - 1}", f"Rex {number}") for number in (8, 7, 6, 5, 4, 3)
    ]
    came = f'<dt>Came from</dt><dd><a href="/admin/activity/i{run.pk}/">&lt;friday&gt;.csv</a></dd>'
    assert came in answer.content.decode()


def test_what_is_beside_the_form_is_what_is_saved_not_what_was_typed(staff: Client, rex: Pet) -> None:
    stale = form_of(rex, name="Typed", status="sold")
    member("anna", "view_pet", "change_pet").post(page_of(rex), form_of(rex, status="pending"))
    answer = staff.post(page_of(rex), stale)
    assert answer.status_code == 200
    assert (answer.context["animal"].name, answer.context["animal"].status) == ("Rex", "pending")
    assert list(buttons(answer)) == [f"available:{seen(rex)}", f"sold:{seen(rex)}"]
    page = answer.content.decode()
    assert '<h1 class="clamped" title="Rex">Rex</h1>' in page
    assert json.dumps(shown(id=rex.pk, name="Rex", categoryId=rex.category_id, status="pending")) in unescape(page)


def test_a_sold_animal_has_its_day(staff: Client, rex: Pet) -> None:
    rex.status = "sold"
    rex.save()
    day = Pet.objects.values_list("sold_on", flat=True).get()
    assert day
    sold = f'<dt>Sold</dt><dd><time datetime="{day}" title="{written(day)}">Today</time></dd>'
    assert sold in opened(staff, rex).content.decode()


def test_a_key_is_called_by_its_name_for_those_who_can_see_keys(staff: Client, rex: Pet) -> None:
    key = APIKeyFactory(name="Partner <shop>", contact="it@partner.example")
    Pet.history.filter(id=rex.pk).update(actor=f"key {key.key_id}")
    pages = [f"{PETS}{rex.pk}/{page}/" for page in ("change", "history")]
    named = [staff.get(page).content.decode() for page in pages]
    assert ["Partner &lt;shop&gt;" in page and "it@partner.example" in page for page in named] == [True, True]
    keeper = member("ben", "view_pet", "change_pet")
    hidden = [keeper.get(page).content.decode() for page in pages]
    assert [("Partner" in page, key.key_id in page) for page in hidden] == [(False, True), (False, True)]
