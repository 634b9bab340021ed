"""Random changes and undos by several people, by HTTP, against a model that decides field by field what goes back.

`PETSTORE_MODEL_STEPS=2000` makes it as long as that.
"""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from categories.models import Category
from changes.models import Change
from pets import activity
from pets.deletion import delete
from pets.importing.options import Options
from pets.importing.progress import Progress
from pets.importing.run import import_file
from pets.models import Pet, PetStatus
from tests.pets.office import PETS, ask, click, confirm, form_of, history_disagrees, member, seen

STEPS = int(os.environ.get("PETSTORE_MODEL_STEPS", "40"))
FIELDS = ("name", "status", "category_id")
QUIET = Progress(None, shown=False)

Values = dict[str, Any] | None
"""What an animal is; None if it is deleted, or was not there yet."""


@dataclass
class Made:
    """A change: of each animal what it was and became, and which change it undid."""

    rows: dict[int, tuple[Values, Values]]
    undid: "Made | None" = None
    key: str = ""
    undos: list["Made"] = field(default_factory=list)


class Store:
    """What the catalogue must be."""

    def __init__(self) -> None:
        self.animals: dict[int, Values] = {}
        self.made: list[Made] = []

    def note(self, undid: Made | None = None) -> Made | None:
        """Compare the catalogue with what it was, and keep what is otherwise as a change; None if nothing is."""
        now: dict[int, Values] = {row.pop("id"): row for row in Pet.objects.values("id", *FIELDS)}
        numbers = sorted({*now, *self.animals})
        rows = {n: (self.animals.get(n), now.get(n)) for n in numbers if self.animals.get(n) != now.get(n)}
        self.animals = {number: now.get(number) for number in numbers}
        if not rows:
            return None
        made = Made(rows, undid, activity.changes(activity.Filters(), count=1).changes[0].key)
        self.made.append(made)
        if undid is not None:
            undid.undos.append(made)
        return made

    def undone(self, made: Made) -> dict[int, Values]:
        """Return what the animals of a change must be after it is undone; as they are if all of it is undone already."""
        found = activity.find(made.key)
        if found is None or found.is_undone:
            return {number: self.animals.get(number) for number in made.rows}
        return {number: self._after(made, number, *row) for number, row in made.rows.items()}

    def _after(self, made: Made, number: int, before: Values, after: Values) -> Values:
        now = self.animals.get(number)
        last = self._last_undo(made, number)
        if before is None or after is None:  # it was added, or deleted
            is_done = last is not None or now != after or (after is None and self._last_values(number) != before)
            return now if is_done else before
        if now is None:
            return None
        return {name: self._field(name, before, after, now, last) for name in FIELDS}

    @staticmethod
    def _field(name: str, before: Any, after: Any, now: Any, last: Values) -> Any:
        is_done = last is not None and last[name] == before[name]
        return before[name] if before[name] != after[name] == now[name] and not is_done else now[name]

    def _last_undo(self, made: Made, number: int) -> Values:
        """Return what the last undo of the change that nobody undid made of the animal; an empty one if it deleted it."""
        found: Values = None
        undos = [undo for undo in made.undos if number in undo.rows]
        if undos and not any(number in redo.rows for redo in undos[-1].undos):
            found = undos[-1].rows[number][1] or {}
        return found

    def _last_values(self, number: int) -> Values:
        """Return what a deleted animal was last."""
        return next(row[0] for made in reversed(self.made) if (row := made.rows.get(number)) and row[1] is None)


class People:
    """What they do."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.clients = [member(name, superuser=True) for name in ("anna", "bert", "cleo")]
        self.categories = [Category.objects.create(name=name) for name in ("Dogs", "Cats", "Birds")]
        self.files = 0

    @property
    def client(self) -> Client:
        return self.random.choice(self.clients)

    def some(self, most: int) -> list[Pet]:
        found = list(Pet.objects.order_by("pk"))
        return self.random.sample(found, min(len(found), self.random.randint(1, most)))

    def add(self) -> None:
        values = {"name": f"Pet {self.random.random():.6f}", "status": "available"}
        self.client.post(f"{PETS}add/", values | {"category": self.random.choice(self.categories).pk})

    def edit(self) -> None:
        for pet in self.some(1):
            changed: dict[str, Any] = {"name": f"Pet {self.random.randint(1, 9)}"}
            if self.random.random() < 0.5:
                changed |= {"status": self.random.choice(PetStatus.values)}
            if self.random.random() < 0.5:
                changed |= {"category": self.random.choice(self.categories).pk}
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
            confirm(client, ask(client, "become_category", *pets), category=self.random.choice(self.categories).pk)

    def delete(self) -> None:
        if pets := self.some(3):
            delete({pet.pk: seen(pet) for pet in pets}, user=User.objects.get(username="anna"))

    def load(self) -> None:
        self.files += 1
        rows = [
            f"{pet.pk},Loaded {self.random.randint(1, 5)},,{self.random.choice(PetStatus.values)}"
            for pet in self.some(4)
        ]
        rows += [f",New {self.files},{self.random.choice(self.categories).name},"] * self.random.randint(0, 3)
        file = self.folder / f"{self.files}.csv"
        file.write_text("\n".join(["id,name,category,status", *rows]))
        import_file(str(file), Options(again=True), QUIET)


@pytest.mark.django_db(transaction=True)
def test_whatever_people_do_and_undo_the_catalogue_is_as_the_model_says(tmp_path: Path) -> None:
    people, store = People(int(os.environ.get("PETSTORE_MODEL_SEED", "1")), tmp_path), Store()
    acts = [people.add, people.edit, people.edit, people.click, people.mark, people.move, people.delete, people.load]
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
            now = {number: store.animals.get(number) for number in expected}
            assert (step, made.key, now) == (step, made.key, expected)
        else:
            people.random.choice(acts)()
            store.note()
        if step % 20 == 0:
            assert history_disagrees() == []
    assert history_disagrees() == []
    assert undone > STEPS // 10
    assert not Change.objects.filter(state="running").exists()
