"""Files in the back office that are too large for one request: checked and imported in a thread."""

import hashlib
import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes.models import Change
from pets.importing import large
from pets.importing.lock import only_import
from pets.models import ImportRun, ImportUpload, Pet
from tests.pets.test_admin_imports import ADD, dogs, keeper, send, staff

__all__ = ["dogs", "keeper", "staff"]

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 6_000


def rows(count: int, start: int = 0) -> str:
    made = (f"Rex {number},Dogs,,L-{number:06}\n" for number in range(start, start + count))
    return "name,category,status,external_reference\n" + "".join(made)


def ended(staff: Client, page: Any) -> Any:
    """Return the page of a file once nothing works on it any more."""
    for _ in range(600):
        shown = staff.get(page.url, follow=True)
        if b"data-reload" not in shown.content:
            return shown
        time.sleep(0.1)
    pytest.fail("It did not end.")


def confirmed(staff: Client, shown: Any) -> Any:
    given = {"digest": shown.context["preview"].digest}
    return post(staff, f"{ADD}{shown.context['upload'].pk}/confirm/", **given)


def post(staff: Client, path: str, **fields: str) -> Any:
    return staff.post(path, fields)


def why(page: Any) -> str:
    return str(page.context["work"]["why"])


def test_a_large_file_is_checked_confirmed_and_imported(staff: Client, dogs: Category) -> None:
    changed = Pet.objects.create(name="Old", category=dogs, external_reference="L-000001")
    same = Pet.objects.create(name="Rex 2", category=dogs, external_reference="L-000002")
    content = rows(MANY) + ",Dogs,,L-x\nMax,Cats,,\n"
    shown = ended(staff, send(staff, content))
    run, seen = shown.context["run"], shown.context["preview"]
    assert (run.state, run.rows, run.created, run.updated, run.unchanged, run.rejected) == (
        *("dry run", MANY + 2, MANY - 2),
        *(1, 1, 2),
    )
    assert [tally.rows for tally in seen.tallies()] == [MANY - 2, 1, 1, 2]
    assert [line["number"] for line in seen.lines()] == [2, 3, *range(5, 23), MANY + 2, MANY + 3]
    assert Pet.objects.count() == 2
    rejects = staff.get(f"{ADD}{shown.context['upload'].pk}/rejects/").content.decode("utf-8-sig")
    assert {line.split(",")[0] for line in rejects.splitlines()} == {"_line", str(MANY + 2), str(MANY + 3)}
    record = ended(staff, confirmed(staff, shown))
    assert record.context["change"].run.pk == run.pk
    run.refresh_from_db()
    assert (run.state, run.created, run.updated, run.unchanged, run.rejected) == ("done", MANY - 2, 1, 1, 2)
    assert run.who == "staff keeper"
    assert Pet.objects.count() == MANY
    changed.refresh_from_db()
    assert (changed.name, Pet.history.filter(id=same.pk).count()) == ("Rex 1", 1)


def test_a_file_of_several_parts_is_the_file_that_was_sent(staff: Client, dogs: Category) -> None:
    content = rows(MANY).replace("Rex", "R" * 240)
    shown = ended(staff, send(staff, content))
    upload = ImportUpload.objects.get()
    assert (upload.parts.count(), upload.size) == (1, len(content))
    assert shown.context["run"].sha256 == hashlib.sha256(content.encode()).hexdigest()


def test_stop_leaves_nothing_and_the_file_can_be_checked_again(
    staff: Client, dogs: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "IN_REQUEST", 0)
    monkeypatch.setattr(large, "EACH", 0.05)
    page = send(staff, rows(60_000))
    assert b"data-reload" in staff.get(page.url).content
    assert post(staff, f"{page.url}stop/").url == page.url
    shown = ended(staff, page)
    assert why(shown) == large.STOPPED
    assert (ImportRun.objects.get().state, Pet.objects.count()) == ("stopped", 0)
    upload = shown.context["upload"].pk
    assert ended(staff, post(staff, f"{ADD}{upload}/preview/")).context["run"].created == 60_000
    assert ImportRun.objects.get().state == "dry run"


def test_what_was_running_in_a_process_that_is_gone_was_interrupted(
    staff: Client, keeper: User, dogs: Category
) -> None:
    content = rows(MANY)
    shown = ended(staff, send(staff, content))
    upload = shown.context["upload"]
    begun = timezone.now() - 2 * large.SILENT
    ImportUpload.objects.update(work={"state": "running", "checks": False, "at": begun.isoformat()})
    ImportRun.objects.update(state="running")
    shown = staff.get(f"{ADD}{upload.pk}/")
    assert why(shown) == large.INTERRUPTED
    assert (ImportRun.objects.get().state, Pet.objects.count()) == ("killed", 0)


def test_what_was_saved_before_its_process_was_gone_is_imported(staff: Client, dogs: Category) -> None:
    shown = ended(staff, send(staff, rows(MANY)))
    ended(staff, confirmed(staff, shown))
    upload = ImportUpload.objects.get()
    work = {"state": "running", "checks": False, "at": (timezone.now() - timedelta(minutes=1)).isoformat()}
    ImportUpload.objects.update(work=work)
    shown = staff.get(f"{ADD}{upload.pk}/", follow=True)
    assert shown.redirect_chain == [(f"/admin/activity/{Change.objects.get().pk}/", 302)]


def test_one_import_runs_at_a_time(staff: Client, dogs: Category) -> None:
    with only_import():
        shown = ended(staff, send(staff, rows(MANY)))
    assert why(shown) == "Nothing changed. Another import or undo is running. Try again when it finishes."
    again = post(staff, f"{ADD}{shown.context['upload'].pk}/preview/")
    assert ended(staff, again).context["run"].created == MANY


def test_what_is_no_longer_what_was_seen_is_not_imported(staff: Client, dogs: Category) -> None:
    shown = ended(staff, send(staff, rows(MANY)))
    Pet.objects.create(name="Rex 5", category=dogs, external_reference="L-000005")
    later = ended(staff, confirmed(staff, shown))
    assert why(later) == "Nothing changed. The catalogue has changed since this page was shown. Look again."
    assert Pet.objects.count() == 1


def test_a_file_with_more_rows_than_can_be_imported_here(
    staff: Client, dogs: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "MOST_LARGE_ROWS", MANY)
    assert why(ended(staff, send(staff, rows(MANY + 1)))) == "The file has more than 6,000 rows."
    assert ended(staff, send(staff, rows(MANY))).context["run"].created == MANY


@pytest.mark.slow
@pytest.mark.each_database
def test_a_file_of_exactly_the_largest_size(staff: Client, dogs: Category) -> None:
    content = rows(1) + ("\n" * 9_000_000 + "Max,Dogs,,\n") * 2
    shown = ended(staff, send(staff, content + "\n" * (settings.LARGEST_UPLOAD - len(content))))
    assert (shown.context["run"].created, shown.context["run"].rejected) == (3, 0)


def test_nobody_else_sees_or_stops_it(staff: Client, dogs: Category) -> None:
    page = send(staff, rows(MANY))
    other = Client()
    other.force_login(User.objects.create_superuser("other"))
    assert (other.get(page.url).status_code, other.post(f"{page.url}stop/").status_code) == (404, 404)
    ended(staff, page)
