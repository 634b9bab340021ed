"""What each role can do, compared with pages.md: every page, every role, seeing, changing, forging."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from petstore_site.staff.roles import ROLES
from petstore_site.staff.tasks import NO, TASKS
from tests.emptying import empty_others
from tests.staff.conftest import SIGN_IN, form_of, member, read
from tests.staff.walk import address, form, pages, rows

PAGES = Path(__file__).with_name("pages.md")
TASKS_OF_ROLES = Path(__file__).parents[2] / "docs" / "roles.md"
NOBODY = "not signed in"
NO_STAFF = "customer"
WHO = [NOBODY, *ROLES]
NOT_ALLOWED = "Not allowed"


def table() -> dict[str, dict[str, str]]:
    """Return page → who → what they can do, as the headings of the document say."""
    found: dict[str, dict[str, str]] = {}
    for heading, pages_under_it in re.findall(
        r"^## (.+)\n\n((?:- .+\n)+)", PAGES.read_text(encoding="utf-8"), re.MULTILINE
    ):
        can = {NOBODY: "sign in"} | dict.fromkeys(ROLES, NOT_ALLOWED)
        for part in heading.replace("all roles", ", ".join(ROLES)).split("; "):
            what, who = part.split(": ")
            can |= dict.fromkeys(who.split(", "), what)
        for name in re.findall(r"^- `(\w+)`: ", pages_under_it, re.MULTILINE):
            assert name not in found
            found[name] = can
    return found


def cells(document: Path) -> list[list[str]]:
    """Return the lines of the table in a document."""
    lines = document.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]


COMMITTING = {
    f"pets_importrun_{name}"
    for name in ("add", "columns", "work", "stop", "take", "preview", "confirm", "rejects", "discard")
}
"""Pages about an import, which can be no part of a longer transaction."""

EACH = [pytest.param(name, marks=pytest.mark.django_db(transaction=name in COMMITTING)) for name in pages()]


@contextmanager
def undone(name: str) -> Iterator[None]:
    """Undo what the block did for the page of this name."""
    if name in COMMITTING:
        yield
        empty_others(reset_sequences=True)
        return
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def browser_of(who: str, name: str) -> tuple[Client, User | None]:
    """Return a browser that is signed in as `who`, whose account has what the page is about."""
    client = Client(enforce_csrf_checks=True)
    if who == NOBODY:
        return client, None
    user = member("forger", role=who if who in ROLES else None, is_staff=who in ROLES)
    client.force_login(user)
    if name != "mfa_activate_totp":
        TOTP.activate(user, generate_totp_secret())
        RecoveryCodes.activate(user)
    return client, user


def observed(who: str, name: str) -> str:
    """Return what the service lets them do. A form that another site made them send does nothing."""
    with undone(name):
        client, user = browser_of(who, name)
        path, of_another_site, sent = address(name, user), form(name), form(name)
        before = rows()
        assert client.post(path, of_another_site).status_code == 403
        seen = client.get(path)
        read(seen)
        opened = rows()
        assert opened == before or name == "mfa_view_recovery_codes"  # it notes when they were seen
        answer = forge(client, path, sent)
        changed = rows() != opened
    assert max(seen.status_code, answer.status_code) < 500
    if changed:
        return "Do"
    if seen.status_code == 302 and seen["Location"].startswith((SIGN_IN, "/admin/login/")):
        return "sign in"
    return NOT_ALLOWED if seen.status_code in {403, 404, 405} else "See"


def forge(client: Client, path: str, sent: dict[str, Any]) -> Any:
    """Send a form with a token as good as a real one, whether or not the page showed it."""
    client.cookies["csrftoken"] = token = "a" * 32
    answer = client.post(path, sent | {"csrfmiddlewaretoken": token})
    read(answer)
    return answer


@pytest.mark.parametrize("name", EACH)
def test_each_page_opens_to_whom_the_document_says(name: str) -> None:
    can = table()[name]
    assert {who: observed(who, name) for who in [*WHO, NO_STAFF]} == can | {NO_STAFF: can[NOBODY]}


def test_the_document_has_every_page_and_no_other() -> None:
    assert sorted(table()) == sorted(pages())


def test_the_document_has_every_task_of_every_role() -> None:
    head, _, *rest = cells(TASKS_OF_ROLES)
    words = {
        task: {NO: "\N{EN DASH}"} | {level: word.lower() for level, word in TASKS[task].levels.items() if level != NO}
        for task in TASKS
    }
    assert head[:-1] == ["task", *ROLES]
    assert [row[:-1] for row in rest] == [
        [TASKS[task].label, *(words[task][levels.get(task, NO)] for levels in ROLES.values())] for task in TASKS
    ]


@pytest.mark.django_db
class TestAdministrators:
    """They keep the staff, and cannot become more than administrators."""

    def test_make_nobody_a_superuser(self, office: Client) -> None:
        for name, status in (("ben", 302), ("ada", 200)):  # without her role, no administrator would be left
            user = User.objects.filter(username=name).first() or member(name)
            form = form_of(user, groups=[], is_superuser="on", user_permissions=1)
            assert office.post(f"/admin/auth/user/{user.pk}/change/", form).status_code == status
            user.refresh_from_db()
            assert (user.is_superuser, user.user_permissions.count()) == (False, 0)

    def test_make_no_new_superuser(self, office: Client) -> None:
        office.post("/admin/auth/user/add/", {"username": "new", "is_superuser": "on", "user_permissions": 1})
        new = User.objects.get(username="new")
        assert (new.is_staff, new.is_superuser, new.user_permissions.count()) == (True, False, 0)
