"""Changing many animals at once: what is shown is what is done, and the last can be undone."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from categories.models import Category
from changes import bulk, write
from changes.admin import bulk as admin
from changes.models import Change, SelectedBlock, Selection
from changes.undo import progress
from pets.models import Pet
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import PETS, ask, confirm, history_disagrees, member, text_of, told, work_off

BULK = "/admin/activity/"


@pytest.fixture
def three(category: Category) -> list[Pet]:
    statuses = {"Rex": "available", "Max": "pending", "Tom": "sold"}
    return [PetFactory(name=name, status=status, category=category) for name, status in statuses.items()]


def statuses() -> dict[str, str]:
    return dict(Pet.objects.values_list("name", "status"))


def undo(client: Client, number: int) -> Any:
    return client.post(f"{BULK}{number}/undo/", follow=True)


def test_the_page_that_asks_shows_what_would_change_and_changes_nothing(staff: Client, three: list[Pet]) -> None:
    asked = ask(staff, "become_sold", *three)
    assert asked.context["counts"] == [("available", "sold", 1), ("pending", "sold", 1)]
    assert [(pet.name, before, after) for pet, before, after in asked.context["named"]] == [
        ("Rex", "available", "sold"),
        ("Max", "pending", "sold"),
    ]
    page = " ".join(asked.content.decode().split())
    assert "<h1>Mark 2 animals sold?</h1>" in page
    assert "Nothing is changed yet." in page
    assert "Already sold. Nothing changes." in page
    assert statuses() == {"Rex": "available", "Max": "pending", "Tom": "sold"}
    assert not Change.objects.exists()


def test_the_page_that_asks_says_how_long_it_takes(
    staff: Client, three: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "seconds." not in ask(staff, "become_sold", *three).content.decode()
    monkeypatch.setattr(admin, "PER_SECOND", 1)
    assert "This takes about 2 seconds." in ask(staff, "become_sold", *three).content.decode()


def test_what_changes_nothing_says_so(staff: Client, three: list[Pet]) -> None:
    assert told(confirm(staff, ask(staff, "become_sold", three[2]))) == [
        "Nothing changed. The animals have this value already."
    ]
    assert not Change.objects.exists()


@pytest.mark.parametrize("when", ["before it begins", "after it began"])
def test_what_changes_nothing_says_so_when_it_is_sent_twice(
    staff: Client, three: list[Pet], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The first of the two deletes its change and the selection, at any moment of the second."""
    asked = ask(staff, "become_sold", three[2])

    def begin_late(selection: Selection, target: Any) -> Change:
        change = bulk.begin(selection, target) if when.startswith("after") else None
        Change.objects.all().delete()
        Selection.objects.all().delete()
        return change or bulk.begin(selection, target)

    monkeypatch.setattr(admin, "begin", begin_late)
    assert told(confirm(staff, asked)) == ["Nothing changed. The animals have this value already."]
    assert not Change.objects.exists()


def test_what_was_shown_is_done_and_recorded(staff: Client, three: list[Pet]) -> None:
    before = Pet.objects.get(name="Rex").updated_at
    done = confirm(staff, ask(staff, "become_sold", *three))
    made = Change.objects.get()
    assert told(done) == ["Marked 2 animals sold."]
    assert f'href="{BULK}{made.pk}/undo/"' in done.content.decode()
    assert statuses() == {"Rex": "sold", "Max": "sold", "Tom": "sold"}
    assert (made.who, made.what, made.changed, made.left) == ("staff keeper", "Status becomes sold", 2, [])
    rows = (
        Pet.history.filter(change=made)
        .order_by("id")
        .values_list("name", "history_type", "actor", "history_user__username")
    )
    assert list(rows) == [("Rex", "~", "staff keeper", "keeper"), ("Max", "~", "staff keeper", "keeper")]
    assert all(row.request_id for row in Pet.history.filter(change=made).all())
    assert history_disagrees() == []
    assert Pet.objects.get(name="Rex").updated_at > before


def test_the_history_page_links_to_the_bulk_change(staff: Client, three: list[Pet]) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    made = Change.objects.get()
    page = staff.get(f"{PETS}{three[0].pk}/history/").content.decode()
    assert f'<a href="{BULK}{made.pk}/">with 1 other</a>' in page


def test_moving_to_a_category_asks_which_first(staff: Client, three: list[Pet]) -> None:
    cats = CategoryFactory(name="Cats")
    chosen = ask(staff, "become_category", *three)
    assert "counts" not in chosen.context
    assert "3 animals selected. Nothing is changed yet." in " ".join(chosen.content.decode().split())
    done = confirm(staff, chosen, category=cats.pk)
    assert told(done) == ["Moved 3 animals to Cats."]
    assert set(Pet.objects.values_list("category__name", flat=True)) == {"Cats"}
    assert history_disagrees() == []


def test_without_a_category_nothing_is_moved(staff: Client, three: list[Pet]) -> None:
    for category in ("", "0", "x"):
        answer = confirm(staff, ask(staff, "become_category", *three), category=category)
        assert "Nothing is changed yet." in answer.content.decode()
    assert set(Pet.objects.values_list("category__name", flat=True)) == {"Dogs"}


def test_what_changed_between_asking_and_confirming_is_left_and_told(staff: Client, three: list[Pet]) -> None:
    rex, max_, tom = three
    tom.status = "available"
    tom.save()
    asked = ask(staff, "become_sold", *three)
    number = max_.pk
    rex.name = "Rex II"
    rex.save()
    max_.delete()
    done = confirm(staff, asked)
    made = Change.objects.get()
    assert made.left == [[rex.pk, "Rex II", "changed since"], [number, "an animal", "deleted since"]]
    assert told(done)[1] == "2 animals are left as they are. Rex II: changed since; an animal: deleted since"
    assert f'href="{BULK}{made.pk}/#left">See why</a>' in done.content.decode()
    assert statuses() == {"Rex II": "available", "Tom": "sold"}
    page = text_of(staff.get(f"{BULK}{made.pk}/").content.decode())
    assert f"Left as they are 2 Rex II changed since · {rex.pk} an animal deleted since · {number}" in page


def test_a_bulk_change_that_fails_half_way_leaves_nothing(
    staff: Client, three: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(staff, "become_sold", *three)
    before = statuses(), history_disagrees()
    monkeypatch.setattr(write, "HISTORY", None)
    with pytest.raises(AttributeError):  # when the history is written, after the animals
        confirm(staff, asked)
    made = Change.objects.get()
    assert (statuses(), history_disagrees()) == before
    assert (made.changed, made.state, progress(made)[0]) == (0, "running", 0)


def test_the_history_of_all_animals_is_written_by_the_database_in_one_statement(
    staff: Client, category: Category
) -> None:
    """Rows of history made one by one in Python took two of the three seconds of 10,000 animals."""
    asked = ask(staff, "become_sold", *PetFactory.create_batch(5, category=category))
    with CaptureQueriesContext(connection) as done:
        confirm(staff, asked)
    written = [query["sql"] for query in done if "INSERT INTO" in query["sql"] and "petchange" in query["sql"]]
    assert len(written) == 1
    assert "FROM pets_pet WHERE id" in written[0]
    assert history_disagrees() == []


def test_undo_restores_that_nobody_knows_the_day_of_a_sale(staff: Client, three: list[Pet]) -> None:
    """Of an animal that was sold when it came."""
    tom = three[2]
    confirm(staff, ask(staff, "become_pending", tom))
    confirm(staff, ask(staff, "become_sold", tom))
    sold, pending = Change.objects.all()
    assert Pet.objects.exclude(sold_on=None).exists()
    undo(staff, sold.pk)
    assert not Pet.objects.exclude(sold_on=None).exists()
    undo(staff, pending.pk)
    assert (statuses()["Tom"], Pet.objects.exclude(sold_on=None).count()) == ("sold", 0)


def test_a_form_sent_twice_leaves_one_record(staff: Client, three: list[Pet]) -> None:
    asked = ask(staff, "become_sold", three[0])
    confirm(staff, asked)
    made = Change.objects.get()
    again = confirm(staff, asked)
    assert again.redirect_chain == [(f"{BULK}{made.pk}/", 302)]
    assert told(again) == ["You have confirmed this already. To change the animals again, select them again."]
    back = staff.get(asked.redirect_chain[-1][0], follow=True)
    assert back.redirect_chain == again.redirect_chain
    assert made.changed == 1
    assert told(undo(staff, made.pk)) == ["Undid “marked Rex sold”."]
    assert statuses()["Rex"] == "available"


@pytest.mark.parametrize("action", ["become_sold", "become_category", "delete_selected"])
def test_animals_that_left_the_list_meanwhile_are_told_of(staff: Client, three: list[Pet], action: str) -> None:
    answer = ask(staff, action, three[1], query="?status__exact=available")
    assert answer.redirect_chain == [(f"{PETS}?status__exact=available", 302)]
    assert told(answer) == ["Nothing changed. The selected animals are not in this list any more."]


def test_everything_that_matches_up_to_a_bound(
    staff: Client, three: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(staff, "become_available", three[0], query="?status__exact=sold", across=True)
    assert [pet.name for pet, *_ in asked.context["named"]] == ["Tom"]
    monkeypatch.setitem(admin.MOST, "change", 2)
    exactly = ask(staff, "become_sold", *three[:2])
    assert [pet.name for pet, *_ in exactly.context["named"]] == ["Rex", "Max"]
    Selection.objects.latest("pk").delete()
    answer = ask(staff, "become_sold", three[0], across=True)
    assert told(answer) == ["At most 2 animals can be changed at once. Nothing changed. Filter or search for fewer."]
    assert Selection.objects.count() == 1
    assert not Change.objects.exists()


def test_after_it_the_list_is_filtered_as_before(staff: Client, three: list[Pet]) -> None:
    done = confirm(staff, ask(staff, "become_sold", three[1], query="?status__exact=pending"))
    assert done.redirect_chain == [(f"{PETS}?status__exact=pending", 302)]


@pytest.mark.slow
@pytest.mark.each_database
def test_thousands_at_once(staff: Client, category: Category) -> None:
    PetFactory.create_batch(20, category=category)
    Pet.objects.bulk_create(Pet(name=f"Rex {n}", category=category) for n in range(2_500))
    Pet.history.bulk_history_create(Pet.objects.filter(name__startswith="Rex"))
    asked = ask(staff, "become_sold", Pet.objects.latest("pk"), across=True)
    assert "100 of 2,520 shown" in asked.content.decode()
    confirm(staff, asked)
    work_off()
    assert set(Pet.objects.values_list("status", flat=True)) == {"sold"}
    assert history_disagrees() == []
    undo(staff, Change.objects.get().pk)
    work_off()
    assert set(Pet.objects.values_list("status", flat=True)) == {"available"}
    assert history_disagrees() == []


def test_an_unknown_status_is_not_found(staff: Client, three: list[Pet]) -> None:
    address = ask(staff, "become_sold", three[0]).redirect_chain[-1][0]
    assert staff.post(address.replace("sold", "broken")).status_code == 404


def test_a_selection_belongs_to_one_person_and_is_kept_for_a_day(staff: Client, three: list[Pet]) -> None:
    asked = ask(staff, "become_sold", three[0])
    other = member("other", "change_pet", "view_pet")
    gone = ["Nothing changed. This selection was too old. Select the animals again."]
    assert told(confirm(other, asked)) == gone
    Selection.objects.update(made_at=timezone.now() - timedelta(hours=25))
    ask(staff, "become_sold", three[1])
    assert told(confirm(staff, asked)) == gone
    assert (Selection.objects.count(), SelectedBlock.objects.count(), statuses()["Rex"]) == (1, 1, "available")


@pytest.mark.parametrize(
    ("permissions", "make", "look"), [((), 403, 403), (("view_pet",), 403, 200), (("change_pet",), 302, 200)]
)
def test_who_may(staff: Client, three: list[Pet], permissions: tuple[str, ...], make: int, look: int) -> None:
    confirm(staff, ask(staff, "become_sold", three[0]))
    made = Change.objects.get()
    client = member("other", *permissions)
    assert client.post(reverse("admin:pets_pet_become", args=[1, "sold"])).status_code == make
    assert client.get(BULK).status_code == look
    assert client.get(f"{BULK}{made.pk}/").status_code == look
    assert client.post(f"{BULK}{made.pk}/undo/").status_code == make
    assert statuses()["Rex"] == ("available" if make == 302 else "sold")


def test_hostile_names_are_only_text(staff: Client) -> None:
    pet = PetFactory(name="<script>alert(1)</script>", category__name="<b>Dogs</b>")
    cats = CategoryFactory(name='"><img src=x>')
    asked = ask(staff, "become_sold", pet)
    assert "<script>alert" not in asked.content.decode()
    pet.save()
    done = confirm(staff, asked)
    assert "<script>alert" not in done.content.decode()
    moved = confirm(staff, ask(staff, "become_category", pet), category=cats.pk)
    assert "<img src=x>" not in moved.content.decode()
    shown = staff.get(f"{BULK}{Change.objects.latest('pk').pk}/undo/").content.decode()
    assert "<b>Dogs" not in shown
    assert "<img src=x>" not in shown
