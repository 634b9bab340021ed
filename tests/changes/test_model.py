"""Random changes and undos by several people, by HTTP, against a model that decides field by field what goes back.

`PETSTORE_MODEL_STEPS=2000` makes it as long as that.
"""

import os
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from categories.models import Category
from changes import log
from changes.additions import gather
from changes.models import Change
from pets import stock
from pets.models import ImportRun, Pet, PetStatus
from petstore_site.apikeys.models import APIKey
from tests.conftest import ApiClient
from tests.files import test_admin_imports as imports
from tests.pets.office import PETS, ask, click, confirm, form_of, history_disagrees, member

STEPS = int(os.environ.get("PETSTORE_MODEL_STEPS", "40"))
SEED = int(os.environ.get("PETSTORE_MODEL_SEED", "1"))
FIELDS = ("name", "status", "category_id", "external_reference")
REFERENCES = [f"R{number:03}k" for number in range(1, 31)]
HEADER = "id,external_reference,name,category,status"
CATEGORIES = "/admin/categories/category/"

Values = dict[str, Any] | None
"""What an animal is; None if it is deleted, or was not there yet."""


@dataclass
class Made:
    """A change: of each animal what it was and became, which categories it added and deleted, and what it undid."""

    rows: dict[int, tuple[Values, Values]]
    added: dict[int, str]
    deleted: dict[int, str]
    key: str
    undid: "Made | None" = None
    undos: list["Made"] = field(default_factory=list)

    def last_undo(self, number: int) -> Values:
        """Return what the last undo that nobody undid made of the animal; an empty one if it deleted it."""
        found: Values = None
        undos = [undo for undo in self.undos if number in undo.rows]
        if undos and not any(number in redo.rows for redo in undos[-1].undos):
            found = undos[-1].rows[number][1] or {}
        return found


class Store:
    """What the catalogue must be."""

    def __init__(self) -> None:
        self.animals: dict[int, dict[str, Any]] = {}
        self.categories: dict[int, str] = {}
        self.made: list[Made] = []

    def note(self, undid: Made | None = None) -> Made | None:
        """Compare the catalogue with what it was, and keep what is otherwise as a change; None if no animal is."""
        before, categories = self.animals, self.categories
        self.animals = {row.pop("id"): row for row in Pet.objects.values("id", *FIELDS)}
        self.categories = dict(Category.objects.order_by().values_list("pk", "name"))
        numbers = sorted(n for n in {*before, *self.animals} if before.get(n) != self.animals.get(n))
        if not numbers:
            return None
        rows = {number: (before.get(number), self.animals.get(number)) for number in numbers}
        added, deleted = (
            {number: name for number, name in these.items() if number not in those}
            for these, those in ((self.categories, categories), (categories, self.categories))
        )
        made = Made(rows, added, deleted, log.changes(log.Filters(), count=1)[0][0].key, undid)
        self.made.append(made)
        if undid is not None:
            undid.undos.append(made)
        return made

    def undone(self, made: Made) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
        """Return what animals and categories there must be after an undo."""
        found = log.find(made.key)
        animals, categories = dict(self.animals), dict(self.categories)
        if found is None or found.is_undone:
            return animals, categories
        for number, (before, after) in made.rows.items():
            if before is None and made.last_undo(number) is None and animals.get(number) == after:
                del animals[number]
        back = {n: name for n, name in made.deleted.items() if n not in categories and name not in categories.values()}
        could_be = categories | back
        animals |= self._set_back(made, animals, could_be)
        for number, (before, after) in made.rows.items():
            if before is not None and after is None and self._comes_back(made, number, before, animals, could_be):
                animals[number] = before
        used = {animal["category_id"] for animal in animals.values()}
        if animals != self.animals:
            categories |= {number: name for number, name in back.items() if number in used}
            categories = {n: name for n, name in categories.items() if n in used or n not in made.added}
        return animals, categories

    def _set_back(self, made: Made, animals: Any, categories: Any) -> dict[int, dict[str, Any]]:
        """Return those of which fields go back. A reference does if nobody has it."""
        back = {}
        taken = {animal["external_reference"] for animal in animals.values()} - {None}
        for number, (before, after) in made.rows.items():
            now, last = animals.get(number), made.last_undo(number)
            if before and after and now:
                back[number] = {
                    name: before[name]
                    for name in FIELDS
                    if before[name] != after[name] == now[name] and not (last and last[name] == before[name])
                }
                if back[number].get("category_id") not in {None, *categories}:
                    del back[number]["category_id"]
                if back[number].get("external_reference") in taken:
                    del back[number]["external_reference"]
        return {number: animals[number] | values for number, values in back.items()}

    def _comes_back(self, made: Made, number: int, before: Any, animals: Any, categories: Any) -> bool:
        taken = {animal["external_reference"] for animal in animals.values()} - {None}
        is_free = before["category_id"] in categories and before["external_reference"] not in taken
        is_gone = number not in self.animals and made.last_undo(number) is None
        return is_free and is_gone and self._last_values(number) == before

    def _last_values(self, number: int) -> Values:
        """Return what a deleted animal was last."""
        return next(row[0] for made in reversed(self.made) if (row := made.rows.get(number)) and row[1] is None)


class People:
    """What they do."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clients = [member(name, superuser=True) for name in ("anna", "bert", "cleo")]
        self.count = 0
        for _ in range(3):
            self.add_category()

    @property
    def client(self) -> Client:
        return self.random.choice(self.clients)

    @property
    def category(self) -> Category:
        return self.random.choice(Category.objects.order_by("pk"))

    @property
    def reference(self) -> str:
        return self.random.choice(REFERENCES)

    def some(self, most: int) -> list[Pet]:
        found = list(Pet.objects.order_by("pk"))
        return self.random.sample(found, min(len(found), self.random.randint(1, most)))

    def add(self) -> None:
        values = {"name": f"Pet {self.random.random():.6f}", "status": "available"}
        values["external_reference"] = self.reference if self.random.random() < 0.7 else ""
        self.client.post(f"{PETS}add/", values | {"category": self.category.pk})

    def send(self) -> None:
        """Add animals through the API, which are one change then."""
        api, category = ApiClient(APIKey.objects.issue(name="Shop")[1]), self.category.pk
        for _ in range(self.random.randint(2, 4)):
            api.post("/v1/pets", {"name": f"Sent {self.random.randint(1, 9)}", "categoryId": category})
        gather()

    def edit(self) -> None:
        for pet in self.some(1):
            changed: dict[str, Any] = {"name": f"Pet {self.random.randint(1, 9)}"}
            if self.random.random() < 0.5:
                changed |= {"status": self.random.choice(PetStatus.values)}
            if self.random.random() < 0.5:
                changed |= {"category": self.category.pk}
            if self.random.random() < 0.3:
                changed |= {"external_reference": self.reference}
            self.client.post(f"{PETS}{pet.pk}/change/", form_of(pet, **changed))

    def click(self) -> None:
        for pet in self.some(1):
            click(self.client, pet, self.random.choice(PetStatus.values))

    def mark(self) -> None:
        client, pets = self.client, self.some(5)
        if pets:
            confirm(client, ask(client, f"become_{self.random.choice(PetStatus.values)}", *pets))

    def move(self) -> None:
        client, pets = self.client, self.some(5)
        if pets:
            confirm(client, ask(client, "become_category", *pets), category=self.category.pk)

    def delete(self) -> None:
        client, pets = self.client, self.some(3)
        if len(pets) > 1:
            confirm(client, ask(client, "delete_selected", *pets), post="yes")
        elif pets:
            client.post(f"{PETS}{pets[0].pk}/delete/", {"post": "yes"})

    def add_category(self) -> None:
        name = self.random.choice(["Dogs", "Cats", "Birds", "Geckos", "Snails"])
        self.client.post(f"{CATEGORIES}add/", {"name": name})

    def delete_category(self) -> None:
        self.client.post(f"{CATEGORIES}{self.category.pk}/delete/", {"post": "yes"})

    def merge(self) -> None:
        one, other = self.category, self.category
        sent = {"keep": other.pk, "merge": one.pk, "what": f"{one} into {other}"}
        self.client.post(f"{CATEGORIES}merge/", sent)

    def load(self) -> None:
        """Import new animals and changed ones, some of which get references that nobody has."""
        self.count += 1
        pets = self.some(6)
        free = sorted({*REFERENCES}.difference(Pet.objects.values_list("external_reference", flat=True)))
        self.random.shuffle(free)
        rows = [
            f"{pet.pk},{free.pop() if free and self.random.random() < 0.4 else ''},"
            f"Loaded {self.random.randint(1, 5)},,{self.random.choice(PetStatus.values)}"
            for pet in pets
        ]
        new = self.random.randint(0, 3)
        rows += [f",N{self.count}k{n},New {self.count},{self.category.name}," for n in range(new)]
        client = self.client
        if rows:
            imports.confirm(client, imports.send(client, "\n".join([HEADER, *rows])), accept_ids="on")
            assert ImportRun.objects.latest("pk").state in {"done", "already imported", "rejected"}


@pytest.mark.django_db(transaction=True)
def test_whatever_people_do_and_undo_the_catalogue_is_as_the_model_says() -> None:
    people, store = People(SEED), Store()
    store.note()
    acts = [
        *(people.add, people.edit, people.edit, people.click, people.mark, people.move, people.delete, people.send),
        *(people.load, people.load, people.add_category, people.delete_category, people.merge),
    ]
    for _ in range(6):
        people.add()
        store.note()
    undone = 0
    for step in range(STEPS):
        if store.made and people.random.random() < 0.45:
            made = people.random.choice(store.made[-12:])
            expected = store.undone(made)
            people.client.post(f"/admin/activity/{made.key}/undo/", follow=True)
            undone += store.note(made) is not None
            assert (step, made.key, store.animals, store.categories) == (step, made.key, *expected)
        else:
            if Category.objects.count() < 2:
                people.add_category()
                store.note()
            people.random.choice(acts)()
            store.note()
        if step % 20 == 0:
            assert (history_disagrees(), stock.differences()) == ([], [])
    assert (history_disagrees(), stock.differences()) == ([], [])
    assert undone > STEPS // 10
    assert not Change.objects.filter(state="running").exists()
