"""No page of the back office asks the database more often than `MOST`, however much it shows."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from changes.models import Change
from history.acting import identify
from pets.models import ImportRun, ImportUpload, Pet
from petstore_site.apikeys.models import KeyUsage, Use
from petstore_site.back_office.request_desk.models import RequestRecord
from tests.days import today
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import PETS, ask, click, confirm, member, seen
from tests.test_dashboard import EVERYTHING

pytestmark = pytest.mark.django_db(transaction=True)

MOST = 12
SELECTING = ("become_sold", "delete_selected")
RIGHTS = (
    *("export_pet", "delete_pet", "restore_pet", "add_pet", "change_category", "delete_category"),
    *("view_user", "change_user", "delete_user", "view_group", "change_group"),
)


@pytest.fixture
def office() -> Client:
    return member("anna", *(name.partition(".")[2] for name in EVERYTHING), *RIGHTS)


OTHERS = {
    "keys": 8, "key": 10, "key that replaced it": 9, "history of a key": 6, "requests": 9, "request": 6,
    "rejected request": 7, "accounts": 9, "account": 11, "account: delete": 8, "account: password": 7, "roles": 7,
}  # fmt: skip
"""How often exactly these ask."""


def furnish_others() -> dict[str, str]:
    """Store many keys, requests, accounts and roles, and return the addresses of their pages."""
    new = APIKeyFactory()
    key = APIKeyFactory(replaced_by=new, expires_at=timezone.now() + timedelta(days=1))
    identify("staff anna")
    for number in range(30):
        used = APIKeyFactory(expires_at=timezone.now() + timedelta(days=1))
        KeyUsage.objects.add_all([(Use(each.pk, today(), f"route-{number}", 4), 1) for each in (key, used)])
        key.name = f"Name {number}"
        key.save()
        told = {"at": timezone.now(), "method": "POST", "status": 201, "milliseconds": 1}
        RequestRecord.objects.create(request_id="id", key=used, route="pet-list", **told)
        RequestRecord.objects.create(request_id="bad", key=used, route="pet-list", **told | {"status": 400})
        role = Group.objects.create(name=f"Team {number}")
        role.permissions.set(Permission.objects.filter(codename__in=("view_pet", "view_user")))
        User.objects.create(username=f"person {number}", is_staff=True).groups.add(role)
    requests = "/admin/request_desk/requestrecord/"
    account = f"/admin/auth/user/{User.objects.get(username='person 1').pk}"
    return {
        "keys": "/admin/apikeys/apikey/",
        "key": f"/admin/apikeys/apikey/{key.pk}/change/",
        "key that replaced it": f"/admin/apikeys/apikey/{new.pk}/change/",
        "history of a key": f"/admin/apikeys/apikey/{key.pk}/history/",
        "requests": f"{requests}?kind=all",
        "request": f"{requests}desk/?request_id=id",
        "rejected request": f"{requests}desk/?request_id=bad",
        "accounts": "/admin/auth/user/",
        "account": f"{account}/change/",
        "account: delete": f"{account}/delete/",
        "account: password": f"{account}/password/",
        "roles": "/admin/auth/group/",
    }


@pytest.fixture
def pages(office: Client, tmp_path: Any) -> dict[str, str]:
    """Do some of everything, and return the addresses of what has it."""
    dogs, cats = CategoryFactory(name="Dogs"), CategoryFactory(name="Cats")
    identify(f"key {APIKeyFactory(name='Web shop').key_id}")
    pets = [PetFactory(name=f"Rex {number}", category=dogs, status="available") for number in range(30)]
    confirm(office, ask(office, "become_sold", *pets))
    bulk = Change.objects.get()
    click(office, pets[0], "pending")
    edit = f"r{seen(pets[0])}"
    office.post(f"/admin/activity/{edit}/undo/")
    one = Change.objects.latest("pk")
    office.post(f"/admin/activity/{bulk.pk}/undo/")
    many = Change.objects.latest("pk")
    confirm(office, ask(office, "delete_selected", *pets[20:]), post="yes")
    deletion = Change.objects.latest("pk")
    office.post(f"/admin/activity/{deletion.pk}/undo/", {"animal": pets[20].pk, "chosen": ""})
    restore = Change.objects.latest("pk")
    file = tmp_path / "some.csv"
    rows = "".join(f"Tom {number},Cats,available,\n" for number in range(30)) + "Tom 30,Fish,,\nTom 31,Cats,gone,\n"
    file.write_text(
        f"id,name,category,status,external_reference\n{pets[1].pk},Max,Dogs,sold,\n" + rows.replace("Tom", ",Tom")
    )
    with pytest.raises(SystemExit):  # some rows are rejected
        call_command("import_pets", str(file), create_categories=True, on_error="skip", verbosity=0)
    run, anna = ImportRun.objects.get(), User.objects.get(username="anna")
    ImportUpload.objects.create(uploaded_by=anna, file_name=file.name, options={}, run=run, rejects=b"x")
    changes: dict[str, Any] = {"bulk": bulk, "undo of one": one, "undo of many": many, "deletion": deletion}
    changes |= {"restore": restore, "import": run.change}
    found = {f"change: {name}": f"/admin/activity/{change.pk}/" for name, change in changes.items()}
    return furnish_others() | {
        "overview": "/admin/",
        "activity": "/admin/activity/",
        "activity, searched": "/admin/activity/?q=rex&kind=edit",
        "imports": "/admin/activity/?kind=import",
        "activity of one": f"/admin/activity/?animal={pets[0].pk}",
        "change: edit": f"/admin/activity/{edit}/",
        **found,
        **{f"undo of {name}": f"{address}undo/" for name, address in found.items() if "bulk" not in name},
        "animals": PETS,
        "animals, searched": f"{PETS}?q=rex",
        "sold": f"{PETS}?status__exact=sold",
        "animal": f"{PETS}{pets[1].pk}/change/",
        "deleted animal": f"{PETS}{pets[25].pk}/change/",
        "history": f"{PETS}{pets[0].pk}/history/",
        "version": f"{PETS}{pets[0].pk}/history/{Pet.history.filter(id=pets[0].pk).earliest('history_id').pk}/",
        **{f"asked: {action}": ask(office, action, pets[1]).redirect_chain[-1][0] for action in SELECTING},
        "categories": "/admin/categories/category/",
        "category": f"/admin/categories/category/{cats.pk}/change/",
        "history of a category": f"/admin/categories/category/{cats.pk}/history/",
        "merge": f"/admin/categories/category/merge/?merge={cats.pk}&keep={dogs.pk}",
    }


def test_no_page_asks_more_often(office: Client, pages: dict[str, str]) -> None:
    counts = {}
    for name, address in pages.items():
        for _ in range(2):  # the second time without what the process knows from then on
            with CaptureQueriesContext(connection) as queries:
                assert office.get(address).status_code == 200, name
            if name not in OTHERS and len(queries) <= MOST:
                break
        counts[name] = len(queries)
    newest = Pet.objects.latest("pk").pk
    for action in SELECTING:
        with CaptureQueriesContext(connection) as queries:
            assert office.post(PETS, {"action": action, "_selected_action": newest}).status_code == 302
        counts[action] = sum(not query["sql"].startswith(("BEGIN", "COMMIT")) for query in queries)
    assert {name: count for name, count in counts.items() if count > MOST} == {}
    assert {name: counts[name] for name in OTHERS} == OTHERS
