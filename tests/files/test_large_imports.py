"""Files in the back office that are too large for one request: checked and imported by the process for work."""

import hashlib
import re
import sqlite3
import sys
from contextlib import closing, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes.models import Change
from files import queue
from files.lock import only_import
from files.run import STOPPED
from history.acting import Acting, acting, acting_for
from pets.models import ImportRun, ImportUpload, Pet
from tests.files.test_admin_imports import ADD, again, confirm, ended, send, sent, why
from tests.pets.office import member, text_of, told, work_off

pytestmark = pytest.mark.django_db(transaction=True)

MANY, FEW = 6_000, 3


@pytest.fixture(autouse=True)
def _no_file_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that each waits for the process for work, also one of few rows."""
    monkeypatch.setattr(queue, "SMALL", 0)


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


def page_text(client: Client, upload: ImportUpload) -> str:
    return text_of(client.get(f"{ADD}{upload.pk}/").content.decode())


def waiting(staff: Client, content: str) -> ImportUpload:
    """Send a large file and return it as it waits for the process for work."""
    page = sent(staff, content)
    shown = staff.get(page.url).content
    assert b"data-reload" in shown
    assert b"Starting" in shown
    return ImportUpload.objects.defer("content").get()


def test_a_file_that_waits_can_be_stopped_and_checked_later(staff: Client, category: Category) -> None:
    upload = waiting(staff, rows(FEW))
    page = f"{ADD}{upload.pk}/"
    assert staff.post(f"{page}stop/")["Location"] == page
    shown = staff.get(page)
    assert why(shown) == STOPPED
    work_off()
    assert not ImportRun.objects.exists()
    assert again(staff, shown).context["run"].created == FEW
    assert ImportRun.objects.get().state == "dry run"


def test_who_stops_a_file_of_another_acts_for_themselves_again(staff: Client, category: Category) -> None:
    upload = waiting(staff, rows(FEW))
    with acting_for("staff bea", "request-of-bea"):
        queue.stop(upload)
        assert acting() == Acting("staff bea", "request-of-bea")
    assert acting() == Acting()


def test_stop_leaves_nothing_and_the_file_can_be_checked_again(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal ends the process, as the loop sends it once someone pressed Stop."""
    upload = waiting(staff, rows(FEW))

    def pressed(_digest: str) -> None:
        staff.post(f"{ADD}{upload.pk}/stop/")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(queue, "import_of", pressed)
        queue.do(upload.pk)
    shown = staff.get(f"{ADD}{upload.pk}/")
    assert (why(shown), Pet.objects.count()) == (STOPPED, 0)
    assert again(staff, shown).context["run"].created == FEW


@pytest.mark.sqlite("PostgreSQL has many writers")
def test_someone_can_press_stop_while_the_import_keeps_others_from_writing(staff: Client, category: Category) -> None:
    upload = send(staff, rows(1)).context["upload"]
    name = connection.settings_dict["NAME"]
    with only_import(), closing(sqlite3.connect(name, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert staff.post(f"{ADD}{upload.pk}/stop/").status_code == 302
    assert queue.is_stopping(upload.pk)


@pytest.mark.parametrize("by", ["signal", "kill"])
def test_a_file_whose_process_ends_is_begun_again(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """However often a signal ends it, as a deploy does; once if it is killed."""
    upload = waiting(staff, rows(FEW))
    ended: type[BaseException] = {"signal": KeyboardInterrupt, "kill": SystemExit}[by]

    def end(_digest: str) -> None:
        raise ended

    with monkeypatch.context() as patch:
        patch.setattr(queue, "import_of", end)
        for _ in range(3):
            with suppress(SystemExit):
                queue.do(upload.pk)
    if by == "signal":
        assert ImportUpload.objects.get().work["state"] == "waiting"
        work_off()
        assert staff.get(f"{ADD}{upload.pk}/").context["run"].created == FEW
    else:
        assert why(staff.get(f"{ADD}{upload.pk}/")) == queue.INTERRUPTED
    assert Pet.objects.count() == 0


def test_a_file_whose_database_goes_away_is_begun_again(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = waiting(staff, rows(FEW))

    def lose(_digest: str) -> None:
        raise OperationalError

    with monkeypatch.context() as patch:
        patch.setattr(queue, "import_of", lose)
        queue.do(upload.pk)
    assert ImportUpload.objects.get().waits_since is not None
    work_off()
    assert staff.get(f"{ADD}{upload.pk}/").context["run"].created == FEW


def test_a_file_that_was_begun_again_says_so(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = waiting(staff, rows(FEW))
    with monkeypatch.context() as patch:
        patch.setattr(queue, "import_of", lambda _digest: sys.exit(1))
        for _ in range(2):
            with suppress(SystemExit):
                queue.do(upload.pk)
    assert "It was interrupted and starts again by itself." in page_text(staff, upload)


@pytest.mark.parametrize(
    ("checks", "progress", "said"),
    [
        (True, {}, "Starting Nothing is saved until you confirm."),
        (
            *(True, {"phase": "read", "rows": 9, "share": 0.3}),
            "About 30 seconds left 9 rows read, 1 a second. Nothing is saved until you confirm. Stop Read, running friday.csv 9 rows",
        ),
        (False, {"phase": "check", "rows": 9}, "Read, done friday.csv Check, running against the animals Write, later"),
        (False, {"phase": "write", "rows": 9}, "Check, done against the animals Write, running all or nothing"),
        (True, {"phase": "write", "rows": 9}, "Read, done friday.csv Check, running against the animals"),
    ],
)
def test_a_page_says_how_far_it_is(
    staff: Client, category: Category, checks: bool, progress: dict[str, Any], said: str
) -> None:
    upload = waiting(staff, rows(FEW))
    now = timezone.now()
    times = {
        "begun_at": (now - timedelta(seconds=9)).isoformat(),
        "ends_at": (now + timedelta(seconds=29.5)).isoformat(),
    }
    work = upload.work | {"state": "running", "checks": checks} | times | progress
    ImportUpload.objects.update(work=work)
    with only_import():
        assert said in page_text(staff, upload)
    ImportUpload.objects.update(waits_since=now - timedelta(seconds=80))
    assert re.search(r"Waiting for the worker For 8\d seconds\.", page_text(staff, upload))


@pytest.mark.parametrize(
    ("confirmed", "message"),
    [(False, "“friday.csv” is checked."), (True, f"Imported friday.csv: {FEW} added.")],
)
def test_a_long_check_and_import_say_that_they_ended(
    staff: Client, category: Category, confirmed: bool, message: str
) -> None:
    page = sent(staff, rows(FEW)).url
    if confirmed:
        work_off()
        staff.post(f"{page}confirm/", {"digest": staff.get(page).context["work"]["digest"]})
    assert told(staff.get("/admin/")) == []
    work_off()
    ended = staff.get("/admin/")
    assert told(ended) == [message]
    assert confirmed or f'href="{page}"' in ended.content.decode()
    assert told(staff.get("/admin/")) == []


def test_while_it_is_imported_the_page_says_what_was_checked(staff: Client, category: Category) -> None:
    upload = waiting(staff, rows(FEW) + ",Dogs,,L-X\n")
    assert "Rejected" not in page_text(staff, upload)
    work_off()
    page = f"{ADD}{upload.pk}/"
    staff.post(f"{page}confirm/", {"digest": staff.get(page).context["work"]["digest"]})
    assert f"Rows {FEW + 1} New {FEW} Changed 0 Rejected 1" in page_text(staff, upload)


def test_an_import_is_beside_the_animals_and_while_it_runs_below_activity(staff: Client, category: Category) -> None:
    def crumbs(address: str) -> list[str]:
        shown = staff.get(address).content.decode()
        assert re.findall('class="nav-link" href="([^"]*)" aria-current="page"', shown) == ["/admin/pets/pet/"]
        return [text_of(found) for found in re.findall('<nav class="crumbs".*?</nav>', shown, re.DOTALL)]

    assert crumbs(ADD) == ["Animals"]
    page = sent(staff, rows(FEW)).url
    assert crumbs(page) == ["Activity"]
    work_off()
    assert crumbs(page) == ["Animals Import animals"]


def test_a_check_that_could_not_be_done(staff: Client, category: Category) -> None:
    page = sent(staff, rows(FEW)).url
    ImportUpload.objects.update(work={"state": "failed", "why": "It failed. Nothing changed."}, waits_since=None)
    assert told(staff.get(page)) == []
    sent(staff, rows(FEW) + "Max,Dogs,available,L-X\n")
    ImportUpload.objects.update(work={"state": "failed", "why": "It failed. Nothing changed."}, waits_since=None)
    assert told(staff.get("/admin/")) == ["It failed. Nothing changed."]


def test_what_was_saved_before_its_process_was_gone_is_imported(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, rows(1)))
    ImportUpload.objects.update(
        work={"state": "running", "checks": False, "who": "staff keeper", "request_id": ""}, waits_since=timezone.now()
    )
    work_off()
    shown = staff.get(f"{ADD}{ImportUpload.objects.get().pk}/", follow=True)
    assert shown.redirect_chain == [(f"/admin/activity/{Change.objects.get().pk}/", 302)]
    assert Pet.objects.count() == 1


def test_one_import_runs_at_a_time_and_the_second_waits_for_it(staff: Client, category: Category) -> None:
    with only_import():
        run = ImportRun.objects.create(who="staff anna", file_name="a.csv", options={}, state="running")
        page = sent(staff, rows(1))
        assert f"It begins when import {run.pk} of anna ends." in page_text(staff, ImportUpload.objects.get())
    work_off()
    assert staff.get(page.url).context["run"].created == 1


@pytest.mark.parametrize("right", ["add_importrun", "add_category"])
def test_someone_who_lost_the_right_meanwhile_imports_nothing(category: Category, right: str) -> None:
    anna = member("anna", "view_pet", "add_importrun", "add_category")
    upload = waiting(anna, rows(FEW))
    ImportUpload.objects.update(options=upload.options | {"create_categories": True})
    User.objects.get(username="anna").user_permissions.remove(Permission.objects.get(codename=right))
    work_off()
    upload.refresh_from_db()
    assert (upload.work["state"], upload.work["why"]) == ("stopped", queue.NOT_ALLOWED.format("anna"))
    assert not ImportRun.objects.exists()


def test_a_file_with_more_rows_than_can_be_imported_here(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("files.run.MOST_ROWS", 1_000)
    assert "The file has more than 1,000 rows." in send(staff, rows(1_001)).content.decode()
    assert send(staff, rows(1_000)).context["run"].created == 1_000


@pytest.mark.slow
@pytest.mark.sqlite("reading takes long, and each database stores the parts of smaller files alike")
def test_a_file_of_exactly_the_largest_size(staff: Client, category: Category) -> None:
    header, row = "name,category,_line\n", f"Max,Dogs,{'x' * 400_000}\n"
    count, rest = divmod(settings.LARGEST_UPLOAD - len(header), len(row))
    shown = ended(staff, send(staff, header + row * count + "\n" * rest))
    assert (shown.context["run"].created, shown.context["run"].rejected) == (count, 0)
