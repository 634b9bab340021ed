"""Changing many animals at once: what is shown is what is done, and the last can be undone."""

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from categories.models import Category
from pets import writing
from pets.admin import bulk as admin
from pets.blocks import progress
from pets.models import BulkChange, Pet, Sale, SelectedBlock, Selection
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import PETS, ask, confirm, given_back, history_disagrees, member, text_of, told

BULK = "/admin/pets/bulkchange/"


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
    assert not BulkChange.objects.exists()


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
    assert not BulkChange.objects.exists()


def test_what_was_shown_is_done_and_recorded(staff: Client, three: list[Pet]) -> None:
    before = Pet.objects.get(name="Rex").updated_at
    done = confirm(staff, ask(staff, "become_sold", *three))
    made = BulkChange.objects.get()
    assert told(done) == [f'2 animals were changed: Status becomes sold. <a href="{BULK}{made.pk}/undo/">Undo</a>']
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
    made = BulkChange.objects.get()
    page = staff.get(f"{PETS}{three[0].pk}/history/").content.decode()
    assert f'<a href="{BULK}{made.pk}/change/">{made}</a>' in page


def test_moving_to_a_category_asks_which_first(staff: Client, three: list[Pet]) -> None:
    cats = CategoryFactory(name="Cats")
    chosen = ask(staff, "become_category", *three)
    assert "counts" not in chosen.context
    assert "3 animals selected. Nothing is changed yet." in " ".join(chosen.content.decode().split())
    done = confirm(staff, chosen, category=cats.pk)
    assert told(done)[0].startswith("3 animals were changed: Category becomes Cats.")
    assert set(Pet.objects.values_list("category__name", flat=True)) == {"Cats"}
    assert history_disagrees() == []


def test_moving_shows_from_where_to_where(staff: Client, three: list[Pet]) -> None:
    cats = CategoryFactory(name="Cats")
    address = ask(staff, "become_category", *three).redirect_chain[-1][0]
    asked = staff.get(address, {"category": cats.pk})
    assert asked.context["counts"] == [("Dogs", "Cats", 3)]
    assert asked.context["title"] == "Move 3 animals to Cats?"
    assert set(Pet.objects.values_list("category__name", flat=True)) == {"Dogs"}


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
    made = BulkChange.objects.get()
    assert made.left == [[rex.pk, "Rex II", "changed since"], [number, "an animal", "deleted since"]]
    assert told(done)[1] == (
        f"2 animals were left as before: Rex II ({rex.pk}): changed since, an animal ({number}): deleted since. "
        f'<a href="{BULK}{made.pk}/change/">All of them</a>'
    )
    assert statuses() == {"Rex II": "available", "Tom": "sold"}
    page = staff.get(f"{BULK}{made.pk}/change/").content.decode()
    assert f"Rex II ({rex.pk}): changed since" in page


def test_undo_gives_the_former_values_back_and_is_in_the_history(staff: Client, three: list[Pet]) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    made = BulkChange.objects.get()
    shown = staff.get(f"{BULK}{made.pk}/undo/")
    assert sorted(shown.context["counts"]) == [("sold", "available", 1), ("sold", "pending", 1)]
    assert statuses()["Rex"] == "sold"
    assert told(undo(staff, made.pk)) == [given_back("2 animals were")]
    assert statuses() == {"Rex": "available", "Max": "pending", "Tom": "sold"}
    undone = BulkChange.objects.get(undo_of=made)
    assert undone.what == f"Undo of {made}: Status becomes sold"
    assert set(Pet.history.filter(change=undone).values_list("name", "actor")) == {
        ("Rex", "staff keeper"),
        ("Max", "staff keeper"),
    }
    assert history_disagrees() == []


def test_undo_leaves_what_has_another_value_since_and_says_which(staff: Client, three: list[Pet]) -> None:
    rex, max_, tom = three
    tom.status = "available"
    tom.save()
    confirm(staff, ask(staff, "become_sold", *three))
    made = BulkChange.objects.get()
    for status in ("available", "pending"):
        rex.status = status
        rex.save()
    number = max_.pk
    max_.delete()
    tom.refresh_from_db()
    tom.name = "Tom II"  # another column than the bulk change's
    tom.save()
    assert "<td>Rex</td>" not in staff.get(f"{BULK}{made.pk}/undo/").content.decode()
    answer = undo(staff, made.pk)
    assert told(answer)[0] == given_back("1 animal was")
    assert f"Rex ({rex.pk}): changed since, Max ({number}): deleted since" in told(answer)[1]
    assert statuses() == {"Rex": "pending", "Tom II": "available"}
    assert history_disagrees() == []


def test_what_was_left_can_be_undone_later(staff: Client, three: list[Pet]) -> None:
    rex, max_, _ = three
    confirm(staff, ask(staff, "become_sold", rex, max_))
    made = BulkChange.objects.get()
    rex.status = "pending"
    rex.save()
    undo(staff, made.pk)
    assert statuses() == {"Rex": "pending", "Max": "pending", "Tom": "sold"}
    rex.status = "sold"
    rex.save()
    assert told(undo(staff, made.pk)) == [given_back("1 animal was")]
    assert statuses() == {"Rex": "available", "Max": "pending", "Tom": "sold"}
    assert told(undo(staff, made.pk)) == [f"Nothing changed. Bulk change {made.pk} is already undone."]


def test_undo_leaves_what_came_from_a_category_that_is_gone(staff: Client, category: Category) -> None:
    pet, cats = PetFactory(name="Rex", category=category), CategoryFactory(name="Cats")
    confirm(staff, ask(staff, "become_category", pet), category=cats.pk)
    category.delete()
    answer = undo(staff, BulkChange.objects.get().pk)
    assert f"Rex ({pet.pk}): its former category was deleted" in told(answer)[0]
    assert Pet.objects.get().category == cats


def test_bulk_changes_of_the_same_animals_are_undone_in_any_order_that_fits(staff: Client, three: list[Pet]) -> None:
    cats = CategoryFactory(name="Cats")
    confirm(staff, ask(staff, "become_pending", three[0]))
    confirm(staff, ask(staff, "become_sold", three[0]))
    confirm(staff, ask(staff, "become_category", three[0]), category=cats.pk)
    moved, sold, pending = BulkChange.objects.all()
    [left] = told(undo(staff, pending.pk))
    assert left.startswith("1 animal was left as before: ")
    for bulk, status in ((sold, "pending"), (pending, "available")):
        assert told(undo(staff, bulk.pk)) == [given_back("1 animal was")]
        assert statuses()["Rex"] == status
    undo(staff, moved.pk)
    three[0].refresh_from_db()
    assert (three[0].status, three[0].category.name) == ("available", "Dogs")


def test_undoing_can_be_undone(staff: Client, three: list[Pet]) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    made = BulkChange.objects.get()
    before = {"Rex": "available", "Max": "pending", "Tom": "sold"}
    after = {"Rex": "sold", "Max": "sold", "Tom": "sold"}
    bulk = made
    for became in (before, after, before):
        assert told(undo(staff, bulk.pk)) == [given_back("2 animals were")]
        assert statuses() == became
        bulk = BulkChange.objects.get(undo_of=bulk)
    assert told(undo(staff, made.pk)) == [f"Nothing changed. Bulk change {made.pk} is already undone."]
    other = member("other", "change_pet", "view_pet")
    rejected = f"Bulk change {bulk.pk} was made by someone else (keeper). Only they can undo it."
    assert told(undo(other, bulk.pk)) == [f"Nothing changed. {rejected}"]
    assert statuses() == before
    assert history_disagrees() == []


def test_the_list_says_who_did_what_and_offers_undo_to_them(staff: Client, three: list[Pet]) -> None:
    cats = CategoryFactory(name="Cats")
    confirm(staff, ask(staff, "become_category", three[0]), category=cats.pk)
    confirm(staff, ask(staff, "become_sold", *three))
    sold, moved = BulkChange.objects.all()
    undo(staff, moved.pk)
    undone = BulkChange.objects.get(undo_of=moved)
    BulkChange.objects.filter(pk=sold.pk).update(state="stopped", outcome="Stopped by other.")
    common: Any = {"user": sold.user, "who": sold.who, "what": sold.what, "column": "status"}
    nothing = BulkChange.objects.create(**common, changed=0)
    running = BulkChange.objects.create(**common, changed=1, state="running")
    expected = [
        [f"KE Marked 1 animal keeper · {running}", "Sold", "Running", ""],
        [f"KE Marked 0 animals keeper · {nothing}", "Sold", "Done", ""],
        [f"KE Undid {moved} keeper · {undone}", "1 animal as before", "Done", f"Undo {undone}"],
        [f"KE Marked 2 animals keeper · {sold}", "Sold", "Stopped", f"Undo {sold}"],
        [f"KE Moved 1 animal keeper · {moved}", "Cats", "Undone", ""],
    ]
    assert listed(staff) == expected
    for other in (member("other", "change_pet", "view_pet"), member("viewer", "view_pet")):
        assert listed(other) == [[*cells[:3], ""] for cells in expected]
    answer = staff.post(f"{BULK}{undone.pk}/undo/", {"back": BULK}, follow=True)
    assert answer.redirect_chain == [(BULK, 302)]
    assert told(answer) == [given_back("1 animal was")]
    redone, states = BulkChange.objects.get(undo_of=undone), [row[2:] for row in listed(staff)]
    assert states[0] == ["Done", f"Undo {redone}"]
    assert (states[3], states[5]) == (["Undone", ""], ["Done", f"Undo {moved}"])


def listed(client: Client) -> list[list[str]]:
    """Return the cells of each row of the list, without the times."""
    page = client.get(BULK).content.decode()
    rows = re.findall("(?s)<tr>(<th scope=.row.*?)</tr>", page)
    cells = [[text_of(cell) for cell in re.findall("(?s)<t[hd].*?</t[hd]>", row)] for row in rows]
    return [[*row[:3], *row[4:]] for row in cells]


def test_a_list_without_search_and_filters_has_no_empty_bar(staff: Client, three: list[Pet]) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    pages = (BULK, "/admin/categories/category/")
    assert ['<div class="toolbar">' in staff.get(page).content.decode() for page in pages] == [False, True]


def test_the_page_of_one_offers_undo_to_who_made_it(staff: Client, three: list[Pet]) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    made = BulkChange.objects.get()
    link = f'href="{BULK}{made.pk}/undo/">Undo</a>'
    pages = [each.get(f"{BULK}{made.pk}/change/") for each in (staff, member("other", "change_pet", "view_pet"))]
    assert [link in page.content.decode() for page in pages] == [True, False]


def test_a_bulk_change_that_fails_half_way_leaves_nothing(
    staff: Client, three: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(staff, "become_sold", *three)
    before = statuses(), history_disagrees()
    monkeypatch.setattr(writing, "HISTORY", None)
    with pytest.raises(AttributeError):  # when the history is written, after the animals
        confirm(staff, asked)
    made = BulkChange.objects.get()
    assert (statuses(), history_disagrees()) == before
    assert (made.changed, made.state, progress(made).done) == (0, "running", 0)


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


@pytest.mark.parametrize(("day", "sales"), [(date(2026, 1, 5), [date(2026, 1, 5)]), (None, [])])
def test_undo_restores_the_day_of_a_sale(staff: Client, three: list[Pet], day: date | None, sales: list[date]) -> None:
    """Or that nobody knows it, of an animal that was sold when it came."""
    tom = three[2]
    if day:
        Sale.objects.create(pet=tom, day=day)
    confirm(staff, ask(staff, "become_pending", tom))
    confirm(staff, ask(staff, "become_sold", tom))
    sold, pending = BulkChange.objects.all()
    assert Sale.objects.get().day != day
    undo(staff, sold.pk)
    assert not Sale.objects.exists()
    undo(staff, pending.pk)
    assert list(Sale.objects.values_list("day", flat=True)) == sales


def test_a_form_sent_twice_leaves_one_record(staff: Client, three: list[Pet]) -> None:
    asked = ask(staff, "become_sold", three[0])
    confirm(staff, asked)
    made = BulkChange.objects.get()
    again = confirm(staff, asked)
    assert again.redirect_chain == [(f"{BULK}{made.pk}/change/", 302)]
    assert told(again) == ["You have confirmed this already. To change the animals again, select them again."]
    back = staff.get(asked.redirect_chain[-1][0], follow=True)
    assert back.redirect_chain == again.redirect_chain
    assert made.changed == 1
    assert told(undo(staff, made.pk)) == [given_back("1 animal was")]
    assert statuses()["Rex"] == "available"


@pytest.mark.parametrize("action", ["become_sold", "become_category", "delete_selected"])
def test_animals_that_left_the_list_meanwhile_are_told_of(staff: Client, three: list[Pet], action: str) -> None:
    answer = ask(staff, action, three[1], query="?status__exact=available")
    assert answer.redirect_chain == [(f"{PETS}?status__exact=available", 302)]
    assert told(answer) == ["Nothing changed. The selected animals are not in this list any more."]


def test_only_who_made_it_can_undo_it(staff: Client, three: list[Pet]) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    made = BulkChange.objects.get()
    other = member("other", "change_pet", "view_pet")
    rejected = f"Nothing changed. Bulk change {made.pk} was made by someone else (keeper). Only they can undo it."
    assert told(undo(other, made.pk)) == [rejected]
    assert told(other.get(f"{BULK}{made.pk}/undo/", follow=True)) == [rejected]
    assert statuses()["Rex"] == "sold"


@pytest.mark.parametrize("where", ["", "{}/change/", "{}/undo/"])
def test_who_made_it_is_called_by_name_alone(staff: Client, three: list[Pet], where: str) -> None:
    confirm(staff, ask(staff, "become_sold", *three))
    shown = staff.get(BULK + where.format(BulkChange.objects.get().pk)).content.decode()
    content = shown[shown.index('id="content"') :]
    assert "keeper" in content
    assert "staff keeper" not in content


def test_everything_that_matches_up_to_a_bound(
    staff: Client, three: list[Pet], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(staff, "become_available", three[0], query="?status__exact=sold", across=True)
    assert [pet.name for pet, *_ in asked.context["named"]] == ["Tom"]
    monkeypatch.setattr(admin, "AT_MOST", 2)
    exactly = ask(staff, "become_sold", *three[:2])
    assert [pet.name for pet, *_ in exactly.context["named"]] == ["Rex", "Max"]
    Selection.objects.latest("pk").delete()
    answer = ask(staff, "become_sold", three[0], across=True)
    assert told(answer) == ["At most 2 animals can be changed at once. Nothing changed. Filter or search for fewer."]
    assert Selection.objects.count() == 1
    assert not BulkChange.objects.exists()


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
    assert set(Pet.objects.values_list("status", flat=True)) == {"sold"}
    assert history_disagrees() == []
    undo(staff, BulkChange.objects.get().pk)
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
    ("permissions", "make", "look"),
    [
        ((), 403, 403),
        (("view_pet",), 403, 200),
        (("change_pet",), 302, 200),
        (("add_bulkchange", "change_bulkchange"), 403, 403),
    ],
)
def test_who_may(staff: Client, three: list[Pet], permissions: tuple[str, ...], make: int, look: int) -> None:
    confirm(staff, ask(staff, "become_sold", three[0]))
    made = BulkChange.objects.get()
    client = member("other", *permissions)
    assert client.post(reverse("admin:pets_bulkchange_make", args=[1, "sold"])).status_code == make
    for act in ("undo", "stop", "continue"):
        assert client.post(f"{BULK}{made.pk}/{act}/").status_code == make
    assert client.get(BULK).status_code == look
    assert client.get(f"{BULK}{made.pk}/change/").status_code == look
    for path in ("add/", f"{made.pk}/delete/"):
        assert client.get(f"{BULK}{path}").status_code == 403
    assert client.post(f"{BULK}{made.pk}/change/", {"what": "x"}).status_code == 403
    assert statuses() == {"Rex": "sold", "Max": "pending", "Tom": "sold"}


def test_what_does_not_exist_is_not_found(staff: Client) -> None:
    assert staff.get(f"{BULK}999/undo/").status_code == 404
    assert staff.post(f"{BULK}999/stop/").status_code == 404


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
    shown = staff.get(f"{BULK}{BulkChange.objects.latest('pk').pk}/undo/").content.decode()
    assert "<b>Dogs" not in shown
    assert "<img src=x>" not in shown
