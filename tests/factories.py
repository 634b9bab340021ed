"""Makes rows for tests: `PetFactory(name="Rex")` stores an animal, and its category if none is given."""

from datetime import date
from typing import Any, Protocol, TypeVar, cast

from django.db import connection
from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from categories.models import Category
from pets.models import Pet, PetStatus
from petstore_site.apikeys.models import APIKey

Row = TypeVar("Row")


class Makes(Protocol[Row]):
    """What a factory can do, with the type of the rows, which factory-boy leaves open."""

    def __call__(self, **columns: Any) -> Row:
        """Return a stored row."""

    def build(self, **columns: Any) -> Row:
        """Return a row that is not stored."""

    def create_batch(self, size: int, **columns: Any) -> list[Row]:
        """Return several stored rows."""


def _numbered(word: str) -> Any:
    return Sequence(lambda number: f"{word} {number}")  # type: ignore[no-untyped-call]


class _CategoryFactory(DjangoModelFactory[Category]):
    class Meta:
        model = Category

    name = _numbered("Category")


class _PetFactory(DjangoModelFactory[Pet]):
    class Meta:
        model = Pet

    name = _numbered("Pet")
    category = SubFactory(_CategoryFactory)  # type: ignore[no-untyped-call]


class _APIKeyFactory(DjangoModelFactory[APIKey]):
    """Leaves the key's text in `secret`; every column can be set, so that a key can have a past."""

    class Meta:
        model = APIKey

    name = _numbered("Client")

    @classmethod
    def _create(cls, model_class: type[APIKey], *_args: Any, **columns: Any) -> APIKey:
        key = model_class(**columns)
        key.give_secret()
        key.save()
        return key


CategoryFactory = cast("Makes[Category]", _CategoryFactory)
PetFactory = cast("Makes[Pet]", _PetFactory)
APIKeyFactory = cast("Makes[APIKey]", _APIKeyFactory)


def add_many(category: Category, count: int, status: str = PetStatus.AVAILABLE) -> None:
    """Store animals without a history, named from "Pet 1" on, in a moment."""
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " INSERT INTO pets_pet (name, category_id, status, created_at, updated_at)"
            " SELECT 'Pet ' || i, %s, %s, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM n",
            [count, category.pk, status],
        )


def set_days(day: date | None, **of: Any) -> None:
    """Let the animals that are sold have become so on a day, also by the last row of their history."""
    for pet in Pet.objects.filter(status="sold", **of):
        Pet.objects.filter(pk=pet.pk).update(sold_on=day)
        Pet.history.filter(pk=Pet.history.filter(id=pet.pk).latest("history_id").pk).update(sold_on=day)
