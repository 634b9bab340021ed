"""Activity in the back office: the list of all changes, one change, and the page that asks before an undo."""

import csv
import html
import io
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from categories.models import Category
from changes.admin import activity
from changes.bulk import Target, begin, select
from changes.log import Filters, actors, animals, changes
from changes.models import Change, Kind
from changes.plan import rows_before
from history.acting import begin_request, identify
from pets.models import ImportRun, Pet
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import PETS, ask, click, confirm, form_of, member, text_of, told

ACTIVITY = "/admin/activity/"


@pytest.fixture
def anna(db: None) -> Client:
    """Someone who can edit animals, and nothing more."""
    return member("anna", "view_pet", "change_pet")


@pytest.fixture
def bob(db: None) -> Client:
    """Someone else who can edit them, delete and restore them."""
    return member("bob", "view_pet", "change_pet", "delete_pet", "restore_pet", "export_pet")


def listed(client: Client, query: str = "") -> list[str]:
    """Return what each line of the list says before its time."""
    page = client.get(f"{ACTIVITY}{query}").content.decode().partition('<section class="card list"')[2]
    return [text_of(line) for line in re.findall(r"(?s)</span>\s*<div><p>(.*?)</p>", page)]


def on_top(client: Client) -> list[str]:
    """Return what is said above the list."""
    page = client.get(ACTIVITY).content.decode()
    cards = re.findall('(?s)<section class="card now".*?</section>', page)
    return [text_of(re.sub('(?s)<span class="avatar.*?</span>', "", card)) for card in cards]


def key_of(client: Client, sentence: str) -> str:
    """Return the key of the newest change that the list says so."""
    page = client.get(ACTIVITY).content.decode()
    found = re.search(rf'href="{ACTIVITY}(\w+)/">{re.escape(html.escape(sentence))}</a>', page)
    assert found is not None, listed(client)
    return found[1]


def undo(client: Client, key: str, **given: Any) -> Any:
    return client.post(f"{ACTIVITY}{key}/undo/", given, follow=True)


@pytest.fixture
def rex(anna: Client) -> Pet:
    return PetFactory(name="Rex", category=CategoryFactory(name="Dogs"), external_reference="R-1")


@pytest.mark.parametrize(
    "back",
    ["", "https://evil.example/admin/", "//evil.example/admin/", "/admin\\@evil", "/docs/", "javascript:alert(1)"],
)
def test_an_undo_leads_nowhere_else(anna: Client, rex: Pet, back: str) -> None:
    anna.post(f"{PETS}{rex.pk}/change/", form_of(rex, name="Rexy"))
    row = Pet.history.latest("history_id")
    answer = anna.post(f"{ACTIVITY}r{row.pk}/undo/", {"back": back})
    assert (answer.status_code, answer["Location"]) == (302, ACTIVITY)
    rex.refresh_from_db()
    assert rex.name == "Rex"


def three(anna: Client) -> list[Pet]:
    """Return three animals that one bulk change marked sold."""
    dogs = Category.objects.filter(name="Dogs").first() or CategoryFactory(name="Dogs")
    pets = [PetFactory(name=name, category=dogs) for name in ("Ann", "Ben", "Cid")]
    confirm(anna, ask(anna, "become_sold", *pets))
    return pets


def test_each_change_is_a_line_that_says_what_was_done(anna: Client, bob: Client, rex: Pet) -> None:
    anna.post(f"{PETS}{rex.pk}/change/", form_of(rex, name="Max"))
    rex.refresh_from_db()
    click(bob, rex, "pending")
    three(anna)
    bob.post(f"{PETS}{rex.pk}/delete/", {"post": "yes"})
    script = "A command or script added"
    assert listed(bob) == [
        "bob deleted Max",
        "anna marked 3 animals sold",
        *(f"{script} {name}" for name in ("Cid", "Ben", "Ann")),
        "bob marked Max pending",
        "anna renamed Rex to Max",
        f"{script} Rex",
    ]


@pytest.mark.parametrize(
    ("checks", "now"),
    [
        (
            False,
            [
                "1 thing runs now You can leave this page A command or script is importing animals.csv Nothing is saved until it ends Open : is importing animals.csv"
            ],
        ),
        (True, []),
    ],
)
def test_an_import_that_runs_is_on_top_and_a_check_is_not(anna: Client, checks: bool, now: list[str]) -> None:
    ImportRun.objects.create(file_name="animals.csv", sha256="0", options={"dry_run": checks})
    assert on_top(member("keeper", superuser=True)) == now
    assert on_top(anna) == []


def test_what_runs_is_on_top_with_its_progress_for_everyone_who_sees_changes(anna: Client, rex: Pet) -> None:
    owner = User.objects.get(username="anna")
    change = begin(select(Pet.objects.all(), user=owner), Target("status", "sold", "sold"))
    viewer = member("viewer", "view_pet")
    said = "1 thing runs now You can leave this page A command or script marked 0 of 1 animal sold 0 of 1 animals"
    assert [on_top(each)[0].startswith(said) for each in (anna, viewer)] == [True, True]
    stop = f'action="{ACTIVITY}{change.pk}/stop/"'
    assert [stop in each.get(ACTIVITY).content.decode() for each in (anna, viewer)] == [True, False]
    assert listed(anna) == ["A command or script added Rex"]
    anna.post(f"{ACTIVITY}{change.pk}/stop/")
    assert on_top(anna) == []
    assert len(listed(anna)) == 2


def test_anyone_who_may_edit_undoes_what_someone_else_did_and_undoes_that(anna: Client, bob: Client, rex: Pet) -> None:
    click(anna, rex, "sold")
    undone = undo(bob, key_of(bob, "marked Rex sold"))
    assert told(undone) == ["Undid “marked Rex sold”."]
    assert Pet.objects.get().status == "available"
    page = undone.content.decode()
    assert "Undone by bob" in page
    again = re.search(r'action="(/admin/activity/\w+/undo/)"', page)
    assert again is not None
    anna.post(again[1])
    assert Pet.objects.get().status == "sold"


def test_many_are_previewed_and_those_changed_since_stay(
    anna: Client, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben, cid = three(anna)
    for pet in (ann, ben, cid):
        pet.refresh_from_db()
    click(bob, ben, "pending")
    key = key_of(bob, "marked 3 animals sold")
    one = text_of(bob.get(f"{ACTIVITY}{key}/").content.decode())
    assert "Undo sets 2 animals back." in one
    assert "1 stays as it is, because it was changed since." in one
    asked = bob.get(f"{ACTIVITY}{key}/undo/").content.decode()
    assert "<h1>Undo: set back 2 animals? 1 stays.</h1>" in asked
    assert "Nothing is changed yet." in text_of(asked)
    assert "2 animals Sold becomes Available 1 animal Stay as they are" in text_of(asked)
    monkeypatch.setattr("changes.preview.FLOWS", 0)
    assert "2 animals Set back 1 animal Stay as they are" in text_of(bob.get(f"{ACTIVITY}{key}/undo/").content.decode())
    assert {pet.name: pet.status for pet in Pet.objects.all()} == {"Ann": "sold", "Ben": "pending", "Cid": "sold"}
    answer = undo(bob, key)
    assert told(answer)[0] == "Undid “marked 3 animals sold”."
    assert {pet.name: pet.status for pet in Pet.objects.all()} == {
        "Ann": "available", "Ben": "pending", "Cid": "available",
    }  # fmt: skip


def test_the_list_is_filtered_by_kind_person_day_and_animal(anna: Client, bob: Client, rex: Pet) -> None:
    click(anna, rex, "sold")
    pets = three(bob)
    bob.post(f"{PETS}{pets[0].pk}/delete/", {"post": "yes"})
    today = timezone.now().date()
    assert listed(bob, "?kind=bulk+change")[0] == "bob marked 3 animals sold"
    assert listed(bob, "?kind=deletion") == ["bob deleted Ann"]
    assert listed(bob, "?who=staff+anna") == ["anna marked Rex sold"]
    assert listed(bob, f"?who=staff+anna&day_from={today}&day_to={today}") == ["anna marked Rex sold"]
    assert listed(bob, f"?day_to={today - timedelta(days=1)}") == []
    assert listed(bob, "?q=ann") == [
        "bob deleted Ann", "bob marked 3 animals sold", "A command or script added Ann",
    ]  # fmt: skip
    assert listed(bob, f"?animal={rex.pk}") == listed(bob, f"?q={rex.pk}&animal={rex.pk}")
    assert listed(bob, f"?animal={rex.pk}")[0] == "anna marked Rex sold"
    assert listed(bob, "?q=nothing+like+it") == []
    page = bob.get(f"{ACTIVITY}?kind=deletion&day_from={today}&day_to={today}").content.decode()
    assert 'href="?kind=deletion">Days: <b>today</b>' in page
    assert "No change matches" in bob.get(f"{ACTIVITY}?q=nothing").content.decode()
    assert bob.get(f"{ACTIVITY}?kind=none&day_from=soon&animal=x&who=%00&before=x&day_to=9999-12-31").status_code == 200


def test_kinds_are_told_apart(anna: Client, rex: Pet) -> None:
    carol = member("carol", superuser=True)
    click(carol, rex, "sold")
    pets = three(carol)
    other = CategoryFactory(name="Hounds")
    carol.post(
        "/admin/categories/category/merge/", {"keep": rex.category_id, "merge": other.pk, "what": "Hounds into Dogs"}
    )
    carol.post(f"{PETS}{pets[0].pk}/delete/", {"post": "yes"})
    undo(carol, key_of(carol, "deleted Ann"))
    for said in ("marked Rex sold", "undid “marked Rex sold”"):
        undo(carol, key_of(carol, said))
    lines = {kind: listed(carol, f"?kind={kind}&who=people") for kind in activity.TABS}
    assert lines == {
        "": [line for kind in ("undo", "deletion", "bulk change", "edit") for line in lines[kind]],
        "edit": ["carol marked Rex sold"],
        "added": [],
        "bulk change": ["carol marked 3 animals sold"],
        "import": [],
        "deletion": ["carol deleted Ann Undone by carol"],
        "undo": [
            "carol redid “marked Rex sold”",
            "carol undid “marked Rex sold” Undone by carol",
            "carol restored Ann",
        ],
    }
    assert len(listed(carol, "?kind=added")) == 4


ONE = r'(?s)<button type="submit" class="btn btn-small">(.*?)</button>'
SEVERAL = r'(?s)<a class="btn btn-small" href="[^"]*/undo/">(.*?)</a>'


@pytest.mark.parametrize(
    ("said", "pattern", "dots"), [("marked Rex sold", ONE, ""), ("marked 3 animals sold", SEVERAL, "…")]
)
def test_an_undo_can_be_redone_and_a_redo_undone(anna: Client, rex: Pet, said: str, pattern: str, dots: str) -> None:
    if dots:
        three(anna)
    else:
        click(anna, rex, "sold")
    undid, redid = f"undid “{said}”", f"redid “{said}”"
    for line, word in [(said, "Undo"), (undid, "Redo"), (redid, "Undo"), (undid, "Redo")]:
        assert listed(anna)[0] == f"anna {line}"
        button = re.search(pattern, anna.get(ACTIVITY).content.decode())
        assert button is not None
        assert text_of(button[1]).startswith(f"{word}{dots} : {line}, ")
        undo(anna, key_of(anna, line))


def test_only_lines_of_the_api_lead_to_their_request(rex: Pet) -> None:
    keeper = member("keeper", superuser=True)
    begin_request("7f3c2a9e5b1d4c60")
    identify("key Ab3dE6gH")
    PetFactory(name="Max", category=rex.category)
    click(keeper, rex, "sold")
    page = keeper.get(ACTIVITY).content.decode()
    desk = "/admin/request_desk/requestrecord/desk/?request_id="
    title = 'class="ids" title="Request ID '
    assert re.findall(f'<a {title}([^"]*)" href="{re.escape(desk)}([^"]*)">(.*?)</a>', page) == [
        ("7f3c2a9e5b1d4c60", "7f3c2a9e5b1d4c60", "Request")
    ]
    assert page.count(desk) == 1
    assert desk not in member("viewer", "view_pet").get(ACTIVITY).content.decode()


def test_each_filter_keeps_the_others(anna: Client, rex: Pet) -> None:
    today = timezone.now().date()
    chosen = {"q": "rex", "who": "people", "kind": "edit", "animal": str(rex.pk), "day_from": str(today)}
    page = anna.get(ACTIVITY, chosen | {"before": "x"}).content.decode()
    for names, links in {"Kind": ["q", "who", "animal", "day_from"], "Days": ["q", "who", "kind", "animal"]}.items():
        [nav] = re.findall(rf'(?s)<nav [^>]*aria-label="{names}">(.*?)</nav>', page)
        for link in re.findall('href="([^"]*)"', nav):
            asked = dict(parse_qsl(html.unescape(link).partition("?")[2]))
            assert {name: asked.get(name) for name in links} == {name: chosen[name] for name in links}
            assert "before" not in asked
    form = page[page.index('<form class="toolbar"') : page.index("</form>", page.index('<form class="toolbar"'))]
    assert {*re.findall('name="(\\w+)"', form)} == {*chosen, "day_to"}
    assert '<option value="people" selected>People only</option>' in form
    assert len(re.findall("<(?:button|div)[^>]*without-script", form)) == 2


def store_history(pet: Pet, rows: str, numbers: int) -> None:
    """Store so many rows of history, whose last columns are `rows`: then the plans are those of a large catalogue."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO pets_petchange (name, status, category_id, history_date, request_id,"
            " id, history_type, actor, bulk_change_id, history_user_id)"
            f" SELECT 'Rex', 'available', %s, %s, '', {rows} FROM generate_series(1, %s) n",
            [pet.category_id, pet.created_at, numbers],
        )
        cursor.execute("ANALYZE pets_petchange")


@pytest.mark.postgresql("the plans are those of PostgreSQL")
def test_edits_deletions_and_people_are_found_past_all_that_keys_added(rex: Pet) -> None:
    zoe = User.objects.create(username="zoe").pk
    for did in "~-":
        store_history(rex, f"n, '{did}', 'staff zoe', NULL::bigint, {zoe}", 60)
    store_history(rex, "n, '+', 'key Ab3dE6gH', NULL::bigint, NULL::bigint", 20_000)
    store_history(rex, "n, '-', '', 1, NULL::bigint", 20_000)
    for filters in (
        Filters(kind=Kind.EDIT),
        Filters(kind=Kind.DELETION),
        Filters(who="people"),
        Filters(kind=Kind.EDIT, who="people"),
    ):
        with connection.cursor() as cursor, CaptureQueriesContext(connection) as queries:
            assert len(changes(filters)[0]) == 50
            walks = [
                sql for sql in (query["sql"] for query in queries) if "pets_petchange" in sql and "ORDER BY" in sql
            ]
            cursor.execute(f"EXPLAIN (ANALYZE) {walks[0]}")
            removed = re.findall(r"Rows Removed by Filter: (\d+)", "\n".join(line for (line,) in cursor.fetchall()))
        assert (filters, [number for number in removed if int(number) > 100]) == (filters, [])


def on_all_pages(client: Client) -> list[str]:
    """Return what the lines say of all pages, from one to the next."""
    found: list[str] = []
    query: str | None = ""
    while query is not None:
        page = client.get(f"{ACTIVITY}{query}").content.decode()
        found += listed(client, query)
        older = re.search(r'rel="next" href="([^"]*)"', page)
        query = html.unescape(older[1]) if older else None
    return found


def test_changes_of_the_same_microsecond_are_on_one_page_each(
    anna: Client, rex: Pet, monkeypatch: pytest.MonkeyPatch
) -> None:
    three(anna)
    for status in ("pending", "sold"):
        click(anna, rex, status)
        confirm(anna, ask(anna, "become_available", rex))
    now = timezone.now()
    Pet.history.update(history_date=now)
    Change.objects.update(made_at=now)
    every = listed(anna)
    monkeypatch.setattr(activity, "PER_PAGE", 2)
    assert (len(every), on_all_pages(anna)) == (9, every)


def test_a_change_shows_each_animal_before_after_and_now_and_as_a_file(anna: Client, bob: Client) -> None:
    _ann, ben, _cid = three(anna)
    ben.refresh_from_db()
    click(bob, ben, "pending")
    key = key_of(bob, "marked 3 animals sold")
    page = bob.get(f"{ACTIVITY}{key}/").content.decode()
    rows = [text_of(row) for row in re.findall(r"(?s)<tr>\s*<th scope=\"row\".*?</tr>", page)]
    assert [re.sub("Dogs · no reference · [0-9]+ ", "", row) for row in rows] == [
        "Ann Status Available becomes Sold As it was set",
        "Ben Status Available becomes Sold Now Pending bob, Just now",
        "Cid Status Available becomes Sold As it was set",
    ]
    file = b"".join(bob.get(f"{ACTIVITY}{key}/csv/")).decode("utf-8-sig")
    lines = [*csv.DictReader(io.StringIO(file))]
    assert [(line["name"], line["what"], line["changed"], line["now"], line["changed_since_by"]) for line in lines] == [
        ("Ann", "changed", "Status: Available → Sold", "", ""),
        ("Ben", "changed", "Status: Available → Sold", "Pending", "bob"),
        ("Cid", "changed", "Status: Available → Sold", "", ""),
    ]


def test_the_animals_of_a_change_are_paged(anna: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("changes.admin.change.LISTED", 2)
    three(anna)
    key = key_of(anna, "marked 3 animals sold")
    first = anna.get(f"{ACTIVITY}{key}/").content.decode()
    following = re.search(r'rel="next" href="([^"]*)"', first)
    assert following is not None
    second = anna.get(f"{ACTIVITY}{key}/{html.unescape(following[1])}").content.decode()
    assert [page.count('<th scope="row"') for page in (first, second)] == [2, 1]


@pytest.mark.parametrize("path", ["999/", "r999/", "0/", "x/", f"{'9' * 40}/", "999/undo/", "999/csv/"])
def test_what_is_not_there_is_not_found(bob: Client, path: str) -> None:
    assert bob.get(f"{ACTIVITY}{path}").status_code == 404


@pytest.mark.postgresql("SQLite reads them along the index in any case")
def test_the_animals_of_a_change_are_read_past_none_of_other_changes(rex: Pet) -> None:
    older, change = (Change.objects.create(kind=Kind.BULK, column="status", changed=5_000) for _ in range(2))
    for number in (older.pk, change.pk, "NULL"):
        store_history(rex, f"n - 1, '~', '', {number}::bigint, NULL::bigint", 5_000)
    with connection.cursor() as cursor:
        with CaptureQueriesContext(connection) as queries:
            [last, *_others] = rows_before(older, None)
            assert rows_before(change, last + 11) == [*range(last + 10, last, -1)]
            assert len(animals(older, after=last - 10, count=25)[0]) == 10
        with CaptureQueriesContext(connection) as union:
            assert actors() == set()  # no one is named in them
        cursor.execute(f"EXPLAIN {union[0]['sql']}")
        assert "Seq Scan on pets_petchange" not in str(cursor.fetchall())
        walks = [query["sql"] for query in queries if query["sql"].endswith((" LIMIT 1000", " LIMIT 26"))]
        assert len(walks) == 3
        for walk in walks:
            cursor.execute(f"EXPLAIN (ANALYZE) {walk}")
            assert "Rows Removed by Filter" not in str(cursor.fetchall())


def test_names_are_only_text(bob: Client) -> None:
    name = '<img src=x onerror="alert(1)">'
    pet = PetFactory(name=name, category=CategoryFactory(name=name))
    click(bob, pet, "sold")
    page = bob.get(ACTIVITY).content.decode()
    key = re.search(rf'href="{ACTIVITY}(r\d+)/">', page)
    assert key is not None
    for path in ("", f"{key[1]}/", f"{key[1]}/undo/"):
        shown = bob.get(f"{ACTIVITY}{path}").content.decode()
        assert "<img" not in shown
        assert "&lt;img" in shown


def test_the_list_is_exported_as_it_is_filtered(
    anna: Client, bob: Client, rex: Pet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "PART", 2)
    rex.name = "=1+1"
    rex.save()
    click(anna, rex, "sold")
    key = key_of(anna, "marked =1+1 sold")
    three(anna)
    undo(bob, key)
    page = bob.get(f"{ACTIVITY}?who=staff+anna").content.decode()
    link = re.search(r'href="(/admin/activity/csv/[^"]*)"', page)
    assert link is not None
    file = b"".join(bob.get(html.unescape(link[1]))).decode("utf-8-sig")
    lines = [*csv.DictReader(io.StringIO(file))]
    assert [[*line.values()][1:-3] for line in lines] == [
        ["anna", "marked 3 animals sold", "bulk change", "done", "0", "3", "0", "0", ""],
        ["anna", "marked =1+1 sold", "edit", "done", "0", "1", "0", "0", "bob"],
    ]
    assert [line["change"] for line in lines] == [str(Change.objects.get(kind="bulk change").pk), key]
    everything = b"".join(bob.get("/admin/activity/csv/")).decode("utf-8-sig")
    assert len([*csv.DictReader(io.StringIO(everything))]) == len(listed(bob)) == 8
    assert anna.get("/admin/activity/csv/").status_code == 403
    assert "/activity/csv/" not in anna.get(ACTIVITY).content.decode()


def test_a_change_counts_from_what_to_what_and_which_were_changed_since(anna: Client, bob: Client, rex: Pet) -> None:
    cats, rats = CategoryFactory(name="Cats"), CategoryFactory(name="Rats")
    others = [PetFactory(name="Tom", category=cats), PetFactory(name="Kit", category=cats)]
    confirm(anna, ask(anna, "become_category", rex, *others), category=rats.pk)
    key = key_of(anna, "moved 3 animals to Rats")
    rex.refresh_from_db()
    bob.post(f"{PETS}{rex.pk}/change/", form_of(rex, category=cats.pk))
    page = anna.get(f"{ACTIVITY}{key}/").content.decode()
    assert "2 animals Cats becomes Rats 1 animal Dogs becomes Rats" in text_of(page)
    assert "All 3 Changed since 1" in text_of(page)
    assert "Just now, back office. 1 animal was changed since." in text_of(page)
    since = text_of(anna.get(f"{ACTIVITY}{key}/?show=since").content.decode())
    assert "Now Cats bob, Just now" in since
    assert "Tom" not in since
    undo(anna, key)
    undone = anna.get(f"{ACTIVITY}{key_of(anna, 'undid “moved 3 animals to Rats”')}/").content.decode()
    assert "2 animals Rats becomes Cats" in text_of(undone)


def test_what_would_change_nothing_has_no_undo_but_says_why(anna: Client, rex: Pet) -> None:
    click(anna, rex, "sold")
    key = key_of(anna, "marked Rex sold")
    rex.refresh_from_db()
    click(anna, rex, "pending")
    page = anna.get(f"{ACTIVITY}{key}/").content.decode()
    assert "Undo would change no animal. 1 stays as it is, because it was changed since. See why" in text_of(page)
    assert f'action="{ACTIVITY}{key}/undo/"' not in page
    why = text_of(anna.get(f"{ACTIVITY}{key}/undo/").content.decode())
    assert "Nothing would change." in why
    assert "Changed since anna, Just now" in why
