"""Files in the back office that are too large for one request: checked and imported in a thread."""

import hashlib
import re
import sqlite3
from contextlib import closing, suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes.models import Change
from pets.importing import uploads, working
from pets.importing.lock import only_import
from pets.importing.stopping import stop_if_asked
from pets.models import ImportRun, ImportUpload, Pet
from tests.pets.test_admin_imports import ADD, again, confirm, ended, send, sent, why
from tests.server import until

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 6_000


def rows(count: int, start: int = 0) -> str:
    made = (f"Rex {number},Dogs,,L-{number:06}\n" for number in range(start, start + count))
    return "name,category,status,external_reference\n" + "".join(made)


def test_a_large_file_is_checked_confirmed_and_imported(staff: Client, category: Category) -> None:
    changed = Pet.objects.create(name="Old", category=category, external_reference="L-000001")
    same = Pet.objects.create(name="Rex 2", category=category, external_reference="L-000002")
    content = rows(MANY) + ",Dogs,,L-x\nMax,Cats,,\n"
    shown = send(staff, content)
    run, found = shown.context["run"], shown.context["found"]
    assert (run.state, run.rows, run.created, run.updated, run.unchanged, run.rejected) == (
        *("dry run", MANY + 2, MANY - 2),
        *(1, 1, 2),
    )
    assert [tally.rows for tally in shown.context["tallies"]] == [MANY - 2, 1, 1, 2]
    assert [line["number"] for line in found["lines"]] == [2, 3, *range(5, 5_003), MANY + 2, MANY + 3]
    assert "<span>Rows 1 to 50 of 5,002 that are shown</span>" in shown.content.decode()
    assert Pet.objects.count() == 2
    rejects = staff.get(f"{ADD}{shown.context['upload'].pk}/rejects/").content.decode("utf-8-sig")
    assert {line.split(",")[0] for line in rejects.splitlines()} == {"_line", str(MANY + 2), str(MANY + 3)}
    record = confirm(staff, shown)
    assert record.context["change"].run.pk == run.pk
    run.refresh_from_db()
    assert (run.state, run.created, run.updated, run.unchanged, run.rejected) == ("done", MANY - 2, 1, 1, 2)
    assert run.who == "staff keeper"
    assert Pet.objects.count() == MANY
    changed.refresh_from_db()
    assert (changed.name, Pet.history.filter(id=same.pk).count()) == ("Rex 1", 1)


def test_a_file_of_several_parts_is_the_file_that_was_sent(staff: Client, category: Category) -> None:
    content = rows(MANY).replace("Rex", "R" * 240)
    shown = send(staff, content)
    upload = ImportUpload.objects.get()
    assert (upload.parts.count(), upload.size) == (1, len(content))
    assert shown.context["run"].sha256 == hashlib.sha256(content.encode()).hexdigest()


def until_asked_to_stop() -> None:
    """Wait, in the thread of an import, until that has been seen, and raise `KeyboardInterrupt`."""
    until(stop_if_asked)


def test_stop_leaves_nothing_and_the_file_can_be_checked_again(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "EACH", 0.05)
    with monkeypatch.context() as patch:
        patch.setattr(working, "IN_REQUEST", 0)
        patch.setattr("pets.importing.run.stop_if_asked", until_asked_to_stop)
        page = sent(staff, rows(MANY))
        assert b"data-reload" in staff.get(page.url).content
        until(ImportRun.objects.exists)
        assert staff.post(f"{page.url}stop/")["Location"] == page.url
        shown = ended(staff, page)
    assert why(shown) == working.STOPPED
    assert (ImportRun.objects.get().state, Pet.objects.count()) == ("stopped", 0)
    assert again(staff, shown).context["run"].created == MANY
    assert ImportRun.objects.get().state == "dry run"


def test_what_the_database_interrupts_was_stopped_whatever_it_did(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_digest: str) -> None:
        working.stop(ImportUpload.objects.get())
        with suppress(KeyboardInterrupt):
            until_asked_to_stop()
        raise OperationalError

    monkeypatch.setattr(working, "EACH", 0.02)
    monkeypatch.setattr(working, "import_of", interrupted)
    assert why(send(staff, rows(1))) == working.STOPPED


@pytest.mark.sqlite("PostgreSQL has many writers")
def test_someone_can_press_stop_while_the_import_keeps_others_from_writing(staff: Client, category: Category) -> None:
    upload = send(staff, rows(1)).context["upload"]
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert staff.post(f"{ADD}{upload.pk}/stop/").status_code == 302
    assert working.is_stopping(upload)


def running_since(began: datetime) -> dict[str, Any]:
    return {"state": "running", "checks": False, "at": began.isoformat()}


@pytest.mark.parametrize("state", ["running", "killed"])
def test_what_was_running_in_a_process_that_is_gone_was_interrupted(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """At once if that is seen here first, or else after a while."""
    monkeypatch.setattr(working, "EACH", 0)
    upload = send(staff, rows(1)).context["upload"]
    began = timezone.now() if state == "running" else timezone.now() - 2 * working.SILENT
    ImportUpload.objects.update(work=running_since(began))
    ImportRun.objects.update(state=state)
    shown = staff.get(f"{ADD}{upload.pk}/")
    assert why(shown) == working.INTERRUPTED
    assert (ImportRun.objects.get().state, Pet.objects.count()) == ("killed", 0)


@pytest.mark.parametrize(("pace", "least", "most"), [(0.01, 0.34, 0.99), (1, 0.99, 0.99), (0, 0.3, 0.3)])
def test_the_bar_goes_on_while_the_thread_says_nothing(
    staff: Client, category: Category, pace: float, least: float, most: float
) -> None:
    """On SQLite it can't while it writes."""
    upload = send(staff, rows(1)).context["upload"]
    work = running_since(timezone.now() - timedelta(seconds=5)) | {"rows": 9, "share": 0.3, "pace": pace}
    ImportUpload.objects.update(work=work, run=None)
    page = staff.get(f"{ADD}{upload.pk}/").content.decode()
    (shown,) = re.findall(r'<progress class="progress" max="1" value="([0-9.]+)" aria-label="Done so far">', page)
    assert least <= float(shown) <= most


def test_what_ended_while_its_page_was_made_was_not_interrupted(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = send(staff, rows(1)).context["upload"]
    ImportUpload.objects.update(work=running_since(timezone.now() - 2 * working.SILENT))
    monkeypatch.setattr("time.sleep", lambda _: ImportUpload.objects.update(work=upload.work))
    assert staff.get(f"{ADD}{upload.pk}/").context["work"] == upload.work


def test_what_was_saved_before_its_process_was_gone_is_imported(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, rows(1)))
    upload = ImportUpload.objects.get()
    ImportUpload.objects.update(work=running_since(timezone.now() - 2 * working.SILENT))
    shown = staff.get(f"{ADD}{upload.pk}/", follow=True)
    assert shown.redirect_chain == [(f"/admin/activity/{Change.objects.get().pk}/", 302)]


def test_one_import_runs_at_a_time(staff: Client, category: Category) -> None:
    with only_import():
        shown = send(staff, rows(1))
    assert why(shown) == "Nothing changed. Another import or undo is running. Try again when it finishes."
    assert again(staff, shown).context["run"].created == 1


def test_a_file_with_more_rows_than_can_be_imported_here(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_ROWS", 1_000)
    assert "The file has more than 1,000 rows." in send(staff, rows(1_001)).content.decode()
    assert send(staff, rows(1_000)).context["run"].created == 1_000


@pytest.mark.slow
@pytest.mark.each_database
def test_a_file_of_exactly_the_largest_size(staff: Client, category: Category) -> None:
    content = rows(1) + ("\n" * 9_000_000 + "Max,Dogs,,\n") * 2
    shown = ended(staff, send(staff, content + "\n" * (settings.LARGEST_UPLOAD - len(content))))
    assert (shown.context["run"].created, shown.context["run"].rejected) == (3, 0)
