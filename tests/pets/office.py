"""What a browser in the back office does, and what is true of the history afterwards."""

import html
import re
from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client

from categories.models import Category
from files import queue
from pets.columns import NAMES, ON_PAGES
from pets.models import ImportUpload, Pet
from petstore_site.work import WorkLoop

PETS = "/admin/pets/pet/"


def work_off() -> None:
    """Do here what waits for the process for work."""
    for upload in ImportUpload.objects.filter(waits_since__isnull=False):
        queue.do(upload.pk)
    worker = WorkLoop()
    while worker.step():
        pass


def member(name: str, *permissions: str, superuser: bool = False) -> Client:
    """Return a browser in which a new user is signed in, with these permissions."""
    user = User.objects.create(username=name, is_staff=True, is_superuser=superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def seen(thing: Pet | Category) -> int:
    """Return what a form that is opened now has seen of the animal or category."""
    return int(thing.history.latest("history_id").history_id)


def told(answer: Any) -> list[str]:
    """Return the messages of the page that a response leads to."""
    return [str(message) for message in answer.context["messages"]]


def text_of(markup: str) -> str:
    """Return what is read, with its blanks tidied."""
    words = " ".join(html.unescape(re.sub("<[^>]*>", " ", markup)).split())
    return re.sub(" (?=[.,])", "", words)


def history_told(client: Client, page: str) -> dict[str, list[list[str]]]:
    """Return by day the cells of each row of the history, but for the time, as a wide window shows it as a table."""
    shown = re.sub('(?s)<div class="only-narrow.*?</div>', "", client.get(f"{page}history/").content.decode())
    return {
        text_of(day): [
            [text_of(cell) for cell in re.findall("(?s)<td.*?</td>", row)[1:]]
            for row in re.findall('(?s)<tr class="a-change">.*?</tr>', rows)
        ]
        for day, rows in re.findall('(?s)class="day">(.*?)</th>(.*?)</tbody>', shown)
    }


def form_of(pet: Pet, **changed: Any) -> dict[str, Any]:
    """Return what the form of the animal sends if it is opened now and so much is changed in it."""
    now = {column.header: getattr(pet, column.name) or "" for column in ON_PAGES}
    return now | {"seen": seen(pet)} | changed


def click(client: Client, pet: Pet, status: str, *, since: int | None = None, query: str = "") -> Any:
    """Choose a status in the row of the animal, as the list showed it at `since`. Return the page that it leads to."""
    becomes = {"becomes": f"{status}:{since or seen(pet)}", "back": f"{PETS}{query}"}
    return client.post(f"{PETS}{pet.pk}/status/", becomes, follow=True)


def ask(client: Client, action: str, *pets: Pet, query: str = "", across: bool = False) -> Any:
    """Select the animals in the list and do the action. Return the page that asks, or the list."""
    data = {"action": action, "_selected_action": [pet.pk for pet in pets], "select_across": int(across), "index": 0}
    return client.post(f"{PETS}{query}", data, follow=True)


def confirm(client: Client, asked: Any, **chosen: Any) -> Any:
    """Send the form of the page that asks. Return the page it leads to."""
    return client.post(asked.redirect_chain[-1][0], chosen, follow=True)


def history_disagrees() -> list[str]:
    """Return what is wrong with the history: every animal is as its latest row says, and who has none is gone."""
    latest = {row.id: row for row in Pet.history.order_by("history_id")}
    wrong = []
    for pet in Pet.objects.all():
        row = latest.pop(pet.pk, None)
        if row is None or row.history_type == "-":
            wrong.append(f"{pet.pk} has no row")
        elif [getattr(row, name) for name in NAMES] != [getattr(pet, name) for name in NAMES]:
            wrong.append(f"{pet.pk} differs from its latest row")
    return wrong + [f"{number} is gone without a row" for number, row in latest.items() if row.history_type != "-"]
