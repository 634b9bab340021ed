"""Walks along `next` against a model, while animals are added, removed and sold.

api: following `next` from page 1 yields every animal that is there throughout exactly once, newest first.
"""

from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from categories.models import Category
from pets.models import Pet, PetStatus
from tests.api.test_list_pets import next_path
from tests.conftest import ApiClient, error
from tests.factories import PetFactory
from tests.properties.examples import RolledBackMachine, run

STATUSES = st.sampled_from(PetStatus.values)
LIMITS = st.one_of(st.none(), st.integers(1, 4), st.just(100))
SOME = st.integers(0, 1000)
INVALID_CURSOR = error("invalid_cursor", "The cursor is damaged or belongs to another list.", 400)


@dataclass
class Walk:
    """A client on its way through a list; `due` are the animals that were in the list all the time."""

    limit: int
    status: str | None
    due: set[int]
    path: str | None
    seen: list[int] = field(default_factory=list)

    def has(self, status: str) -> bool:
        """Whether its list shows animals with this status."""
        return self.status in {None, status}


class Shop(RolledBackMachine):
    """Animals by id with their status, and any number of walks that are under way."""

    api: ApiClient
    category: Category

    def __init__(self) -> None:
        super().__init__()
        self.animals: dict[int, str] = {}
        self.walks: list[Walk] = []

    @rule(status=STATUSES, number=st.integers(1, 6))
    def add(self, status: str, number: int) -> None:
        for pet in PetFactory.create_batch(number, category=self.category, status=status):
            self.animals[pet.pk] = status

    @precondition(lambda self: self.animals)
    @rule(which=SOME)
    def remove(self, which: int) -> None:
        pk = self.pick(which)
        Pet.objects.filter(pk=pk).delete()
        del self.animals[pk]
        for walk in self.walks:
            walk.due.discard(pk)

    @precondition(lambda self: self.animals)
    @rule(which=SOME, status=STATUSES)
    def change(self, which: int, status: str) -> None:
        pk = self.pick(which)
        Pet.objects.filter(pk=pk).update(status=status)
        self.animals[pk] = status
        for walk in self.walks:
            if not walk.has(status):
                walk.due.discard(pk)

    @rule(limit=LIMITS, status=st.none() | STATUSES)
    def start(self, limit: int | None, status: str | None) -> None:
        given = {"limit": limit, "status": status}
        query = "&".join(f"{name}={value}" for name, value in given.items() if value is not None)
        due = {pk for pk, of in self.animals.items() if status in {None, of}}
        self.walks.append(Walk(limit or 20, status, due, f"/v1/pets?{query}"))

    @precondition(lambda self: self.walks)
    @rule(which=SOME)
    def turn_the_page(self, which: int) -> None:
        walk = self.walks[which % len(self.walks)]
        answer = self.api.get(walk.path or "")
        page = answer.json()
        assert answer.status_code == 200
        assert all(self.animals[pet["id"]] == pet["status"] and walk.has(pet["status"]) for pet in page)
        assert len(page) <= walk.limit
        walk.seen += [pet["id"] for pet in page]
        assert walk.seen == sorted(set(walk.seen), reverse=True)
        walk.path = next_path(answer)
        if walk.path is None:
            assert walk.due <= set(walk.seen)
            self.walks.remove(walk)
        else:
            assert len(page) == walk.limit

    @precondition(lambda self: self.walks)
    @rule(which=SOME, status=st.none() | STATUSES)
    def take_the_cursor_to_another_list(self, which: int, status: str | None) -> None:
        walk = self.walks[which % len(self.walks)]
        cursor = parse_qs(urlsplit(walk.path or "").query).get("cursor")
        if cursor and status != walk.status:
            other = f"/v1/pets?cursor={cursor[0]}" + (f"&status={status}" if status else "")
            assert self.api.get(other).json() == INVALID_CURSOR

    @invariant()
    def the_first_page_is_the_newest(self) -> None:
        newest = sorted(self.animals, reverse=True)[:3]
        assert [pet["id"] for pet in self.api.get("/v1/pets?limit=3").json()] == newest

    def teardown(self) -> None:
        try:
            while self.walks:
                self.turn_the_page(0)
        finally:
            super().teardown()

    def pick(self, which: int) -> int:
        pks: list[int] = sorted(self.animals)
        return pks[which % len(pks)]


def test_every_animal_that_stays_is_seen_exactly_once(api: ApiClient, category: Category) -> None:
    run(Shop, api=api, category=category)
