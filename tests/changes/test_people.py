"""People are called by their names, never as the history writes them down ("undo of import 1 by staff keeper")."""

import re
from html import unescape
from io import StringIO
from urllib.parse import urljoin

import pytest
from django.core.management import call_command
from django.test import Client

from categories.models import Category
from changes.bulk import Target, begin, select
from changes.models import Change
from changes.progress import LATE
from history.acting import identify
from pets.models import ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from tests.factories import APIKeyFactory
from tests.files.test_admin_imports import HEADER, confirm, send, undo_of
from tests.pets.office import ask, form_of, text_of
from tests.pets.office import confirm as confirm_change

pytestmark = pytest.mark.django_db(transaction=True)

RAW = re.compile(r"\bstaff keeper\b|\b[Uu]ndo of import [0-9]")
PAGES = 150


def do_everything(office: Client, category: Category) -> None:
    """Leave rows of each kind that "keeper" made: edits, a bulk change, imports, undos of all of them, a deletion."""
    for number in range(4):
        Pet.objects.create(name=f"Old {number}", category=category, external_reference=f"A-{number}")
    confirm(office, send(office, f"{HEADER}Rex,Dogs,,\nTim,Dogs,,\nMaximus,Dogs,,A-0\nPixel,Dogs,,A-1\n"))
    Pet.objects.filter(name="Tim").update(name="Tom")
    office.post(undo_of(ImportRun.objects.get()))
    old, other, last = Pet.objects.filter(name__in=["Old 1", "Old 2", "Old 3"]).order_by("name")
    office.post(f"/admin/pets/pet/{old.pk}/change/", form_of(old, name="Rover"))
    newest = old.history.latest("history_id")
    office.post(f"/admin/activity/r{newest.pk}/undo/")
    changed = confirm_change(office, ask(office, "become_sold", old, other))
    office.post(re.findall(r"/admin/activity/\d+/undo/", changed.content.decode())[0])
    office.post(f"/admin/pets/pet/{last.pk}/delete/", {"post": "yes"})
    office.post(f"/admin/categories/category/{category.pk}/change/", {"name": "Hounds", "seen": _seen(category)})
    key = APIKeyFactory()
    office.post(f"/admin/apikeys/apikey/{key.pk}/change/", {"name": "Till", "scope": "write", "seen": _seen(key)})
    identify("staff keeper")
    user = ImportRun.objects.get().uploads.get().uploaded_by
    stuck = begin(select(Pet.objects.all(), user=user), Target("status", "pending", "pending"))
    Change.objects.filter(pk=stuck.pk).update(worked_at=stuck.made_at - 2 * LATE)


def _seen(thing: Category | APIKey) -> int:
    return int(thing.history.latest("history_id").history_id)


def pages(office: Client) -> dict[str, str]:
    """Return the text of every page that links lead to, a few of each kind."""
    found: dict[str, str] = {}
    waiting = ["/admin/"]
    kinds: dict[str, int] = {}
    while waiting and len(found) < PAGES:
        address = waiting.pop(0)
        kind = re.sub(r"\d+", "N", address)
        kinds[kind] = kinds.get(kind, 0) + 1
        if address in found or kinds[kind] > 6:
            continue
        page = office.get(address)
        body = b"".join(page).decode(errors="replace")
        found[address] = text_of(body)
        links = [unescape(link).partition("#")[0] for link in re.findall('href="([^"]+)"', body)]
        waiting += [link for link in (urljoin(address, each) for each in links) if link.startswith("/admin/")]
    return found


def test_no_page_calls_a_person_as_the_history_does(staff: Client, category: Category) -> None:
    do_everything(staff, category)
    shown = pages(staff)
    assert {address: found[0] for address, text in shown.items() if (found := RAW.search(text))} == {}
    assert len(shown) > 60


def test_no_command_does(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n"))
    run = ImportRun.objects.get()
    said = StringIO()
    call_command("list_imports", stdout=said)
    call_command("undo_import", str(run.pk), "--dry-run", stdout=said)
    assert said.getvalue().count("keeper") == 2
    assert "staff keeper" not in said.getvalue()
