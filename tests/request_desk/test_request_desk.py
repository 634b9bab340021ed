"""The request desk: permissions, what it finds, and what it says when it finds nothing."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pets.models import Pet
from petstore_site.back_office.request_desk import admin, records, story
from petstore_site.back_office.request_desk.models import KEPT, RequestRecord
from tests.conftest import ApiClient
from tests.days import written
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import member, text_of

pytestmark = pytest.mark.django_db

LIST = "/admin/request_desk/requestrecord/"
DESK = f"{LIST}desk/"
NO_ID = "This is not a request ID. It has 1 to 128 letters, digits, dots, hyphens and underscores."
DAY = timedelta(days=1)


def store(request_id: str = "id", **values: Any) -> RequestRecord:
    given: dict[str, Any] = {"key": None, "at": timezone.now(), "method": "GET", "route": "pet-list", "status": 401}
    given |= {"code": "api_key_missing", "message": "No key.", "milliseconds": 12}
    return RequestRecord.objects.create(request_id=request_id, **given | values)


def shown(client: Client, request_id: str | None = None) -> str:
    """Return the page's text with its blanks tidied."""
    answer = client.get(DESK, {} if request_id is None else {"request_id": request_id})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def stories(client: Client, request_id: str) -> list[list[str]]:
    """Return what the page says of each request: the verdict, each step, and what the caller should do."""
    return [
        [text_of(step) for step in re.findall("<h2 id=.story.*?</h2>|<p.*?</p>|<small.*?</small>|<strong>What.*", part)]
        for part in re.findall('<span class="status-code.*?</article>', shown(client, request_id))
        if 'id="story-' in part
    ]


def details(client: Client, request_id: str) -> dict[str, str]:
    """Return the raw facts of the newest request."""
    found = re.findall("<dt>([^<]*)</dt><dd[^>]*>(.*?)</dd>", shown(client, request_id))
    return {name: text_of(value) for name, value in found}


@pytest.fixture
def desk(db: None) -> Client:
    """The browser of an account that can see requests and nothing else."""
    return member("viewer", "view_requestrecord")


def see_keys() -> None:
    User.objects.get().user_permissions.add(Permission.objects.get(codename="view_apikey"))


class TestDesk:
    def test_shows_the_story_of_a_request_that_was_rejected(self, admin_client: Client) -> None:
        key = APIKeyFactory(name="Shop")
        ApiClient(key.secret).get("/v1/pets/0?sekrit=query", X_Request_ID="complaint-1")
        records.flush()
        record = RequestRecord.objects.get()
        assert stories(admin_client, "complaint-1") == [
            [
                "Rejected: the caller must change something",
                f"Shop called with the key {key.key_id}.",
                "Just now · a key to read and add, now active",
                "It asked to get an animal: GET /v1/pets/{petId}",
                "What it sent is not kept.",
                f"The store rejected it after {record.milliseconds:,} ms and said:",
                "No animal has this ID.",
                "Code pet_not_found",
                "Nothing was added or changed.",
                "It only read.",
                "What the caller should do: Use IDs from the list of animals. More about this error",
            ]
        ]
        assert details(admin_client, "complaint-1") == {
            "Request ID": "complaint-1",
            "Response sent": f"{written(record.at)}, {record.at:%H:%M:%S}",
            "Took": f"{record.milliseconds:,} ms",
            "Operation": "GET /v1/pets/{petId}",
            "Key": f"Shop ({key.key_id})",
            "Status": "404",
            "Error code": "pet_not_found",
            "Message": "No animal has this ID.",
            "Kept until": written(record.at + KEPT),
        }
        page = shown(admin_client, "complaint-1")
        assert f'<a href="/admin/apikeys/apikey/{key.pk}/change/"><strong>Shop</strong></a>' in page
        assert '<a href="/docs/errors/pet_not_found">More about this error</a>' in page
        assert "sekrit" not in page

    def test_links_to_the_animal_that_a_request_added(self, admin_client: Client, desk: Client) -> None:
        key, category = APIKeyFactory(name="Shop"), CategoryFactory()
        ApiClient(key.secret).post("/v1/pets", {"name": "Rex", "categoryId": category.pk}, X_Request_ID="added-1")
        records.flush()
        pet = Pet.objects.get()
        [told] = stories(admin_client, "added-1")
        assert (told[0], told[3], told[6:]) == (
            "Succeeded",
            "It asked to add an animal: POST /v1/pets",
            ["It added Rex.", f"ID {pet.pk} · available when it was added"],
        )
        assert f'<a href="/admin/pets/pet/{pet.pk}/change/"><strong>Rex</strong></a>' in shown(admin_client, "added-1")
        assert stories(desk, "added-1")[0][6] == f"It added animal {pet.pk}."
        number = pet.pk
        pet.delete()
        assert stories(admin_client, "added-1")[0][6] == "It added Rex, which was deleted since."
        assert f'<a href="/admin/pets/pet/{number}/history/">' in shown(admin_client, "added-1")

    def test_an_animal_belongs_to_the_first_of_two_requests_with_its_id(self, admin_client: Client) -> None:
        caller, category = ApiClient(APIKeyFactory().secret), CategoryFactory()
        for _ in range(2):
            headers = {"Idempotency_Key": "one", "X_Request_ID": "retried"}
            caller.post("/v1/pets", {"name": "Rex", "categoryId": category.pk}, **headers)
        records.flush()
        retry, first = stories(admin_client, "retried")
        assert first[6] == "It added Rex."
        assert retry[6:] == [
            "Nothing was added or changed.",
            "No change in the history has this request ID. A retry with the same Idempotency-Key gets the first response "
            "again and adds nothing.",
        ]

    def test_an_animal_does_not_belong_to_a_rejected_or_a_later_request_with_its_id(self, admin_client: Client) -> None:
        key, now = APIKeyFactory(), timezone.now()
        PetFactory(name="Rex")
        Pet.history.update(request_id="id", actor=f"key {key.key_id}", history_date=now)
        after = [now + timedelta(milliseconds=each) for each in (1, 2, 3)]
        for at, status in ((after[2], 201), (after[1], 201), (after[0], 400)):  # as two processes can save them
            store(key=key, method="POST", status=status, code="", message="", at=at)
        assert [story[6] for story in stories(admin_client, "id")] == [
            "Nothing was added or changed.",
            "It added Rex.",
            "Nothing was added or changed.",
        ]

    def test_what_was_added_by_others_or_at_another_time_is_not_its_doing(self, admin_client: Client) -> None:
        key = APIKeyFactory()
        store(key=key, method="POST", status=201, code="", message="")
        pet = PetFactory()
        for at, actor in ((timezone.now(), f"key {key.key_id}"), (timezone.now() - DAY, "key other")):
            Pet.history.filter(id=pet.pk).update(request_id="id", actor=actor, history_date=at)
            assert stories(admin_client, "id")[0][6] == "Nothing was added or changed."

    def test_an_error_whose_animal_is_there_after_all(self, admin_client: Client) -> None:
        key = APIKeyFactory()
        PetFactory(name="Rex")
        Pet.history.update(request_id="id", actor=f"key {key.key_id}", history_date=timezone.now())
        store(key=key, method="POST", status=503, code="unavailable", message="Busy.", milliseconds=1_200)
        [told] = stories(admin_client, "id")
        assert (told[0], *told[5:9]) == (
            "Failed: the caller can try again",
            "The store failed after 1,200 ms and said:",
            "Busy.",
            "Code unavailable",
            "It added Rex.",
        )

    @pytest.mark.parametrize(
        ("status", "verdict"),
        [
            (200, "Succeeded"),
            (304, "Succeeded"),
            (401, "Rejected: the caller must change something"),
            (409, "Rejected: the caller must wait"),
            (429, "Rejected: the caller must wait"),
            (500, "Failed: this is our error"),
            (503, "Failed: the caller can try again"),
        ],
    )
    def test_says_who_must_do_something(self, desk: Client, status: int, verdict: str) -> None:
        store(status=status, code="", message="")
        assert stories(desk, "id")[0][0] == verdict

    def test_a_caller_without_a_key_and_a_path_that_does_not_exist(self, desk: Client) -> None:
        store(method="BREW", route="")
        assert stories(desk, "id")[0][1:4] == [
            "Someone called without a known key.",
            "Just now",
            "It sent something that the API doesn't have: BREW a path that does not exist",
        ]

    def test_head_is_said_as_what_it_asks(self, desk: Client) -> None:
        store(method="HEAD")
        told = stories(desk, "id")[0]
        assert "It asked to list animals: HEAD /v1/pets" in told
        assert "It only read." in told

    def test_shows_the_same_error_of_the_same_key(self, desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        key = APIKeyFactory()
        for request_id in ("before", "id", "after"):
            store(request_id, key=key, status=400)
        store("other-code", key=key, status=400, code="rate_limited")
        store("other-status", key=key)
        store("other-key", key=APIKeyFactory(), status=400)
        store("old", key=key, status=400, at=timezone.now() - KEPT)

        def alike() -> list[str]:
            return re.findall(r'<small class="mono cut"><a title="(.*?)" href="[^"]*">\1</a>', shown(desk, "id"))

        assert alike() == ["after", "before"]
        monkeypatch.setattr(story, "MOST_ALIKE", 1)
        assert alike() == ["after"]
        monkeypatch.setattr(story, "SEARCHED", 1)
        assert alike() == []

    def test_without_permission_for_keys_no_name_of_one(self, desk: Client) -> None:
        key = APIKeyFactory(name="Shop")
        store(key=key)
        page = shown(desk, "id")
        assert f"<strong>Someone</strong> called with the key <code>{key.key_id}</code>." in page
        assert "Shop" not in page
        assert "a key to read" not in page
        assert "/admin/apikeys/apikey/" not in page

    @pytest.mark.parametrize(
        "pasted",
        ["abc-1.x_Y", "  abc-1.x_Y\t", "X-Request-ID: abc-1.x_Y", "x-request-id:abc-1.x_Y", '"abc-1.x_Y"', '{"X-Request-ID": "abc-1.x_Y"', "< x-request-id: abc-1.x_Y"],
    )  # fmt: skip
    def test_takes_the_id_as_it_came(self, desk: Client, pasted: str) -> None:
        store("abc-1.x_Y")
        assert details(desk, pasted)["Request ID"] == "abc-1.x_Y"

    @pytest.mark.parametrize(
        ("pasted", "message"),
        [
            *[(each, NO_ID) for each in ("a b", "é", "x" * 129, "X-Request-ID:", "<script>alert(1)</script>")],
            ("a\x00b", "Null characters are not allowed."),
        ],
    )
    def test_what_is_no_id_is_an_error(self, desk: Client, pasted: str, message: str) -> None:
        page = shown(desk, pasted)
        assert 'class="errorlist"' in page
        assert f">{message}<" in page
        assert "No record of" not in page
        assert "<script>alert" not in page

    def test_an_empty_field_is_an_error_and_no_field_is_none(self, desk: Client) -> None:
        assert "This field is required." in shown(desk, " ")
        assert "errorlist" not in shown(desk)

    def test_an_id_used_twice_shows_all_the_newest_first(self, desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        for status in (401, 403, 404):
            store(status=status)
        page = shown(desk, "id")
        assert "3 requests with the ID id" in page
        assert re.findall('<span class="status-code[^>]*>(.*?)<', page) == ["404", "403", "401"]
        monkeypatch.setattr(admin, "MOST_FOUND", 2)
        assert "These are the newest 2. There may be more." in shown(desk, "id")

    def test_an_unknown_id_is_explained(self, desk: Client) -> None:
        store(at=timezone.now() - KEPT)
        page = shown(desk, "id")
        assert "No record of id" in page
        for reason in ("less than 10 seconds old", "older than 7 days", "This is development", "typo"):
            assert reason in page


def test_what_was_added_is_found_by_an_index(admin_client: Client) -> None:
    history, category = Pet.history.model, CategoryFactory()
    columns = {"name": "Rex", "category": category, "history_type": "+", "history_date": timezone.now()}
    history.objects.bulk_create(history(id=number, request_id=f"r{number}", **columns) for number in range(2_000))
    store("r7", key=APIKeyFactory(), method="POST", status=201)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as queries:
        shown(admin_client, "r7")
    statement = next(query["sql"] for query in queries if "undo_of_id" in query["sql"])
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {statement}")
        assert "pet_change_request" in str(cursor.fetchall())


class TestList:
    def test_shows_and_filters(self, desk: Client) -> None:
        key = APIKeyFactory()
        store("one", key=key, status=404, code="pet_not_found")
        store("two", status=503, code="unavailable")
        store("added", key=key, method="POST", status=201, code="")
        store("read", key=key, status=200, code="")
        store("old", at=timezone.now() - KEPT)

        def found(**query: Any) -> list[str]:
            return [row.request_id for row in desk.get(LIST, query).context["cl"].result_list]

        assert found() == ["two", "one"]
        assert found(kind="additions") == ["added"]
        assert found(kind="all") == ["read", "added", "two", "one"]
        assert found(kind="all", key__id__exact=key.pk) == ["read", "added", "one"]
        assert found(answer=4) == found(key__id__exact=key.pk) == ["one"]
        assert found(answer=5) == ["two"]
        assert found(key__id__exact="1;") == found(kind="nonsense") == found(answer="x") == []

    def test_the_form_offers_what_is_in_the_list(self, desk: Client) -> None:
        see_keys()
        till, shop, _unused = APIKeyFactory(name="Till"), APIKeyFactory(name="Shop"), APIKeyFactory()
        store(key=till, status=404, code="pet_not_found")
        store(key=shop, status=503, code="unavailable")
        store(key=shop, method="POST", status=201, code="")
        store(key=APIKeyFactory(), at=timezone.now() - KEPT, code="rate_limited")

        def offered(**query: Any) -> list[tuple[str, str, str]]:
            form = desk.get(LIST, query).content.decode().partition('aria-label="Filter"')[2].partition("</form>")[0]
            return re.findall('<option value="([^"]*)"( selected)?>(.*?)</option>', form)

        assert offered() == [
            ("", "", "All keys"),
            (f"{shop.pk}", "", f"Shop ({shop.key_id})"),
            (f"{till.pk}", "", f"Till ({till.key_id})"),
            ("", "", "4xx and 5xx"),
            ("4", "", "Rejected, 4xx"),
            ("5", "", "Failed, 5xx"),
        ]
        chosen = offered(key__id__exact=till.pk, answer=5)
        assert [label for _, selected, label in chosen if selected] == [f"Till ({till.key_id})", "Failed, 5xx"]

    def test_the_form_and_the_tabs_keep_each_other(self, desk: Client) -> None:
        store()

        def tabs(page: str) -> list[tuple[str, str, str]]:
            shown = page.partition('aria-label="Which requests"')[2].partition("</nav>")[0]
            return re.findall(r'href="([^"]*)"( aria-current="page")?>(\w+)<', shown)

        here = ' aria-current="page"'
        page = desk.get(LIST, {"kind": "all", "answer": "4", "p": "1"}).content.decode()
        assert tabs(page) == [
            ("?answer=4&amp;kind=errors", "", "Errors"),
            ("?answer=4&amp;kind=additions", "", "Additions"),
            ("?answer=4&amp;kind=all", here, "All"),
        ]
        assert '<input type="hidden" name="kind" value="all">' in page
        page = desk.get(LIST).content.decode()
        assert tabs(page)[0] == ("?kind=errors", here, "Errors")

    def test_tabs_have_counts_unless_something_else_filters(self, desk: Client) -> None:
        for status, method in ((404, "GET"), (503, "POST"), (201, "POST"), (200, "GET")):
            store(method=method, status=status, code="unavailable" if status == 503 else "")
        counted = desk.get(LIST, {"kind": "all"}).context["cl"].tabs()
        assert [(tab["label"], tab["count"], tab["is_here"]) for tab in counted] == [
            ("Errors", 2, False),
            ("Additions", 1, False),
            ("All", 4, True),
        ]
        assert {tab["count"] for tab in desk.get(LIST, {"answer": "5"}).context["cl"].tabs()} == {None}

    def test_a_row_says_what_was_asked_and_what_the_caller_was_told(self, desk: Client) -> None:
        see_keys()
        key = APIKeyFactory(name="Shop", contact="it@shop.example")
        store(key=key, method="POST", route="pet-list", status=400, message="name is required.")
        store(key=None, method="BREW", route="", status=500, message="")
        none, asked = re.findall(r"(?s)<tr><td>.*?</tr>", desk.get(LIST).content.decode())
        words = [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in (asked, none)]
        assert words[0].startswith("400 Add an animal POST /v1/pets name is required. Shop it@shop.example Just now")
        assert 'class="status-code status-4"' in asked
        assert 'class="status-code status-5"' in none
        assert "Something that the API doesn't have" in words[1].replace("&#x27;", "'")
        assert "No key" in words[1]

    def test_is_bounded_by_the_newest(self, desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(admin, "LISTED", 2)
        for name in ("one", "two", "three"):
            store(name)
        assert [row.request_id for row in desk.get(LIST).context["cl"].result_list] == ["three", "two"]


class TestPermissions:
    def test_the_list_says_how_many_it_has_at_most(self, admin_client: Client) -> None:
        page = admin_client.get(LIST).content.decode()
        assert "This list has the last 10,000. Enter an X-Request-ID to find older ones." in page
