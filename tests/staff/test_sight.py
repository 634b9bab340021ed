"""No page shows what its reader has no permission to see, whichever single permission or level a role has."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from categories.models import Category
from pets.models import ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk.models import RequestRecord
from petstore_site.staff.tasks import ALL, TASKS
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.staff.conftest import member, read
from tests.staff.test_grants import permission
from tests.staff.test_roles import COMMITTING, forge
from tests.staff.walk import MADE, address, form, pages

ANIMALS = {"pets.view_pet", "pets.change_pet"}
KEYS = {"apikeys.view_apikey", "apikeys.change_apikey"}
STAFF = {"auth.view_user", "auth.change_user"}
ROLES = {"auth.view_group", "auth.change_group"}
SHOWN = {
    "zyzanimal": ANIMALS,
    "zyzreference": ANIMALS,
    "zyzcategory": ANIMALS
    | {"pets.add_pet", "categories.view_category", "categories.change_category", "pets.view_importrun"},
    "zyzfile": ANIMALS | {"pets.view_importrun"},
    "zyzkey": KEYS,
    "zyzcontact": KEYS,
    "zyzrequest": {"request_desk.view_requestrecord"},
    "zyzmember": STAFF,
    "zyzrole": ROLES | STAFF,
}
"""A word that is in each row of a kind → the permissions that show such rows, any of them."""


def _numbered(word: str, make: Callable[[str], Any]) -> Callable[[], Any]:
    numbers = iter(range(10_000))
    return lambda: make(f"{word} {next(numbers)}")


def _key(name: str) -> APIKey:
    return APIKeyFactory(name=name, contact="zyzcontact")


def _pet(reference: str) -> Pet:
    category = CategoryFactory(name=reference.replace("reference", "category of "))
    return PetFactory(name="zyzanimal", external_reference=reference, category=category)


def _request(request_id: str) -> RequestRecord:
    record = {"method": "GET", "route": "pet-list", "status": 400, "milliseconds": 1}
    return RequestRecord.objects.create(
        at=timezone.now(), request_id=request_id.replace(" ", "-"), key=_key("zyzkey"), **record
    )


def _member(name: str) -> User:
    return User.objects.create_user(name.replace(" ", "."), is_staff=True)


def _run(name: str) -> ImportRun:
    done = {"options": {}, "state": "done", "finished_at": timezone.now(), "sha256": "0" * 64}
    return ImportRun.objects.create(who="test", file_name=name, **done)


MAKING: dict[type[Any], Callable[[], Any]] = {
    Pet: _numbered("zyzreference", _pet),
    Category: _numbered("zyzcategory", lambda name: CategoryFactory(name=name)),
    APIKey: _numbered("zyzkey", _key),
    RequestRecord: _numbered("zyzrequest", _request),
    ImportRun: _numbered("zyzfile", _run),
    User: _numbered("zyzmember", _member),
    Group: _numbered("zyzrole", lambda name: Group.objects.create(name=name)),
}

LEVELS = [task.permissions(level) for task in TASKS.values() for level in task.levels if task.permissions(level)]
HELD = [*({each} for each in sorted(ALL)), *(level for level in LEVELS if len(level) > 1)]


def bodies(reader: User) -> Iterator[tuple[str, str]]:
    """Yield what each page shows and what it responds to its form."""
    signed_in = Client()
    signed_in.force_login(reader)
    for page in pages().keys() - COMMITTING:
        with transaction.atomic():
            client = Client(enforce_csrf_checks=True)
            client.cookies.load(signed_in.cookies)
            path = address(page, reader)
            yield page, read(client.get(path))
            yield f"the form of {page}", read(forge(client, path, form(page)))
            transaction.set_rollback(True)


@pytest.mark.django_db
@pytest.mark.parametrize("held", HELD, ids=lambda held: " ".join(sorted(held)))
def test_pages_show_nothing_beyond_what_their_reader_can_see(
    held: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for model, make in MAKING.items():
        monkeypatch.setitem(MADE, model, make)
        make()
    _pet("zyzreference of a deleted one").delete()
    reader = member("reader")
    reader.user_permissions.set([permission(each) for each in held])
    hidden = {word for word, permissions in SHOWN.items() if not permissions & held}
    shown = [(page, word) for page, body in bodies(reader) for word in hidden if word in body]
    assert shown == []
