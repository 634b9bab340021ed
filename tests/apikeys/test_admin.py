"""Keys in the back office: the list, a key, revoking it, and permissions."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from history.times import to_the_minute
from petstore_site.apikeys.models import APIKey
from tests.apikeys.office import ADD, DAY, KEPT, LIST, NEW, RATE, errors, history, page
from tests.factories import APIKeyFactory
from tests.pets.office import member

pytestmark = pytest.mark.django_db


class TestList:
    @pytest.fixture
    def stored(self) -> dict[str, APIKey]:
        """One key in each state."""
        return {
            "active": APIKeyFactory(name="Shop", contact="shop@example.com", scope="read"),
            "expiring": APIKeyFactory(name="Till", expires_at=timezone.now() + DAY),
            "expired": APIKeyFactory(name="Gone", expires_at=timezone.now() - DAY),
            "revoked": APIKeyFactory(name="Lost", revoked_at=timezone.now()),
        }

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("", ["Till", "Shop"]),
            ("state=active", ["Till", "Shop"]),
            ("state=expiring", ["Till"]),
            ("state=rotating", ["Till"]),
            ("state=ended", ["Lost", "Gone"]),
            ("state=all", ["Lost", "Gone", "Till", "Shop"]),
            ("state=nonsense", []),
            ("q=gone", ["Gone"]),
            ("q=gone&state=active", []),
            ("scope__exact=read", ["Shop"]),
            ("q=till", ["Till"]),
            ("q=shop%40example", ["Shop"]),
            ("q=nobody", []),
        ],
    )
    def test_finds(self, office: Client, stored: dict[str, APIKey], query: str, names: list[str]) -> None:
        APIKey.objects.filter(pk=stored["expiring"].pk).update(replaced_by=stored["active"])
        assert [key.name for key in office.get(f"{LIST}?{query}").context["cl"].result_list] == names

    def test_finds_by_key_id(self, office: Client, stored: dict[str, APIKey]) -> None:
        found = office.get(LIST, {"q": stored["expired"].key_id}).context["cl"].result_list
        assert list(found) == [stored["expired"]]

    def test_shows_states_and_no_digest(self, office: Client, stored: dict[str, APIKey]) -> None:
        shown = office.get(f"{LIST}?state=all").content.decode()
        states = ["Revoked", "Expired", "Expires tomorrow", "Active"]
        assert re.findall(r'<td><span class="badge badge-\w+">([\w ]+)<', shown) == states
        tabs = re.findall(r'>(\w+)<span class="count">(\d+)</span></a>', shown)
        assert tabs == [("Active", "2"), ("Expiring", "1"), ("Rotating", "0"), ("Ended", "2"), ("All", "4")]
        assert [key for key in stored.values() if key.digest in shown] == []


class TestChange:
    def edited(self, key: APIKey, **values: str) -> dict[str, Any]:
        """Return what the form sends if it is opened now."""
        seen = key.history.latest("history_id").pk
        return KEPT | values | {"seen": seen}

    def test_edits_four_fields_and_no_others(self, office: Client) -> None:
        key = APIKeyFactory()
        forged = {"scope": "read", "key_id": "0" * 8, "digest": "0" * 64, "revoked_at_0": "2026-01-01", "issues": "x"}
        until = {"expires_at_0": "date", "expires_at_1": "2099-01-02"}
        given = {"name": "New", "contact": "me", "rate_limit": "1/h"} | until
        before = APIKey.objects.values().get()
        assert office.post(page(key, "change"), self.edited(key, **given) | forged).status_code == 302
        after = APIKey.objects.values().get()
        expires_at = after["expires_at"]
        assert after == before | {"name": "New", "contact": "me", "rate_limit": "1/h", "expires_at": expires_at}
        assert expires_at == datetime(2099, 1, 2, 23, 59, 59, 999_999, tzinfo=UTC)
        assert [flag for _, flag, _ in history()] == [CHANGE]

    def test_an_edit_does_not_undo_a_rotation_that_it_has_not_seen(self, office: Client) -> None:
        key = APIKeyFactory(name="Shop")
        opened = self.edited(key, contact="me")
        key.rotate(grace=DAY)
        ends = APIKey.objects.values_list("expires_at", flat=True).get(pk=key.pk)
        assert ends is not None
        answer = office.post(page(key, "change"), opened)
        conflict = answer.context["adminform"].form.conflict
        assert [each["yours"] for each in conflict.differences] == ["me"]
        assert str(conflict) in answer.content.decode()
        assert "Save mine anyway" in answer.content.decode()
        kept = APIKey.objects.values("contact", "expires_at")
        assert kept.get(pk=key.pk) == {"contact": "", "expires_at": ends}
        again = self.edited(key, contact="me")
        assert office.post(page(key, "change"), again).status_code == 302
        assert kept.get(pk=key.pk) == {"contact": "me", "expires_at": ends}
        unchosen = {name: value for name, value in self.edited(key, contact="you").items() if "expires" not in name}
        assert office.post(page(key, "change"), unchosen).status_code == 302
        assert kept.get(pk=key.pk) == {"contact": "you", "expires_at": ends}

    @pytest.mark.parametrize("ends", [None, DAY])
    def test_the_expiry_offers_to_keep_it_then_days_by_name_then_another_day(
        self, office: Client, ends: timedelta | None
    ) -> None:
        key = APIKeyFactory(expires_at=ends and timezone.now() + ends)
        shown = office.get(page(key, "change")).context["adminform"].form["expires_at"]
        today = timezone.now().date()
        days = {"30": "30 days", "90": "90 days", "365": "one year"}
        written = {number: today + timedelta(int(number)) for number in days}
        choices = [
            ("keep", f"Keep {to_the_minute(key.expires_at)}" if ends else "Never"),
            *((number, f"In {label}: {written[number].day} {written[number]:%b %Y}") for number, label in days.items()),
            *([("never", "Never")] if ends else []),
            ("date", "Another day…"),
        ]
        assert (shown.field.widget.widgets[0].choices, shown.value()) == (choices, key.expires_at)
        html = str(shown)
        assert re.findall('aria-label="(.*?)"', html) == ["Works until", "Last day, in UTC"]
        assert re.findall("<option[^>]*selected[^>]*>(.*?)</option>", html) == [choices[0][1]]
        assert 'type="time"' not in html

    def test_a_key_can_lose_its_expiry(self, office: Client) -> None:
        key = APIKeyFactory(expires_at=timezone.now() + DAY)
        office.post(page(key, "change"), self.edited(key, expires_at_0="never"))
        key.refresh_from_db()
        assert key.expires_at is None

    @pytest.mark.parametrize(
        ("sent", "expected"),
        [
            (
                {"expires_at_0": "date", "expires_at_1": "2020-01-01"},
                {"expires_at": ["The expiry must lie in the future, at most 36500 days from now."]},
            ),
            ({"rate_limit": "fast"}, {"rate_limit": [RATE]}),
        ],
    )
    def test_invalid_values_are_errors_of_the_form(self, office: Client, sent: Any, expected: Any) -> None:
        key = APIKeyFactory()
        assert errors(office.post(page(key, "change"), self.edited(key, **sent))) == expected

    @pytest.mark.parametrize("columns", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now() - DAY}])
    def test_a_key_that_is_not_active_is_only_shown(self, office: Client, columns: dict[str, Any]) -> None:
        key = APIKeyFactory(name="Old", **columns)
        shown = office.get(page(key, "change"))
        assert (shown.status_code, b"_save" in shown.content) == (200, False)
        assert b"/rotate/" not in shown.content
        assert b"/revoke/" not in shown.content
        assert office.post(page(key, "change"), self.edited(key, name="New")).status_code == 403
        assert APIKey.objects.get().name == "Old"

    def test_offers_what_can_be_done(self, office: Client) -> None:
        key = APIKeyFactory()
        new, _ = key.rotate(grace=DAY)
        offered = {
            (row.pk, action): f'href="{page(row, action)}"' in office.get(page(row, "change")).content.decode()
            for row in (key, new)
            for action in ("rotate", "revoke", "delete")
        }
        assert offered == {
            (key.pk, "rotate"): False,
            (key.pk, "revoke"): True,
            (key.pk, "delete"): False,
            (new.pk, "rotate"): True,
            (new.pk, "revoke"): True,
            (new.pk, "delete"): False,
        }


@pytest.mark.parametrize("action", ["rotate", "revoke"])
def test_a_get_changes_nothing(office: Client, action: str) -> None:
    key = APIKeyFactory()
    before = list(APIKey.objects.values())
    assert (office.get(page(key, action)).status_code, office.head(page(key, action)).status_code) == (200, 200)
    assert list(APIKey.objects.values()) == before


class TestRevoke:
    def test_a_post_revokes(self, office: Client) -> None:
        key = APIKeyFactory(name="Shop")
        answer = office.post(page(key, "revoke"))
        assert (answer.status_code, answer["Location"]) == (302, page(key, "change"))
        assert [str(message) for message in get_messages(answer.wsgi_request)] == [f"Shop ({key.key_id}) is revoked."]
        assert APIKey.objects.get().revoked_at is not None
        assert history() == [(f"Shop ({key.key_id})", CHANGE, "Revoked.")]

    def test_a_second_time_changes_nothing(self, office: Client) -> None:
        key = APIKeyFactory(revoked_at=timezone.now() - DAY)
        before = APIKey.objects.values().get()
        assert b'<form method="post"' not in office.get(page(key, "revoke")).content.split(b'id="content"')[1]
        office.post(page(key, "revoke"))
        assert APIKey.objects.values().get() == before
        assert history() == []


class TestPermissions:
    @pytest.mark.parametrize(
        ("permissions", "statuses"),
        [
            ([], {"list": 403, "add": 403, "change": 403, "rotate": 403, "revoke": 403}),
            (["view_apikey"], {"list": 200, "add": 403, "change": 403, "rotate": 403, "revoke": 403}),
            (["add_apikey"], {"list": 403, "add": 200, "change": 403, "rotate": 403, "revoke": 403}),
            (["delete_apikey"], {"list": 403, "add": 403, "change": 403, "rotate": 403, "revoke": 403}),
            (["change_apikey"], {"list": 200, "add": 403, "change": 302, "rotate": 200, "revoke": 302}),
        ],
    )
    def test_posts(self, permissions: list[str], statuses: dict[str, int]) -> None:
        key, client = APIKeyFactory(), member("clerk", *permissions)
        edited = {**KEPT, "seen": key.history.latest("history_id").pk}
        assert {
            "list": client.get(LIST).status_code,
            "add": client.post(ADD, NEW).status_code,
            "change": client.post(page(key, "change"), edited).status_code,
            "rotate": client.post(page(key, "rotate"), {"grace_hours": "1"}).status_code,
            "revoke": client.post(page(key, "revoke")).status_code,
        } == statuses

    @pytest.mark.parametrize("action", ["rotate", "revoke"])
    @pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
    def test_other_methods(self, office: Client, action: str, method: str) -> None:
        key = APIKeyFactory()
        assert getattr(office, method)(page(key, action)).status_code == 405

    @pytest.mark.parametrize("action", ["rotate", "revoke"])
    @pytest.mark.parametrize("object_id", ["0", "x", "1.5", "-1", "9" * 30, "9" * 5000, "1/change", "é"])
    def test_unknown_keys(self, office: Client, action: str, object_id: str) -> None:
        APIKeyFactory(pk=1)
        assert office.post(f"{LIST}{object_id}/{action}/", {"grace_hours": "1"}).status_code == 404
