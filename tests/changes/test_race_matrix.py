"""Each writer of animals against each other one, on connections of their own: nothing is lost silently.

Both meet at a lock, either before they read the animals or when the first has written them. Who loses is not decided
here, but that history and animals agree, that each row changes only what its writer wanted, and that a writer who did
not do all of it sees that.
"""

import re
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count
from django.test import Client

from categories.models import Category
from changes.bulk import Target, begin, delete, select
from changes.models import Change, State
from pets import stock
from pets.columns import NAMES
from pets.models import ImportRun, ImportState, Pet
from petstore_site.apikeys.models import APIKey
from tests.conftest import ApiClient
from tests.factories import CategoryFactory, PetFactory
from tests.files.test_admin_imports import confirm as confirm_import
from tests.files.test_admin_imports import send as send_file
from tests.pets.office import PETS, ask, click, confirm, form_of, history_disagrees, member, seen, text_of, work_off
from tests.racing import race

pytestmark = pytest.mark.django_db(transaction=True)


class Shop(NamedTuple):
    """Dogs of which one is in all writers' way, one more, one that was deleted; a bulk change of both that are there."""

    dogs: Category
    cats: Category
    rex: Pet
    max: Pet
    gone: Pet
    bulk: Change


class Writing(NamedTuple):
    """What a person or program is about to do, from pages that are open, and what it is to make of which animals."""

    do: Callable[[], Any]
    wants: dict[str, Any]
    """By the first name of the animal: by column its value, "-" to delete it, or "+" to add it."""
    who: str = ""
    """As the history says it, of a program."""


@pytest.fixture
def shop(db: None) -> Shop:
    setter = User.objects.create(username="setter", is_staff=True, is_superuser=True)
    dogs, cats = CategoryFactory(name="Dogs"), CategoryFactory(name="Cats")
    PetFactory(name="Mia", category=cats)
    references = {"Rex": "A-1", "Max": None, "Gone": "A-9"}
    rex, max_, gone = (
        PetFactory(name=name, category=dogs, status="pending", external_reference=reference)
        for name, reference in references.items()
    )
    delete({gone.pk: seen(gone)}, user=setter)
    both = select(Pet.objects.filter(pk__in=[rex.pk, max_.pk]), user=setter)
    change = begin(both, Target("status", "available", "available"))
    work_off()
    for pet in (rex, max_):
        pet.refresh_from_db()
        assert pet.status == "available"
    return Shop(dogs, cats, rex, max_, gone, change)


def user_of(client: Client) -> str:
    return str(client.session["_auth_user_id"])


def form(shop: Shop, client: Client) -> Writing:
    name = f"Rex of {user_of(client)}"
    sent = form_of(shop.rex, name=name, external_reference="A-9")
    wants = {"Rex": {"name": name, "external_reference": "A-9"}}
    return Writing(lambda: client.post(f"{PETS}{shop.rex.pk}/change/", sent, follow=True), wants)


def status(shop: Shop, client: Client) -> Writing:
    since = seen(shop.rex)
    return Writing(lambda: click(client, shop.rex, "sold", since=since), {"Rex": {"status": "sold"}})


def bulk(shop: Shop, client: Client) -> Writing:
    asked = ask(client, "become_sold", shop.max, shop.rex)
    return Writing(lambda: confirm(client, asked), {key: {"status": "sold"} for key in ("Rex", "Max")})


def merge(shop: Shop, client: Client) -> Writing:
    sent = {"keep": shop.cats.pk, "merge": shop.dogs.pk, "what": "Dogs into Cats"}
    return Writing(
        lambda: client.post("/admin/categories/category/merge/", sent, follow=True),
        {key: {"category_id": shop.cats.pk} for key in ("Rex", "Max", "Gone", "New", "Added")},
    )


def undo(shop: Shop, client: Client) -> Writing:
    page = f"/admin/activity/{shop.bulk.pk}/undo/"
    return Writing(lambda: client.post(page, follow=True), {key: {"status": "pending"} for key in ("Rex", "Max")})


def importing(shop: Shop, client: Client) -> Writing:
    file = f"{user_of(client)}.csv"
    shown = send_file(client, "external_reference,name,category,status\nA-1,Rex,Dogs,sold\nA-9,New,Dogs,\n", file)
    return Writing(lambda: confirm_import(client, shown), {"Rex": {"status": "sold"}, "New": "+"})


def deletion(shop: Shop, client: Client) -> Writing:
    asked = ask(client, "delete_selected", shop.max, shop.rex)
    return Writing(lambda: confirm(client, asked, post="yes"), {"Rex": "-", "Max": "-"})


def restore(shop: Shop, client: Client) -> Writing:
    page = f"/admin/activity/r{seen(shop.gone)}/undo/"
    return Writing(lambda: client.post(page, follow=True), {"Gone": "+"})


def api(shop: Shop, _client: Client) -> Writing:
    key, secret = APIKey.objects.issue(name="Test")
    body = {"name": "Added", "categoryId": shop.dogs.pk}
    return Writing(lambda: ApiClient(secret).post("/v1/pets", body), {"Added": "+"}, f"key {key.key_id}")


Writer = Callable[[Shop, Client], Writing]
WRITERS: tuple[Writer, ...] = (form, status, bulk, merge, undo, importing, deletion, restore, api)
REX = "SELECT 1 FROM pets_pet WHERE name = 'Rex' FOR UPDATE"
HISTORY = "LOCK TABLE pets_petchange IN SHARE MODE"
"""What has written animals waits for it before it writes their history."""


def pairs() -> list[tuple[Writer, Writer, str]]:
    """Return who meets whom, and at which lock: when the first has written the animals, or before both write one.

    On SQLite both wait for its one writer, and any of them is the first.
    """
    if connection.vendor == "sqlite":
        return [(first, second, "") for first, second in combinations_with_replacement(WRITERS, 2)]
    in_turn = [(first, second, HISTORY) for first, second in product(WRITERS, WRITERS)]
    return in_turn + [(first, second, REX) for first, second, _ in in_turn if first not in {restore, api}]


def named(value: Any) -> str:
    return str(getattr(value, "__name__", {HISTORY: "in turn", REX: "at once"}.get(value)))


WORDS = re.compile(
    "Not saved. |Nothing changed. |Nothing was deleted. |: changed since|: deleted since|was not changed. It was changed"
    "|was deleted after you opened|categoryId must be the id of an existing category"
)
"""What a page says whose change was not made, or not all of it."""


def half_done() -> list[Any]:
    """Return what runs, and the changes whose records and rows of history disagree."""
    found: list[Any] = [*ImportRun.objects.filter(state=ImportState.RUNNING)]
    for change in Change.objects.all():
        rows = Pet.history.filter(change=change).order_by()
        counted = dict(rows.values_list("history_type").annotate(Count("pk")))
        said = {"+": change.added, "~": change.changed, "-": change.deleted}
        if change.state == State.RUNNING or counted != {did: count for did, count in said.items() if count}:
            found.append((change.kind, change.state, said, counted))
    return found


def made(since: int) -> list[tuple[str, str, Any]]:
    """Return what each row of history changed since then: by whom, of which animal by its first name, and what."""
    found = []
    for number in {*Pet.history.filter(history_id__gt=since).values_list("id", flat=True)}:
        rows = [*Pet.history.filter(id=number).select_related("change__imported").order_by("history_id")]
        for before, row in zip([rows[0], *rows], rows, strict=False):
            if row.history_id > since:
                changed = {name: getattr(row, name) for name in NAMES if getattr(row, name) != getattr(before, name)}
                run = row.change and row.change.run
                who = run.who if run else row.actor
                found.append((who, rows[0].name, changed if row.history_type == "~" else row.history_type))
    return found


@pytest.mark.parametrize(("first", "second", "lock"), pairs(), ids=named)
def test_nothing_is_lost_without_a_word(shop: Shop, first: Writer, second: Writer, lock: str) -> None:
    clients = [member(name, superuser=True) for name in ("anna", "bert")]
    both = [writer(shop, client) for writer, client in zip((first, second), clients, strict=True)]
    start = Pet.history.latest("history_id").history_id
    answers = race(lock, *(each.do for each in both), may_end=True)
    work_off()
    assert (history_disagrees(), stock.differences(), half_done()) == ([], [], [])
    rows = made(start)
    assert len({row[:2] for row in rows}) == len(rows), "each changes an animal once"
    for writer, writing, answer, name, client in zip(
        (first, second), both, answers, ("anna", "bert"), clients, strict=True
    ):
        done = {animal: did for who, animal, did in rows if who == (writing.who or f"staff {name}")}
        for animal, did in done.items():
            wanted = writing.wants[animal]
            assert did == wanted or (isinstance(did, dict) and did.items() <= wanted.items()), (name, animal, did)
        is_done = not shop.dogs.pets.exists() if writer is merge else done.keys() == writing.wants.keys()
        said = text_of(answer.content.decode())
        assert answer.status_code < 500, said
        if "Waiting" in said or "Starting" in said:  # its page says so when it is done
            said = text_of(client.get(answer.request["PATH_INFO"], follow=True).content.decode())
        assert is_done or WORDS.search(said), said
