"""Small files in the back office: sent, looked at, imported, undone."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from categories.models import Category
from changes.admin import activity
from files import queue
from files.lock import only_import
from files.run import UNCONFIRMED
from files.source import NO_TABLE
from pets.models import ImportRun, ImportUpload, Pet
from tests.files.conftest import Import, book, catalogue
from tests.files.test_workbooks import FOREIGN, packed
from tests.pets.office import member, text_of, told, work_off
from tests.whole import CSV_HEADER, planned

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/admin/pets/importrun/add/"
ACTIVITY = "/admin/activity/"
CHOSEN = {"blank": "keep", "formula_safe": "on"}
HEADER = "name,category,status,external_reference\n"
TWICE = "external_reference &quot;A-2&quot; is the same animal as line 4. An animal can be in a file only once."


def send(staff: Client, content: str | bytes, name: str = "friday.csv", **chosen: str) -> Any:
    return ended(staff, sent(staff, content, name, **chosen))


def sent(staff: Client, content: str | bytes, name: str = "friday.csv", **chosen: str) -> Any:
    data = content.encode() if isinstance(content, str) else content
    return staff.post(ADD, CHOSEN | chosen | {"file": SimpleUploadedFile(name, data)})


def ended(staff: Client, answer: Any) -> Any:
    """Return the page that a response leads to once nothing works on the file any more."""
    if answer.status_code != 302:
        return answer
    work_off()
    return staff.get(answer.url, follow=True)


def again(staff: Client, shown: Any) -> Any:
    return ended(staff, staff.post(f"{ADD}{shown.context['upload'].pk}/preview/"))


def confirm(staff: Client, shown: Any, **fields: str) -> Any:
    given = {"digest": shown.context["work"]["digest"]} | fields
    address = f"{ADD}{shown.context['upload'].pk}/confirm/"
    return ended(staff, staff.post(address, given, headers={"X-Request-ID": "confirm-1"}))


def cells(answer: Any, table: str) -> list[list[str]]:
    """Return the text of the body of a table by its id."""
    body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', answer.content.decode(), re.DOTALL)
    assert body
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body[1], re.DOTALL)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in found]


def imports_listed(client: Client, query: str = "") -> list[str]:
    """Return what the list of imports says of each."""
    page = client.get(f"{ACTIVITY}?kind=import{query}").content.decode()
    [body] = re.findall('(?s)<table class="cards-phone imports">.*?<tbody>(.*?)</tbody>', page) or [""]
    return [
        text_of(re.sub('(?s)<span class="avatar.*?</span>', "", row)) for row in re.findall("(?s)<tr>.*?</tr>", body)
    ]


def page_of(run: ImportRun) -> str:
    """Return the address of its page: that of its change, if it changed something."""
    return f"/admin/activity/{run.change_id or f'i{run.pk}'}/"


def why(shown: Any) -> str:
    return str(shown.context["work"]["why"])


def undo_of(run: ImportRun) -> str:
    return f"{page_of(run)}undo/"


def test_two_confirmations_at_the_same_moment_import_a_file_once(staff: Client, category: Category) -> None:
    """The second has looked before the first was done, and its boxes let the same file be imported again."""
    shown = send(staff, f"{HEADER}Rex,Dogs,,\n")
    second = ImportUpload.objects.select_related("run").get()
    confirm(staff, shown)
    queue.put(second, {"digest": shown.context["work"]["digest"], "options": {"again": True}})
    assert (second.work, second.waits_since) == ({"state": "imported"}, None)
    assert [name for name, *_ in catalogue()] == ["Rex"]


def test_a_file_is_shown_then_imported(staff: Client, category: Category) -> None:
    Pet.objects.create(name="Max", category=category, external_reference="A-1")
    Pet.objects.create(name="Same", category=category, external_reference="A-2", status="sold")
    content = f"{HEADER}Rex,Dogs\nMaximus,,sold,A-1\nSame,Dogs,sold,A-2\n,Dogs,,A-3\n,Dogs,sold,A-2\n"
    shown = send(staff, content)
    maximus, same = (Pet.objects.get(external_reference=reference) for reference in ("A-1", "A-2"))
    page = shown.content.decode()
    assert 'aria-label="1 new, 1 changed, 1 unchanged, 2 with errors"' in page
    tabs = re.findall(r'<a href="(\?[^"]*#rows)"[^>]*>(\w+)<span class="count[^>]*>(\d+)', page)
    assert tabs == [
        ("?#rows", "All", "5"),
        ("?show=added#rows", "New", "1"),
        ("?show=changed#rows", "Changed", "1"),
        ("?show=unchanged#rows", "Unchanged", "1"),
        ("?show=rejected#rows", "Errors", "2"),
    ]
    assert cells(shown, "plan") == planned(
        ["2", "New", "Rex", "Dogs", "available", ""],
        ["3", f"Changed {maximus.pk} by reference", "Max becomes Maximus", "Dogs", "available becomes sold", "A-1"],
        ["4", f"Unchanged {same.pk} by reference", "Same", "Dogs", "sold", "A-2"],
        ["5", "Error", "blank", "Dogs", "", "A-3"],
        ["", "", "name is required."],
        ["6", "Error", "", "Dogs", "sold", "A-2"],
        ["", "", TWICE],
    )
    errors = staff.get(f"{ADD}{shown.context['upload'].pk}/?show=rejected")
    assert [row[0] for row in cells(errors, "plan")] == ["5", "", "6", ""]
    assert catalogue() == [("Max", "Dogs", "available", "A-1"), ("Same", "Dogs", "sold", "A-2")]

    done = confirm(staff, shown)
    run = ImportRun.objects.get(state="done")
    assert done.redirect_chain == [(page_of(run), 302)]
    assert told(done) == []
    said = text_of(done.content.decode())
    assert "keeper imported friday.csv: 1 added, 1 changed Just now, back office." in said
    assert "Undo deletes 1 animal and sets 1 animal back." in said
    assert (
        "1 animal Added Show the new animals 1 animal Changed Show what changed 2 rows Rejected Download with errors"
        f" Rejected rows name is required. Line 5 {unescape(TWICE)} Line 6" in said
    )
    assert catalogue() == [
        ("Maximus", "Dogs", "sold", "A-1"),
        ("Same", "Dogs", "sold", "A-2"),
        ("Rex", "Dogs", "available", None),
    ]
    assert (run.who, run.file_name) == ("staff keeper", "friday.csv")
    written = Pet.history.filter(change=run.change).order_by("import_line")
    assert [(change.actor, change.import_line, change.history_type) for change in written] == [
        (str(run), 2, "+"),
        (str(run), 3, "~"),
    ]
    assert {change.request_id for change in written} == {"confirm-1"}


@pytest.mark.parametrize("safe", [True, False])
def test_a_file_of_rejected_rows_is_safe_against_formulas_or_says_that_it_is_not(
    staff: Client, category: Category, safe: bool
) -> None:
    shown = send(staff, f"{HEADER}Rex,Dogs,,A-1\n=1+1,Dogs,,A-1\n", **({} if safe else {"formula_safe": ""}))
    upload = shown.context["upload"]
    file = staff.get(f"{ADD}{upload.pk}/rejects/").content.decode("utf-8-sig")
    assert (",'=1+1,Dogs" in file) is safe
    record = confirm(staff, shown)
    for page in (shown, record):
        assert ("This file is not safe against formulas" in page.content.decode()) is not safe


def test_the_rejected_rows_can_be_mended_and_sent_again(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs\n")
    upload = shown.context["upload"]
    file = staff.get(f"{ADD}{upload.pk}/rejects/")
    assert file["Content-Disposition"] == 'attachment; filename="friday-rejected.csv"'
    assert file.content.decode("utf-8-sig") == (
        "_line,_code,_message,name,category,status,external_reference\r\n"
        "3,validation_failed,name is required.,,Dogs,,\r\n"
    )
    again = send(staff, file.content.replace(b",,Dogs", b",Nemo,Dogs"), "friday-rejected.csv")
    assert cells(again, "plan") == planned(["2", "New", "Nemo", "Dogs", "available", ""])


def test_errors_stand_in_the_order_of_lines_with_the_values_of_their_rows(staff: Client, category: Category) -> None:
    """Whether the file alone shows that a row is wrong, or the catalogue."""
    Pet.objects.create(name="Max", category=category, external_reference="A-1")
    content = "id,name,categoryId,external_reference\n"
    content += f"999999,Gone,{category.pk},\n,,{category.pk},\n,Rex,{category.pk},A-9\n,Lost,7777777,\n,Twin,{category.pk},A-9\n"
    content += f",a,b,c,d,e\n,{'x' * 300},{category.pk},\n1.000,Evil,{category.pk}\n"
    shown = send(staff, content)
    number = str(category.pk)
    assert cells(shown, "plan") == planned(
        ["2", "Error", "Gone", number, "", ""],
        ["", "", "id 999999 is not the ID of an animal. Leave it blank to add one."],
        ["3", "Error", "blank", number, "", ""],
        ["", "", "name is required."],
        ["4", "New", "Rex", "Dogs", "available", "A-9"],
        ["5", "Error", "Lost", "7777777", "", ""],
        ["", "", "categoryId 7777777 must be the id of an existing category."],
        ["6", "Error", "Twin", number, "", "A-9"],
        [
            "",
            "",
            "external_reference &quot;A-9&quot; is the same animal as line 4. An animal can be in a file only once.",
        ],
        ["7", "Error", "This row can't be read."],
        ["", "", "The row has 6 cells, the header has 4."],
        ["8", "Error", f"{'x' * 40}…", number, "", ""],
        ["", "", f"name &quot;{'x' * 40}…&quot; must have 1 to 255 characters."],
        ["9", "Error", "Evil", number, "", ""],
        ["", "", "id &quot;1.000&quot; must be digits only."],
    )
    file = staff.get(f"{ADD}{shown.context['upload'].pk}/rejects/").content.decode("utf-8-sig")
    assert [line.partition(",")[0] for line in file.splitlines()] == ["_line", "3", "5", "7", "8", "9", "2", "6"]


def test_the_button_that_imports_is_at_the_foot_and_on_top(staff: Client, category: Category) -> None:
    page = send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs,,\n").content.decode()
    on_top, at_the_foot = page.index("Import 1 row</button>"), page.index("Import 1 row, leave out 1</button>")
    assert on_top < page.index('<table id="plan">') < at_the_foot


def test_fifty_rows_are_on_a_page(staff: Client, category: Category) -> None:
    shown = send(staff, HEADER + "".join(f"Rex {number},Dogs,,\n" for number in range(60)) + ",Dogs,,\n")
    page = shown.content.decode()
    assert "<span>Rows 1 to 50 of 61</span>" in page
    address = f"{ADD}{shown.context['upload'].pk}/"
    pages = [staff.get(f"{address}{query}") for query in ("?page=2#rows", "?show=added&page=2#rows")]
    assert '<a class="btn btn-small" rel="next" href="?page=2#rows">' in page
    assert [[row[0] for row in cells(each, "plan")] for each in pages] == [
        [*map(str, range(52, 63)), ""],
        [*map(str, range(52, 62))],
    ]


def test_a_file_is_one_import_from_its_preview_on(staff: Client, category: Category) -> None:
    pet = Pet.objects.create(name="Max", category=category, external_reference="A-1")
    shown = send(staff, f"{HEADER}Rex,Dogs,,\nMaximus,,,A-1\n")
    run = ImportRun.objects.get()
    assert (run.state, run.created, run.updated) == ("dry run", 1, 1)
    assert not ImportRun.objects.exclude(state="dry run").exists()
    assert imports_listed(staff) == [
        "friday.csv keeper · Just now Not imported yet 2 rows 1 new 1 changed 0 rejected Continue : friday.csv"
    ]
    Pet.objects.filter(pk=pet.pk).update(name="Maxi")
    confirm(staff, confirm(staff, shown))
    done = ImportRun.objects.get()
    assert (done.pk, done.state, done.created, done.updated, done.options["dry_run"]) == (run.pk, "done", 1, 1, False)
    times = [run.previewed_at, done.previewed_at, done.started_at, done.finished_at]
    assert times == sorted(filter(None, times))
    record = staff.get(page_of(done)).content.decode()
    assert f"Import {done.pk} Previewed Just now Unchanged 0 rows" in text_of(record)
    assert ImportRun.objects.exclude(state="dry run").count() == 1


def test_a_preview_can_be_seen_again_and_leads_to_the_same_import(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}Rex,Dogs,,\n")
    upload = shown.context["upload"]
    record = page_of(upload.run)
    page = staff.get(record).content.decode()
    assert "Nothing was imported." in page
    assert f'action="{ADD}{upload.pk}/preview/"' in page
    confirm(staff, again(staff, shown))
    assert [(run.pk, run.state) for run in ImportRun.objects.all()] == [(upload.run.pk, "done")]
    assert told(again(staff, shown)) == [f"This was imported already: {upload.run}."]
    assert f'action="{ADD}{upload.pk}/preview/"' not in staff.get(record).content.decode()


def test_the_record_links_to_what_was_added(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n"))
    run = ImportRun.objects.get()
    added = f"/admin/pets/pet/?import_run={run.pk}"
    assert f'<a href="{added}">Show the new animals</a>' in staff.get(page_of(run)).content.decode()
    assert [pet.name for pet in staff.get(added).context["cl"].result_list] == ["Rex"]
    staff.post(undo_of(run))
    assert added not in staff.get(page_of(run)).content.decode()


ENDS = {
    "dry run": ("previewed", "Preview", "Nothing was imported. This is what the file would have done. The file"),
    "done": ("imported", "Done", "Nothing had to change. The file"),
    "rejected": ("tried to import", "Rejected", "It ended. Nothing was imported. Fix the file, then import it again."),
    "already imported": ("tried to import", "Already imported", "It ended. The file"),
    "stopped": ("tried to import", "Stopped", "It ended. Import the file again."),
    "failed": ("tried to import", "Failed", "It ended. Import the file again. If it fails again, ask an operator."),
    "killed": ("tried to import", "Killed", "It ended. Import the file again."),
}
"""What each that changed nothing is called, its badge, and what its page says."""


@pytest.mark.parametrize("state", ENDS)
def test_the_page_of_an_import_says_how_it_ended_and_what_to_do(staff: Client, state: str) -> None:
    ended = {"state": state, "outcome": "It ended.", "finished_at": timezone.now()}
    run = ImportRun.objects.create(who="root", file_name="a.csv", options={}, **ended)
    verb, badge, said = ENDS[state]
    page = text_of(staff.get(page_of(run)).content.decode())
    assert f"root {verb} a.csv {badge} Just now, command. Import another file {said}" in page
    assert "undo/" not in page
    assert 'class="card flows"' not in staff.get(page_of(run)).content.decode() or state == "dry run"
    for page in ("undo", "csv", "stop", "continue"):
        assert staff.post(f"{page_of(run)}{page}/").status_code in {404, 405}


def test_the_address_of_an_import_leads_to_its_change(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n"))
    done = ImportRun.objects.get()
    assert staff.get(f"{ACTIVITY}i{done.pk}/")["Location"] == page_of(done)
    assert staff.get(f"{ACTIVITY}i999999/").status_code == 404


def test_imports_are_listed_whatever_became_of_them(staff: Client, category: Category) -> None:
    keeper = User.objects.get(username="keeper")
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs,,\n", "señor.csv"))
    staff.post(undo_of(ImportRun.objects.get()))
    for state in ("stopped", "killed", "rejected", "failed", "done", "dry run"):
        ended = {"state": state, "outcome": "Not a workbook.", "rows": 5}
        ImportRun.objects.create(who="root", file_name=f"{state}.csv", options={}, **ended)
    sent(staff, f"{HEADER}Max,Dogs,,\n,Dogs,,\n", "checked.csv")
    for name, work, waits in [
        ("asked.csv", None, None),
        ("unread.csv", {"state": "rejected", "why": "Not a table."}, None),
        ("waits.csv", {"state": "waiting", "checks": True}, timezone.now()),
    ]:
        kept = {"content": b"", "options": {}, "uploaded_by": keeper, "work": work, "waits_since": waits}
        ImportUpload.objects.create(file_name=name, **kept)
    nothing = "root · Just now"
    assert imports_listed(staff) == [
        "waits.csv keeper · Just now Waiting Open : waits.csv",
        "unread.csv keeper · Just now Not a table. Continue : unread.csv",
        "asked.csv keeper · Just now Columns to match Continue : asked.csv",
        "checked.csv keeper · Just now Not imported yet 2 rows 1 new 0 changed "
        "1 rejected rows of checked.csv: download rejected Continue : checked.csv",
        f"dry run.csv {nothing} Preview 5 rows 0 new 0 changed 0 rejected",
        f"done.csv {nothing} Done 5 rows 0 new 0 changed 0 rejected",
        f"failed.csv {nothing} Failed",
        f"rejected.csv {nothing} Not a workbook.",
        f"killed.csv {nothing} Interrupted",
        f"stopped.csv {nothing} Stopped",
        "señor.csv keeper · Just now Undone by keeper 2 rows 1 new 0 changed "
        "1 rejected rows of señor.csv: download rejected Redo… : imported señor.csv: 1 added",
    ]
    names = {query: [line.split(" ")[0] for line in imports_listed(staff, query)] for query in (
        "&q=SENOR", "&q=rex", "&who=people", "&who=root&q=failed", "&day_to=2020-01-01",
    )}  # fmt: skip
    assert [*names.values()] == [["señor.csv"], ["señor.csv"], ["checked.csv", "señor.csv"], ["failed.csv"], []]
    viewer = member("viewer", "view_importrun", "view_pet")
    others = imports_listed(viewer)
    assert [others[0], others[3], others[-1]] == [
        "waits.csv keeper · Just now Waiting",
        "checked.csv keeper · Just now Not imported yet 2 rows 1 new 0 changed 1 rejected",
        "señor.csv keeper · Just now Undone by keeper 2 rows 1 new 0 changed 1 rejected",
    ]


def test_imports_are_listed_page_by_page(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        ImportRun.objects.create(who="root", file_name=f"{number}.csv", options={}, state="done")
    monkeypatch.setattr(activity, "PER_PAGE", 2)
    found: list[str] = []
    query: str | None = ""
    while query is not None:
        found += [line[0] for line in imports_listed(staff, query)]
        older = re.search(
            r'rel="next" href="[^"]*(&amp;before=\d+)"', staff.get(f"{ACTIVITY}?kind=import{query}").content.decode()
        )
        query = unescape(older[1]) if older else None
    assert found == ["4", "3", "2", "1", "0"]


def test_a_preview_waits_on_top_of_activity_until_it_is_discarded(staff: Client, category: Category) -> None:
    send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs,,\n")
    upload = ImportUpload.objects.get()
    [card] = re.findall('(?s)<section class="card now".*?</section>', staff.get(ACTIVITY).content.decode())
    assert text_of(card) == (
        "1 preview waits for you friday.csv is checked, but not imported 2 rows 1 new 0 changed 1 rejected"
        " · sent just now Continue : friday.csv Discard friday.csv"
    )
    assert f'href="{ADD}{upload.pk}/">Continue' in card
    assert "card now" not in member("other", superuser=True).get(ACTIVITY).content.decode()
    discarded = staff.post(f"{ADD}{upload.pk}/discard/", follow=True)
    assert told(discarded) == ["“friday.csv” was discarded. Nothing was imported from it."]
    assert "card now" not in discarded.content.decode()
    assert (ImportUpload.objects.count(), ImportRun.objects.get().state) == (0, "dry run")
    again = staff.post(f"{ADD}{upload.pk}/discard/", follow=True)
    assert told(again) == ["This file is gone: it was discarded, or is older than a day. Nothing changed."]
    assert again.request["PATH_INFO"] == ACTIVITY


@pytest.mark.parametrize(
    ("state", "said"),
    [("waiting", "Waits since Just now"), ("running", "Nothing is saved until you confirm. Starting")],
)
def test_files_at_work_are_on_top_of_activity(staff: Client, state: str, said: str) -> None:
    keeper, work = User.objects.get(username="keeper"), {"state": state, "checks": True, "who": "staff keeper"}
    upload = ImportUpload.objects.create(
        file_name="large.csv", content=b"", options={}, uploaded_by=keeper, work=work, waits_since=timezone.now()
    )
    with only_import():
        pages = [each.get(ACTIVITY).content.decode() for each in (staff, member("other", superuser=True))]
    cards = [re.findall('(?s)<section class="card now".*?</section>', page)[0] for page in pages]
    assert [f"keeper is checking large.csv {said}" in text_of(card) for card in cards] == [True, True]
    for address, word in (("", "Open"), ("stop/", "Stop")):
        assert [f'{ADD}{upload.pk}/{address}"' in card for card in cards] == [True, False]
        assert [f"{word} : is checking large.csv" in text_of(card) for card in cards] == [True, False]


@pytest.mark.parametrize("tab", ["", "?kind=import"])
def test_a_file_that_ends_while_activity_is_read_is_shown_as_it_was(staff: Client, tab: str) -> None:
    work = {"state": "running", "checks": True, "phase": "check", "who": "staff keeper"}
    kept = {
        "file_name": "a.csv",
        "content": b"",
        "options": {},
        "uploaded_by": User.objects.get(username="keeper"),
        "work": work,
    }
    upload = ImportUpload.objects.filter(pk=ImportUpload.objects.create(waits_since=timezone.now(), **kept).pk)
    read: list[str] = []

    def end_after_the_first(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SELECT") and 'FROM "pets_importupload"' in sql:
            if read:
                upload.update(work={"state": "imported"}, waits_since=None)
            elif 'AS "state"' in sql:
                read.append(sql)
        return execute(sql, *rest)

    with only_import(), connection.execute_wrapper(end_after_the_first):
        page = staff.get(f"{ACTIVITY}{tab}")
    assert page.status_code == 200
    words = "Checking, 0 %" if tab else "keeper is checking a.csv Nothing is saved until you confirm. Starting"
    assert words in text_of(page.content.decode())
    assert read


@pytest.mark.parametrize("page", ["columns", "preview", "confirm", "take", "rejects"])
def test_a_file_that_is_discarded_while_its_page_is_made_is_gone(staff: Client, category: Category, page: str) -> None:
    number = send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs,,\n").context["upload"].pk
    ask, turns = staff.get if page in {"columns", "rejects"} else staff.post, iter([False, True])

    def discard(execute: Any, sql: str, *rest: Any) -> Any:
        if '"pets_importupload"' in sql and next(turns, False):
            ImportUpload.objects.all().delete()
        return execute(sql, *rest)

    with connection.execute_wrapper(discard):
        gone = ask(f"{ADD}{number}/{page}/", follow=True)
    assert told(gone) == ["This file is gone: it was discarded, or is older than a day. Nothing changed."]


def test_what_went_on_in_another_tab_is_not_discarded_or_matched(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}Rex,Dogs,,\n")
    page = f"{ADD}{ImportUpload.objects.get().pk}/"
    forms = f"{page}discard/", f"{page}columns/"
    ImportUpload.objects.update(waits_since=timezone.now())
    assert [staff.post(form).headers["Location"] for form in forms] == [page, page]
    ImportUpload.objects.update(waits_since=None)
    confirm(staff, shown)
    already = [f"This was imported already: {ImportRun.objects.get()}."]
    assert [told(staff.post(form, follow=True)) for form in forms] == [already, already]


@pytest.mark.parametrize(("seconds", "said"), [(0.4, ""), (1, " It took 1 second."), (4, " It took 4 seconds.")])
def test_the_record_says_how_long_it_took(staff: Client, seconds: float, said: str) -> None:
    run = ImportRun.objects.create(who="root", file_name="a.csv", options={}, state="done")
    ImportRun.objects.update(finished_at=run.started_at + timedelta(seconds=seconds))
    page = text_of(staff.get(page_of(run)).content.decode())
    assert f"Just now, command.{said} Import" in page


def test_an_import_that_runs_says_so_until_it_ends(staff: Client) -> None:
    with only_import():
        run = ImportRun.objects.create(who="root", file_name="a.csv", options={})
        record = page_of(run)
        said = "The import is running. Nothing is saved until it ends. Reload The file"
        assert said in text_of(staff.get(record).content.decode())
    said = "Import another file It was interrupted before it was saved. Nothing changed. Import the file again."
    assert said in text_of(staff.get(record).content.decode())


def test_an_import_without_a_file_name_is_one_of_standard_input(staff: Client) -> None:
    run = ImportRun.objects.create(who="root", file_name="-", options={}, state="done", rejects="/tmp/r.csv")
    page = staff.get(page_of(run)).content.decode()
    assert "<title>[Development] root imported standard input | Pet Store back office</title>" in " ".join(page.split())
    assert "Rejected rows /tmp/r.csv" in text_of(page)


def test_the_file_is_chosen_in_three_steps_with_options_out_of_the_way(staff: Client) -> None:
    page = staff.get(ADD).content.decode()
    said = text_of(page)
    assert '<li aria-current="step"><b>1</b>Choose a file</li>' in page
    assert "Your file CSV or XLSX, at most 25 MB and 500,000 rows Drop a file here or choose one" in said
    assert "Options Blank cells keep the value · missing categories are asked about" in said
    assert '<details class="card fold"><summary>' in page
    assert 'To change many animals, <a href="/admin/pets/pet/">export them</a>' in page
    importer = member("importer", "view_pet", "add_importrun", "view_pet")
    assert "export them" not in importer.get(ADD).content.decode()


def test_an_error_stands_beside_the_file_with_the_options_as_they_were(staff: Client) -> None:
    answer = staff.post(ADD, CHOSEN | {"blank": "clear", "create_categories": "on"})
    page = answer.content.decode()
    said = text_of(page)
    assert answer.status_code == 400
    assert (
        "unless Options are open Choose a file. Options Blank cells clear the status · missing categories are added"
        in said
    )
    assert '<details class="card fold" open><summary>' in page


def test_missing_categories_are_added_if_asked_for(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}Nemo,Fish,,\nRex,Dogs,,\nTom,Cats,,\n", create_categories="on")
    assert "Adds 2 categories: Cats, Fish" in shown.content.decode()
    assert list(Category.objects.values_list("name", flat=True)) == ["Dogs"]
    record = confirm(staff, shown).content.decode()
    links = re.findall('<a href="/admin/categories/category/[0-9]+/change/">([^<]+)</a>', record)
    assert sorted(links) == ["Cats", "Fish"]
    assert catalogue() == [
        ("Nemo", "Fish", "available", None),
        ("Rex", "Dogs", "available", None),
        ("Tom", "Cats", "available", None),
    ]


def test_who_may_not_add_categories_cannot_by_a_file(category: Category) -> None:
    client = member("importer", "view_pet", "add_importrun")
    shown = send(client, f"{HEADER}Nemo,Fish,,\n", create_categories="on")
    assert "Match the values" in shown.content.decode()
    assert "New category" not in shown.content.decode()
    assert not Category.objects.filter(name="Fish").exists()


def test_who_loses_that_permission_after_the_preview_does_not_add_them(category: Category) -> None:
    client = member("importer", "view_pet", "add_importrun", "add_category")
    shown = send(client, f"{HEADER}Nemo,Fish,,\n", create_categories="on")
    User.objects.get().user_permissions.remove(Permission.objects.get(codename="add_category"))
    assert confirm(client, shown).status_code == 403
    assert not Category.objects.filter(name="Fish").exists()


def test_what_is_done_is_what_was_shown(staff: Client, category: Category) -> None:
    pet = Pet.objects.create(name="Max", category=category, external_reference="A-1")
    shown = send(staff, f"{HEADER}Rex,Dogs,,\nMaximus,,,A-1\n")
    Pet.objects.filter(pk=pet.pk).update(name="Maxi")
    later = confirm(staff, shown)
    assert later.context["work"]["why"] == queue.CHANGED_SINCE
    assert cells(later, "plan") == planned(
        ["2", "New", "Rex", "Dogs", "available", ""],
        ["3", f"Changed {pet.pk} by reference", "Maxi becomes Maximus", "Dogs", "available", "A-1"],
    )
    assert catalogue() == [("Maxi", "Dogs", "available", "A-1")]
    confirm(staff, later)
    assert catalogue() == [("Maximus", "Dogs", "available", "A-1"), ("Rex", "Dogs", "available", None)]


def test_a_file_is_imported_once(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}Rex,Dogs,,\n")
    confirm(staff, shown)
    run = ImportRun.objects.get(state="done")
    assert told(confirm(staff, shown)) == [f"This was imported already: import {run.pk}."]

    same = send(staff, f"{HEADER}Rex,Dogs,,\n")
    assert f"This very file was imported already: import {run.pk} by keeper" in same.content.decode()
    assert why(confirm(staff, same)) == (
        f"Nothing changed. This file was already imported: import {run.pk} by keeper, "
        f'{run.started_at:%Y-%m-%d %H:%M} UTC, as "friday.csv". Importing it again would add its animals without an '
        "external reference twice."
    )
    assert Pet.objects.count() == 1
    confirm(staff, same, again="on")
    assert Pet.objects.count() == 2


@pytest.mark.parametrize("meanwhile", [lambda: Pet.objects.update(name="Max"), lambda: Pet.objects.get().delete()])
def test_the_same_file_that_adds_nothing_twice_is_not_asked_about(
    staff: Client, category: Category, meanwhile: Callable[[], object]
) -> None:
    content = f"{HEADER}Rex,Dogs,,A-1\n"
    confirm(staff, send(staff, content))
    meanwhile()
    same = send(staff, content)
    assert "This very file" not in same.content.decode()
    assert ": 1 " in confirm(staff, same).content.decode()
    assert catalogue() == [("Rex", "Dogs", "available", "A-1")]


ON_SECOND = book({"Sheet": [], "Animals": [["name", "category"], ["Rex", "Dogs"]]}, hidden="Sheet")
MAX = ("Max", "Dogs", "sold", "A-1")


@pytest.mark.parametrize(
    ("content", "chosen", "becomes"),
    [
        (f"{HEADER}'=1,Dogs,,\n", {"formula_safe": ""}, [MAX, ("'=1", "Dogs", "available", None)]),
        (f"{HEADER}'=1,Dogs,,\n", {}, [MAX, ("=1", "Dogs", "available", None)]),
        (f"{HEADER}Nemo,Fish,,\n", {"create_categories": "on"}, [MAX, ("Nemo", "Fish", "available", None)]),
        (f"{HEADER}Moritz,Dogs,,A-1\n", {}, [("Moritz", "Dogs", "sold", "A-1")]),
        (f"{HEADER}Moritz,Dogs,,A-1\n", {"blank": "clear"}, [("Moritz", "Dogs", "available", "A-1")]),
        (ON_SECOND, {}, [MAX, ("Rex", "Dogs", "available", None)]),
    ],
    ids=["quotes", "formulas", "categories", "blanks kept", "blanks cleared", "the only sheet with rows"],
)  # fmt: skip
def test_what_was_chosen_holds_at_every_preview_and_when_it_is_confirmed(
    staff: Client, category: Category, content: str | bytes, chosen: dict[str, str], becomes: list[Any]
) -> None:
    Pet.objects.create(name="Max", category=category, status="sold", external_reference="A-1")
    first = send(staff, content, "a.csv" if content[:1] in {"n", b"n"} else "a.xlsx", **chosen)
    second = again(staff, first)
    assert second.context["work"]["digest"] == first.context["work"]["digest"]
    assert told(confirm(staff, second)) == []
    assert catalogue() == becomes


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "The submitted file is empty."),
        (b"\x1f\x8bgzip", NO_TABLE),
        (b"\x7fELF" + bytes(50), NO_TABLE),
        (b"x" * (settings.LARGEST_UPLOAD + 1), "The file has 26,214,401 bytes. Files here can have at most 25 MB."),
    ],
    ids=["empty", "gzip", "binary", "bytes"],
)
def test_a_file_that_cannot_be_used(staff: Client, category: Category, content: str | bytes, sentence: str) -> None:
    answer = send(staff, content)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert not Pet.objects.exists()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x>', "{{ 7*7 }}"])
def test_what_is_in_a_file_is_only_text(staff: Client, category: Category, name: str) -> None:
    quoted = name.replace('"', '""')
    shown = send(staff, f'{HEADER}"{quoted}",Dogs,,"{quoted}"\n"{quoted}","{quoted}",,\n', f"{name[:20]}.csv")
    assert escape(name) in shown.content.decode()
    assert "<script>alert" not in shown.content.decode()
    assert "<img src=x>" not in shown.content.decode()


def test_nobody_sees_the_file_of_another(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs,,\n")
    upload = shown.context["upload"]
    other, page = member("other", superuser=True), f"{ADD}{upload.pk}/"
    assert [other.get(each).status_code for each in (page, f"{page}rejects/")] == [404, 404]
    sent = {"digest": shown.context["work"]["digest"]}
    for each in ("confirm", "stop", "preview", "discard"):
        assert other.post(f"{page}{each}/", sent).status_code == 404
    assert not Pet.objects.exists()
    confirm(staff, shown)
    record = page_of(ImportRun.objects.get(state="done"))
    assert [f"{page}rejects/" in client.get(record).content.decode() for client in (staff, other)] == [True, False]


def test_who_may_only_look(category: Category, staff: Client) -> None:
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n"))
    run = ImportRun.objects.get(state="done")
    viewer = member("viewer", "view_importrun")
    record = viewer.get(page_of(run))
    assert record.status_code == 200
    page = record.content.decode()
    assert "keeper imported friday.csv: 1 added" in page
    assert imports_listed(viewer) == ["friday.csv keeper · Just now Done 1 row 1 new 0 changed 0 rejected"]
    assert viewer.get(ACTIVITY).content.decode().count("kind=") == 1
    for hidden in (undo_of(run), ADD, "/admin/pets/pet/", "Rex"):
        assert hidden not in page
    for address in (ADD, undo_of(run)):
        assert [viewer.get(address).status_code, viewer.post(address).status_code] == [403, 403]
    assert Pet.objects.count() == 1


def test_old_files_are_forgotten(staff: Client, category: Category) -> None:
    for waits_since, count in ((None, 1), (timezone.now(), 3)):  # what a process is at work on is kept
        send(staff, f"{HEADER}Rex,Dogs,,\n")
        ImportUpload.objects.update(created_at="2026-11-01T12:00:00Z", waits_since=waits_since)
        sent(staff, f"{HEADER}Max,Dogs,,\n", "saturday.csv")
        assert ImportUpload.objects.count() == count


def button_of(page: Any) -> list[str]:
    """Return the words of the button that undoes, if there is one."""
    form = page.content.decode().partition('<form method="post" class="main-form">')[2].partition("</form>")[0]
    return [text_of(words) for words in re.findall('(?s)<button type="submit".*?</button>', form)]


def test_categories_that_go_too_are_announced(staff: Client, category: Category) -> None:
    content = f"{HEADER}Nemo,Fish,,\n"
    confirm(staff, send(staff, content, create_categories="on"))
    run = ImportRun.objects.get()
    assert "Categories that the import added are deleted if they are empty." in staff.get(undo_of(run)).content.decode()
    assert told(staff.post(undo_of(run), follow=True)) == ["Undid “imported friday.csv: 1 added”."]
    assert not Category.objects.filter(name="Fish").exists()
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n"))
    assert "Categories that" not in staff.get(undo_of(ImportRun.objects.latest("pk"))).content.decode()


def test_an_import_is_undone(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\nMax,Dogs,,\n"))
    run = ImportRun.objects.get(state="done")
    max_ = Pet.objects.get(name="Max")
    max_.status = "sold"
    max_.save()
    asked = staff.get(undo_of(run))
    assert "Nothing is changed yet. keeper imported friday.csv: 2 added just now." in text_of(asked.content.decode())
    assert button_of(asked) == ["Undo: delete 1 animal"]
    assert 'class="btn btn-danger default"' in asked.content.decode()
    undone = staff.post(undo_of(run), follow=True, headers={"X-Request-ID": "undo-1"})
    left = "1 animal is left as it is. Max: changed since"
    assert told(undone) == ["Undid “imported friday.csv: 2 added”.", left]
    assert catalogue() == [("Max", "Dogs", "sold", None)]
    assert "Partly undone by keeper" in text_of(staff.get(page_of(run)).content.decode())
    deleted = Pet.history.get(name="Rex", history_type="-")
    assert (deleted.actor, deleted.request_id) == ("staff keeper", "undo-1")
    assert ImportRun.objects.get(pk=run.pk).outcome == "It was undone by keeper. 1 animal was left as it is."
    Pet.objects.update(status="available")
    staff.post(undo_of(run))
    assert catalogue() == []
    assert told(staff.post(undo_of(run), follow=True))[-1] == "Nothing changed. It was undone already, by keeper."


def test_the_record_is_in_words(staff: Client, category: Category) -> None:
    confirm(staff, send(staff, f"{HEADER}Rex,Dogs,,\n,Dogs,,\n", create_categories="on", blank="clear"))
    run = ImportRun.objects.get(state="done")
    page = staff.get(page_of(run)).content.decode()
    assert (
        "missing categories added, rows with errors rejected, a &#x27; before cells dropped, blank cells clear" in page
    )
    assert "keep_blanks" not in page


@pytest.mark.parametrize(("file_format", "starts"), [("csv", f"{CSV_HEADER}\n".encode("utf-8-sig")), ("xlsx", b"PK")])
def test_a_template_can_be_downloaded(staff: Client, file_format: str, starts: bytes) -> None:
    assert f'href="?template={file_format}"' in staff.get(ADD).content.decode()
    file = staff.get(f"{ADD}?template={file_format}")
    assert file["Content-Disposition"] == f'attachment; filename="new-animals.{file_format}"'
    assert file.content.startswith(starts)
    filled = file.content + b",Rex,Dogs,sold\n" if file_format == "csv" else file.content
    answer = send(staff, filled, f"new.{file_format}", create_categories="on")
    assert answer.status_code == (200 if file_format == "csv" else 400)  # a header without rows


def test_what_changes_in_a_hidden_column_stands_below_the_row(staff: Client, category: Category) -> None:
    """A phone has no room for the columns of the category and the reference."""
    Category.objects.create(name="Cats")
    old = Pet.objects.create(name="Max", category=category, external_reference="A-1")
    new = Pet.objects.create(name="Tom", category=category)
    shown = send(staff, f"id,external_reference,name,category\n{old.pk},A-9,Max,Cats\n{new.pk},B-1,Tom,Dogs\n")
    assert cells(shown, "plan") == planned(
        ["2", f"Changed {old.pk} by id", "Max", "Dogs becomes Cats", "available", "A-1 becomes A-9"],
        ["", "", "Category: Dogs becomes Cats"],
        ["", "", "Reference: A-1 becomes A-9"],
        ["3", f"Changed {new.pk} by id", "Tom", "Dogs", "available", "none becomes B-1"],
        ["", "", "Reference: none becomes B-1"],
    )
    rows = re.findall(r'<tr class="below-(\w+)">', shown.content.decode())
    assert rows == ["phone", "narrow", "narrow"]


def test_ids_of_another_catalogue_must_be_confirmed(staff: Client, category: Category) -> None:
    pet = Pet.objects.create(name="Max", category=category, external_reference="W-1")
    shown = send(staff, f"id,external_reference,name,category\n{pet.pk},E-77,Olive,Dogs\n")
    assert (
        "Confirm one thing first. Choose a file 2 Check the rows 3 Import The IDs look like those of another catalogue "
        "Most rows with one (1) would change the name and also the reference or category of its animal: "
        f"Animal {pet.pk}: W-1 → E-77, Max → Olive Ignore the IDs Do this if it is the file of another shop. Animals are "
        "then found by their references. The IDs are right: change these animals" in text_of(shown.content.decode())
    )
    assert re.findall(r'name="(\w+)" id="id_\w+" required', shown.content.decode()) == ["accept_ids"]
    stopped = confirm(staff, shown)
    assert why(stopped) == UNCONFIRMED
    assert catalogue() == [("Max", "Dogs", "available", "W-1")]
    done = confirm(staff, stopped, accept_ids="on")
    assert catalogue() == [("Olive", "Dogs", "available", "E-77")]
    assert "changes of most names by ID accepted" in done.content.decode()


def test_ids_of_another_catalogue_are_ignored_with_one_click(staff: Client, category: Category) -> None:
    pet = Pet.objects.create(name="Max", category=category, external_reference="W-1")
    Pet.objects.create(name="Tom", category=category, external_reference="E-77")
    rows = [f"{pet.pk},E-78,Olive,Dogs,", ",E-77,Tom,Dogs,sold"]
    shown = take(staff, send(staff, "\n".join(["id,external_reference,name,category,status", *rows, ""])), "ids")
    assert (shown.context["boxes"], shown.context["to_import"]) == (0, 2)
    confirm(staff, shown)
    assert [(name, status) for name, _, status, _ in catalogue()] == [
        ("Max", "available"),
        ("Tom", "sold"),
        ("Olive", "available"),
    ]


def lacks(page: Any) -> str:
    """Return what is said of animals that the file lacks."""
    return text_of(page.content.decode()).partition("t in the file ")[2]


def test_animals_that_the_file_lacks_are_named_and_kept(staff: Client, category: Category) -> None:
    for number in range(25):
        Pet.objects.create(name=f"Animal {number}", category=category, external_reference=f"A-{number}")
    content = f"{HEADER}Animal 0,Dogs,,A-0\n{'x' * 256},Dogs,,A-1\nRex,Dogs,,\n"
    shown = send(staff, content)
    assert lacks(shown).startswith("Nothing happens to them Animal 2 A-2 Animal 3 A-3 ")
    assert "Animal 21 A-21 These are the first 20. All animals" in lacks(shown)
    assert '<a href="/admin/pets/pet/">All animals</a>' in shown.content.decode()
    assert shown.context["found"]["missing"]["count"] == 23
    confirm(staff, shown)
    assert Pet.objects.count() == 26
    assert lacks(send(staff, f"{HEADER}Mia,Dogs,,\n")) == ""  # it is no list of our animals
    Pet.objects.filter(name="Rex").delete()
    Pet.objects.exclude(external_reference__in=["A-0", "A-1", "A-2"]).delete()
    assert lacks(send(staff, content)).startswith("Nothing happens to it Animal 2 A-2 All animals")


def test_references_that_look_like_known_ones_must_be_confirmed(staff: Client, category: Category) -> None:
    """Each kind of what looks wrong has its box."""
    pet = Pet.objects.create(name="Max", category=category, external_reference="R1")
    old = Pet.objects.create(name="Tom", category=category, external_reference="00042")
    content = (
        f'id,external_reference,name,category\n,"R1 ",ZoÃ«,Dogs\n{old.pk},42,Tom,Dogs\n,Q,Pip,Dogs\n,43,Eve,Dogs\n'
    )
    shown = send(staff, content)
    page = text_of(shown.content.decode())
    assert "Nothing is saved yet. Confirm 3 things first." in page
    assert "1 reference or name looks altered" in page
    assert 'looks like a known one "R1" is there, the file has "R1 ".' in page
    assert "3 animals are added and 1 changed. Tick all boxes above first." in page
    assert "Import 4 rows</button>" in shown.content.decode().partition('<table id="plan">')[2]
    assert "Import 4 rows</button>" not in shown.content.decode().partition('<table id="plan">')[0]
    assert 'aria-label="2 new, 0 changed, 2 with a warning, 0 unchanged, 0 with errors"' in shown.content.decode()
    warned = planned(
        ["2", "Warning", "ZoÃ«", "Dogs", "available", "R1"],
        ["", "New reference &quot;R1 &quot;, but Max has &quot;R1&quot;. Is it the same animal? Use &quot;R1&quot;"],
        ["", "Looks wrongly decoded. It is probably Zoë."],
        ["3", f"Warning {old.pk} by id", "Tom", "Dogs", "available", "00042 becomes 42"],
        ["", "", "Reference: 00042 becomes 42"],
        ["", "A spreadsheet program or a wrong encoding may have altered it."],
    )
    rest = planned(["4", "New", "Pip", "Dogs", "available", "Q"], ["5", "New", "Eve", "Dogs", "available", "43"])
    assert cells(shown, "plan") == [*warned, *rest]
    assert cells(staff.get(f"{ADD}{shown.context['upload'].pk}/?show=warning"), "plan") == warned
    assert f'<a href="/admin/pets/pet/{pet.pk}/change/">Max</a> has &quot;R1&quot;.' in shown.content.decode()
    ticked = dict.fromkeys(re.findall(r'name="(\w+)" id="id_\w+" required', shown.content.decode()), "on")
    assert sorted(ticked) == ["accept_names", "accept_near", "accept_references"]
    for missing in ticked:
        refused = confirm(staff, shown, **{box: "on" for box in ticked if box != missing})
        assert why(refused) == UNCONFIRMED
        assert sorted(row[3] or "" for row in catalogue()) == ["00042", "R1"]
        assert cells(refused, "plan") == [*warned, *rest]
    done = confirm(staff, shown, **ticked)
    assert ": 3 added, 1 changed" in done.content.decode()
    assert sorted(row[3] or "" for row in catalogue()) == ["42", "43", "Q", "R1", "R1 "]
    assert "references like known ones accepted, altered references and names accepted" in done.content.decode()


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_workbook_of_another_writer_is_read(run_import: Import, staff: Client, category: Category, kind: str) -> None:
    workbook = packed(FOREIGN[kind])
    shown = send(staff, workbook, "a.xlsx")
    assert [row[:3] for row in cells(shown, "plan")] == [["2", "New", "Rex"], ["3", "New", "Tom"]]
    confirm(staff, shown)
    assert run_import(workbook, "--again", name="a.xlsx").status == 0
    assert [name for name, *_ in catalogue()] == ["Rex", "Tom"] * 2


def test_a_row_with_a_near_reference_and_an_error_is_left_out_with_both(staff: Client, category: Category) -> None:
    """As when a supplier sends what was sold, without the zeros of the references."""
    Pet.objects.create(name="Max", category=category, external_reference="00042")
    shown = send(staff, "external_reference,status\n42,sold\n")
    pet = Pet.objects.get()
    assert cells(shown, "plan")[1] == [
        "",
        "",
        f"external_reference &quot;42&quot; looks like &quot;00042&quot; of animal {pet.pk}.name is "
        "required.category is required.",
    ]
    assert shown.context["boxes"] == 0
    done = confirm(staff, take(staff, shown, "all"))
    assert ": 1 changed" in done.content.decode()
    assert catalogue() == [("Max", "Dogs", "sold", "00042")]


def take(staff: Client, shown: Any, which: str) -> Any:
    """Click the button that takes the known reference of a row."""
    address = f"{ADD}{shown.context['upload'].pk}/take/"
    assert re.search(rf'formaction="{address}" formnovalidate name="take" value="{which}"', shown.content.decode())
    return ended(staff, staff.post(address, {"take": which}))


@pytest.mark.parametrize(
    ("which", "sold", "left"), [("all", ["00041", "00042"], 0), ("2", ["00041"], 1), ("3", ["00042"], 1)]
)
def test_a_known_reference_is_taken_with_one_click(
    staff: Client, category: Category, which: str, sold: list[str], left: int
) -> None:
    for reference in ("00041", "00042"):
        Pet.objects.create(name="Max", category=category, external_reference=reference)
    shown = take(staff, send(staff, f"{HEADER}Max,Dogs,sold,41\nMax,Dogs,sold,42\n"), which)
    assert shown.context["found"]["near"]["count"] == left
    confirm(staff, shown, **({"accept_near": "on"} if left else {}))
    assert [pet.external_reference for pet in Pet.objects.order_by("pk")[:2] if pet.status == "sold"] == sold
    assert Pet.objects.count() == 2 + left
    upload = shown.context["upload"]
    late = ended(staff, staff.post(f"{ADD}{upload.pk}/take/", {"take": "all"}))
    assert told(late) == [f"This was imported already: {upload.run}."]


def test_rows_with_equal_errors_are_one_line(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("files.values.MOST_READ", 0)
    rows = "".join(f"Rex {number},Hunde,,R{number}\n" for number in range(13))
    shown = send(staff, f"{HEADER}{rows}Tom,Katzen,,\nMia,Dogs,,\n")
    assert [row[:6] for row in cells(shown, "plan")] == [
        ["2", "Error 13 rows", "…", "Hunde", "…", "…"],
        ["", "", "category &quot;Hunde&quot; does not exist.Lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and more"],
        ["15", "Error", "Tom", "Katzen", "", ""],
        ["", "", "category &quot;Katzen&quot; does not exist."],
        ["16", "New", "Mia", "Dogs", "available", ""],
    ]
    assert shown.context["run"].rejected == 14
    page = staff.get(f"{ADD}{shown.context['upload'].pk}/columns/")
    assert f'href="{page.request["PATH_INFO"]}">Match the values</a>' in shown.content.decode()
    values = [(each.text, each.rows) for column in page.context["form"].match.values for each in column.values]
    assert values == [("Hunde", 13), ("Katzen", 1)]


def test_names_that_look_wrong_must_be_confirmed(staff: Client, category: Category) -> None:
    shown = send(staff, f"{HEADER}ZoÃ«,Dogs,,\nNULL,Dogs,,\nZoë,Dogs,,\n")
    page = shown.content.decode()
    assert '<h2 id="misread">2 names look wrong</h2>' in page
    assert "<bdi>ZoÃ«</bdi></span>is probably<strong><bdi>Zoë</bdi></strong>" in page
    assert "<bdi>NULL</bdi></span>is probably<strong><bdi>no name</bdi></strong>" in page
    assert cells(shown, "plan") == planned(
        ["2", "Warning", "ZoÃ«", "Dogs", "available", ""],
        ["", "Looks wrongly decoded. It is probably Zoë."],
        ["3", "Warning", "NULL", "Dogs", "available", ""],
        ["", "Programs write this for no name."],
        ["4", "New", "Zoë", "Dogs", "available", ""],
    )
    assert '<td class="wraps"><span class="since"><bdi>ZoÃ«</bdi></span></td>' in page
    stopped = confirm(staff, shown)
    assert why(stopped) == UNCONFIRMED
    assert not Pet.objects.exists()
    confirm(staff, stopped, accept_names="on")
    assert [name for name, *_ in catalogue()] == ["ZoÃ«", "NULL", "Zoë"]


def test_who_may_only_import_undoes_an_import_and_sees_no_link_that_is_not_allowed(category: Category) -> None:
    client = member("importer", "view_pet", "add_importrun")
    page = confirm(client, send(client, f"{HEADER}Rex,Dogs,,\n"))
    run = ImportRun.objects.get()
    assert (page.status_code, page.redirect_chain) == (200, [(page_of(run), 302)])
    asked = client.get(undo_of(run))
    links = re.findall('href="(/admin/[^"]*)"', page.content.decode() + asked.content.decode())
    assert {client.get(link).status_code for link in links} == {200}
    back = re.findall('name="back" value="([^"]*)"', asked.content.decode())[0]
    undone = client.post(undo_of(run), {"back": back}, follow=True)
    assert (undone.status_code, told(undone)) == (200, ["Undid “imported friday.csv: 1 added”."])
    assert catalogue() == []
