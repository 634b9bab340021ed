"""The request desk: permissions, what it finds, and what it says when it finds nothing."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from petstore_site.request_desk import admin, records
from petstore_site.request_desk.models import KEPT, RecordGap, RequestRecord
from tests.conftest import ApiClient
from tests.factories import APIKeyFactory

pytestmark = pytest.mark.django_db

LIST = "/admin/request_desk/requestrecord/"
DESK = f"{LIST}desk/"
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


@pytest.fixture
def desk() -> Client:
    """The browser of an account that can see requests and nothing else."""
    user = User.objects.create_user("member", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_requestrecord"))
    client = Client()
    client.force_login(user)
    return client


class TestDesk:
    """One id pasted."""

    def test_shows_what_happened_to_a_request(self, admin_client: Client) -> None:
        key = APIKeyFactory(name="Shop")
        ApiClient(key.secret).get("/v1/pets/0?sekrit=query", X_Request_ID="complaint-1")
        records.flush()
        page = shown(admin_client, "complaint-1")
        assert "1 request with the ID complaint-1" in page
        for heading, value in (
            ("Operation", "GET /v1/pets/{petId}"),
            ("Key", f'<a href="/admin/apikeys/apikey/{key.pk}/change/">Shop ({key.key_id})</a>'),
            ("Status", "404"),
            ("Error code", "pet_not_found"),
            ("Message", "No animal has this ID."),
        ):
            assert f'<th scope="row">{heading}</th><td>{value}</td>'.replace(" ", "") in page.replace(" ", "")
        assert "sekrit" not in page

    def test_without_permission_for_keys_no_link_to_one(self, desk: Client) -> None:
        key = APIKeyFactory(name="Shop")
        store(key=key)
        page = shown(desk, "id")
        assert str(key) in page
        assert "/admin/apikeys/apikey/" not in page

    @pytest.mark.parametrize(
        "pasted",
        ["abc-1.x_Y", "  abc-1.x_Y\t", "X-Request-ID: abc-1.x_Y", "x-request-id:abc-1.x_Y", '"abc-1.x_Y"', '{"X-Request-ID": "abc-1.x_Y"', "< x-request-id: abc-1.x_Y"],
    )  # fmt: skip
    def test_takes_the_id_as_it_came(self, desk: Client, pasted: str) -> None:
        store("abc-1.x_Y")
        assert "1 request with the ID abc-1.x_Y" in shown(desk, pasted)

    @pytest.mark.parametrize("pasted", ["a b", "é", "x" * 129, "X-Request-ID:", "<script>alert(1)</script>", "a\x00b"])
    def test_what_is_no_id_is_an_error(self, desk: Client, pasted: str) -> None:
        page = shown(desk, pasted)
        assert 'class="errorlist"' in page
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
        assert page.index("<td>404</td>") < page.index("<td>403</td>") < page.index("<td>401</td>")
        monkeypatch.setattr(admin, "MOST_FOUND", 2)
        assert "The newest 2; there may be more." in shown(desk, "id")

    def test_an_unknown_id_is_explained(self, desk: Client) -> None:
        store(at=timezone.now() - KEPT)
        page = shown(desk, "id")
        assert "No record of id" in page
        for reason in ("less than 10 seconds old", "older than 7 days", "This is development", "typo"):
            assert reason in page

    def test_says_how_many_were_not_recorded(self, desk: Client) -> None:
        assert "Every error and write of the last 7 days was recorded." in shown(desk)
        RecordGap.objects.add_all([(timezone.now() - DAY, 40), (timezone.now(), 2), (timezone.now() - KEPT - DAY, 5)])
        assert "In the last 7 days 42 requests were not recorded" in shown(desk)

    def test_hostile_messages_are_escaped(self, desk: Client) -> None:
        store(message="<script>alert(1)</script>", method="<b>")
        page = shown(desk, "id")
        assert "<script>alert" not in page
        assert "&lt;script&gt;" in page

    def test_queries(self, desk: Client, django_assert_num_queries: Any) -> None:
        for _ in range(20):
            store(key=APIKeyFactory())
        with django_assert_num_queries(6):  # session, user, permissions of the user and of its groups, records, gaps
            shown(desk, "id")


class TestList:
    """The newest records."""

    def test_shows_and_filters(self, desk: Client) -> None:
        key = APIKeyFactory()
        store("one", key=key, status=404, code="pet_not_found")
        store("two")
        store("old", at=timezone.now() - KEPT)

        def found(**query: Any) -> list[str]:
            return [row.request_id for row in desk.get(LIST, query).context["cl"].result_list]

        assert found() == ["two", "one"]
        assert found(status=404) == found(code="pet_not_found") == found(key__id__exact=key.pk) == ["one"]
        assert found(code="nonsense") == []

    def test_every_choice_of_a_filter_has_a_name(self, desk: Client) -> None:
        store(code="", status=201)
        assert 'href="?code=">none</a>' in desk.get(LIST).content.decode()

    def test_is_bounded_by_the_newest(self, desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(admin, "LISTED", 2)
        for name in ("one", "two", "three"):
            store(name)
        assert [row.request_id for row in desk.get(LIST).context["cl"].result_list] == ["three", "two"]

    def test_leads_to_the_desk(self, desk: Client) -> None:
        store("a.b")
        assert f'href="{DESK}?request_id=a.b"' in desk.get(LIST).content.decode()
        assert f'action="{DESK}"' in desk.get(LIST).content.decode()

    def test_queries_do_not_grow(self, desk: Client, django_assert_num_queries: Any) -> None:
        for _ in range(30):
            store(key=APIKeyFactory())
        with django_assert_num_queries(
            13
        ):  # session, user, 2 for permissions; keys, statuses, codes, count, rows; 4 last ids
            desk.get(LIST)


class TestPermissions:
    """Only with permission, and read-only."""

    def test_each_page_needs_the_permission(self) -> None:
        client = Client()
        assert client.get(DESK)["Location"] == f"/admin/login/?next={DESK}"
        client.force_login(User.objects.create_user("member", is_staff=True))
        assert [client.get(page).status_code for page in (LIST, DESK)] == [403, 403]

    def test_nothing_can_be_changed(self, admin_client: Client) -> None:
        row = store()
        pages = [f"{LIST}add/", f"{LIST}{row.pk}/change/", f"{LIST}{row.pk}/delete/"]
        assert [admin_client.post(page, {"post": "yes"}).status_code for page in pages] == [403, 403, 403]
        admin_client.post(LIST, {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"})
        assert [method(DESK).status_code for method in (admin_client.post, admin_client.put, admin_client.delete)] == [
            405
        ] * 3
        assert RequestRecord.objects.get() == row

    def test_gaps_have_no_page(self, admin_client: Client) -> None:
        assert admin_client.get("/admin/request_desk/recordgap/").status_code == 404
