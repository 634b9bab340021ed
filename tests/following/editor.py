"""A process that changes animals as the back office does, for as long as each line of its input says.

It edits, deletes and restores, rolls back, changes in bulk, merges categories, undoes these, and lets two transactions
that change the same animal end in the other order.
"""

import json
import os
import random
import sys
import time
from collections import Counter
from contextlib import closing

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
    django.setup()

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, OuterRef

from categories.models import Category
from changes import bulk, merging
from changes import undo as undoing
from changes.bulk import Target
from changes.models import Change, UnrecordedChange
from history.acting import identify
from history.edits import NotUndoneError
from pets.models import Pet, PetStatus


class Editor:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.user = User.objects.get_or_create(username=f"editor {seed}", is_superuser=True)[0]
        identify(f"staff editor {seed}")

    def pet(self) -> Pet:
        newest = Pet.objects.latest("pk").pk
        return Pet.objects.filter(pk__lte=self.random.randint(1, newest)).latest("pk")

    def edit(self, pet: Pet | None = None) -> None:
        """Edit an animal in a transaction that takes a while."""
        with transaction.atomic():
            edited = Pet.objects.select_for_update().get(pk=(pet or self.pet()).pk)
            edited.name = f"Edited {self.random.random()}"
            edited.status = self.random.choice(PetStatus.values)
            edited.category_id = self.random.randint(1, 3)
            edited.save()
            time.sleep(self.random.random() * 0.05)

    def roll_back(self) -> None:
        """Change an animal and roll back, the whole transaction or a part of it."""
        with transaction.atomic():
            self.edit()
            with transaction.atomic():
                self.pet().delete()
                transaction.set_rollback(True)
            self.edit()
            transaction.set_rollback(self.random.random() < 0.5)

    def cross(self) -> None:
        """Begin a transaction, let a second one change an animal and end, then change the same one in the first."""
        pet = self.pet()
        if connection.vendor != "postgresql":
            return self.edit(pet)
        with closing(connection.copy()) as second, transaction.atomic():
            connection.cursor().execute("SELECT pg_current_xact_id()")
            with second.cursor() as cursor:
                name = f"Crossed {self.random.random()}"
                cursor.execute("UPDATE pets_pet SET name = %s WHERE id = %s", [name, pet.pk])
                cursor.execute(
                    "INSERT INTO pets_petchange (id, name, category_id, status, external_reference, history_type,"
                    " history_date, actor, request_id) SELECT id, name, category_id, status, external_reference, '~',"
                    " now(), '', '' FROM pets_pet WHERE id = %s",
                    [pet.pk],
                )
            self.edit(pet)
        return None

    def delete(self) -> None:
        self.pet().delete()

    def restore(self) -> None:
        later = Pet.history.filter(id=OuterRef("id"), history_id__gt=OuterRef("history_id"))
        gone = Pet.history.filter(~Exists(later), history_type="-").order_by("-history_id")[:5]
        if gone:
            undoing.undo(UnrecordedChange.of_row(self.random.choice(gone)), user=self.user)

    def change_in_bulk(self) -> None:
        """Change animals in blocks, and undo that at times."""
        first = self.pet().pk
        animals = Pet.objects.filter(pk__gte=first, pk__lt=first + 40)
        status = self.random.choice(PetStatus.values)
        change = bulk.begin(bulk.select(animals, user=self.user), Target("status", status, status))
        while undoing.advance(change.pk):
            pass
        if self.random.random() < 0.5:
            change.refresh_from_db()
            undo = undoing.begin(change, user=self.user)
            while undoing.advance(undo.pk):
                pass

    def merge(self) -> None:
        """Merge a category into another one, while others add animals to both, and undo that."""
        for number, name in enumerate(("Dogs", "Cats", "Birds"), 1):  # an undo leaves what was merged again since
            Category.objects.get_or_create(pk=number, defaults={"name": name})
        one, other = self.random.sample([*Category.objects.order_by("pk")], 2)
        merge = merging.begin(one, other, user=self.user)
        while undoing.advance(merge.pk):
            pass
        undo = undoing.begin(Change.objects.get(pk=merge.pk), user=self.user)
        while undoing.advance(undo.pk):
            pass

    def work(self, seconds: float) -> Counter[str]:
        """Work for so long, and return what was done."""
        end, done = time.monotonic() + seconds, Counter[str]()
        ways = [self.edit, self.edit, self.roll_back, self.cross, self.delete, self.restore]
        while time.monotonic() < end:
            way = self.random.choice([*ways, self.change_in_bulk, self.merge])
            try:
                way()
                done[way.__name__] += 1
            except (DatabaseError, Pet.DoesNotExist, NotUndoneError, merging.NotMergedError):
                done["not done"] += 1
            time.sleep(self.random.random() * 0.05)
        return done


def main() -> None:
    """Work as often as the input says."""
    bulk.BLOCK = merging.BLOCK = 10  # type: ignore[attr-defined]  # changes.plan has it
    editor = Editor(int(sys.argv[1]))
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(editor.work(float(line)))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
