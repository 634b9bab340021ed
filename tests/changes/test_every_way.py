"""Every way of changing an animal leaves a row of history that says who, and agrees with the animal."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import call_command
from django.test import Client

from categories.models import Category
from changes.models import Change
from history.acting import account, acting, begin_command
from pets.models import ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from tests.api.test_changes import Copy, catalogue, settle
from tests.conftest import ApiClient
from tests.factories import PetFactory
from tests.files.conftest import command as run_command
from tests.pets.office import PETS, ask, click, confirm, form_of, history_disagrees
from tests.server import until

pytestmark = pytest.mark.django_db(transaction=True)


class Shop(NamedTuple):
    """What a way of changing an animal needs; `rex` is there, unless the way wants an empty shop."""

    staff: Client
    api: ApiClient
    dogs: Category
    rex: Pet
    folder: Path


def import_file(shop: Shop, text: str) -> None:
    file = shop.folder / "animals.csv"
    file.write_text(f"external_reference,name,category,status\n{text}\n")
    assert run_command("import_pets", str(file), "-v0").status == 0


def bulk(shop: Shop) -> None:
    confirm(shop.staff, ask(shop.staff, "become_sold", shop.rex))


def undo_of_bulk(shop: Shop) -> None:
    bulk(shop)
    shop.staff.post(f"/admin/activity/{Change.objects.get().pk}/undo/")


def undo_of_creation(shop: Shop) -> None:
    import_file(shop, "B-1,Mia,Dogs,sold")
    run_command("undo_import", str(ImportRun.objects.get().pk), "-v0")


def undo_of_update(shop: Shop) -> None:
    import_file(shop, "A-1,Rexy,Dogs,sold")
    run_command("undo_import", str(ImportRun.objects.get().pk), "-v0")


def delete(shop: Shop) -> None:
    shop.staff.post(f"{PETS}{shop.rex.pk}/delete/", {"post": "yes"})


def restore(shop: Shop) -> None:
    delete(shop)
    shop.staff.post(f"/admin/activity/r{Pet.history.filter(id=shop.rex.pk).latest('history_id').pk}/undo/")


def demonstration(shop: Shop) -> None:
    delete(shop)
    call_command("load_demo_data", "--json")


def new(shop: Shop) -> dict[str, object]:
    return {"name": "Mia", "category": shop.dogs.pk, "status": "sold", "external_reference": ""}


KEEPER = "staff keeper"
WAYS: dict[str, tuple[Callable[[Shop], object], str, str]] = {
    "API: add": (
        lambda shop: shop.api.post("/v1/pets", {"name": "Mia", "categoryId": shop.dogs.pk}), "+", "key {key}",
    ),
    "page: add": (lambda shop: shop.staff.post(f"{PETS}add/", new(shop)), "+", KEEPER),
    "page: change": (
        lambda shop: shop.staff.post(f"{PETS}{shop.rex.pk}/change/", form_of(shop.rex, name="Rexy")), "~", KEEPER,
    ),
    "page: delete": (delete, "-", KEEPER),
    "list: status": (lambda shop: click(shop.staff, shop.rex, "sold"), "~", KEEPER),
    "list: delete": (
        lambda shop: confirm(shop.staff, ask(shop.staff, "delete_selected", shop.rex), post="yes"), "-", KEEPER,
    ),
    "bulk change": (bulk, "~", KEEPER),
    "undo of a bulk change": (undo_of_bulk, "~", KEEPER),
    "restoring": (restore, "+", KEEPER),
    "import: add": (lambda shop: import_file(shop, "B-1,Mia,Dogs,sold"), "+", "import {run}"),
    "import: change": (lambda shop: import_file(shop, "A-1,Rexy,Dogs,sold"), "~", "import {run}"),
    "undo of an import: delete": (undo_of_creation, "-", account()),
    "undo of an import: former values": (undo_of_update, "~", account()),
    "demonstration": (demonstration, "+", "command load_demo_data"),
}  # fmt: skip


@pytest.fixture
def shop(staff: Client, api: ApiClient, category: Category, tmp_path: Path) -> Shop:
    rex = PetFactory(name="Rex", category=category, status="available", external_reference="A-1")
    return Shop(staff, api, category, rex, tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_leaves_a_row_that_says_who(shop: Shop, way: str) -> None:
    change, kind, actor = WAYS[way]
    before = Pet.history.latest("history_id").history_id
    copy = Copy(shop.api)
    change(shop)
    latest = Pet.history.filter(history_id__gt=before).latest("history_id")
    run, key = ImportRun.objects.first(), APIKey.objects.get()
    assert (latest.history_type, latest.actor) == (kind, actor.format(run=run and run.pk, key=key.key_id))
    assert history_disagrees() == []
    settle()
    until(lambda: copy.follow() == catalogue())


SILENT = re.compile(
    r"\.update\(\*|\.update\([a-z_]+=|bulk_create\(|bulk_update\(|_raw_delete|(?:INSERT INTO|UPDATE|DELETE FROM) \"?pets_pet\b"
)
"""What writes animals, or anything, without asking django-simple-history."""

KNOWN = {
    "changes/additions.py": 1,  # rows of history that are there
    "changes/bulk.py": 1,  # what is selected
    "changes/attempts.py": 2,  # how often a process was killed
    "files/lock.py": 1,  # the record of an import
    "files/run.py": 1,  # the record of an import
    "files/staging.py": 2,  # above as "import"
    "files/queue.py": 1,  # the file that is being imported
    "changes/undo.py": 1,  # the first day of a category that comes back
    "changes/write.py": 4,  # above as what deletes, changes and undoes many; the day of a sale before the history
    "pets/triggers.py": 1,  # the day of a sale, before the history
    "pets/statements.py": 1,  # above as an addition by the API
}
ELSEWHERE = ("petstore_site/apikeys/", "petstore_site/back_office/request_desk/", "idempotency/")
"""Write no animals: import-linter keeps them from the catalogue."""


def test_nothing_else_writes_animals_past_their_history() -> None:
    """A new place must be added to the ways above, then here."""
    root = Path(__file__).parents[2]
    found = {}
    for package in (
        "files",
        "pets",
        "categories",
        "idempotency",
        "rest",
        "database",
        "changes",
        "history",
        "petstore_site",
    ):
        for file in sorted((root / package).rglob("*.py")):
            name = file.relative_to(root).as_posix()
            if "/migrations/" not in name and not name.startswith(ELSEWHERE):
                found[name] = len(SILENT.findall(file.read_text(encoding="utf-8")))
    assert {name: count for name, count in found.items() if count} == KNOWN


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["manage.py", "shell", "-c", "secret"], "command shell by "),
        (["/srv/manage.py", "import_pets"], "command import_pets by "),
        (["/usr/bin/django-admin", "shell"], "command shell by "),
        (["manage.py"], ""),
        (["gunicorn", "--config"], ""),
        ([], ""),
    ],
)
def test_a_command_is_named_with_the_account_that_ran_it(arguments: list[str], said: str) -> None:
    begin_command(arguments)
    assert acting().actor == (f"{said}{account()}" if said else "")


def test_a_shell_is_named_in_the_history(category: Category) -> None:
    begin_command(["manage.py", "shell"])
    PetFactory(name="Rex", category=category)
    row = Pet.history.latest("history_id")
    assert (row.actor, row.request_id) == (f"command shell by {account()}", "")


def test_what_follows_a_request_is_not_its_callers(staff: Client, category: Category) -> None:
    staff.get("/admin/", headers={"X-Request-ID": "earlier"})
    PetFactory(name="Rex", category=category)
    row = Pet.history.latest("history_id")
    assert (row.actor, row.request_id) == ("", "")
