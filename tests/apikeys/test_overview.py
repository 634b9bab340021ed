"""The page of a key: its state in words, its use, and whether an old key can be ended."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from history.times import short_day
from petstore_site.apikeys import usage
from petstore_site.apikeys.models import APIKey, KeyUsage
from petstore_site.apikeys.overview import RequestCount, facts, judge, overview
from petstore_site.apikeys.routes import operation
from tests.conftest import ApiClient
from tests.days import written
from tests.factories import APIKeyFactory
from tests.pets.office import member

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MINUTE = timedelta(minutes=1)


def page(key: APIKey) -> str:
    return f"/admin/apikeys/apikey/{key.pk}/change/"


def text(client: Client, key: APIKey) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", client.get(page(key)).content.decode()).split())


def use(key: APIKey, ago: int, route: str, status_class: int, count: int) -> None:
    day = (timezone.now() - ago * DAY).date()
    KeyUsage.objects.create(key=key, day=day, route=route, status_class=status_class, count=count)


def at(ago: timedelta | None, now: datetime) -> datetime | None:
    return None if ago is None else now - ago


@pytest.mark.parametrize(
    ("old_used", "new_used", "today", "expected"),
    [
        (25 * HOUR, 5 * MINUTE, 0, (True, "Safe to end now: the old key was last used 1 day, 1 hour ago, the new one 5 minutes ago.")),
        (DAY, 5 * MINUTE, 0, (True, "Safe to end now: the old key was last used 1 day ago, the new one 5 minutes ago.")),
        (None, 5 * MINUTE, 0, (True, "Safe to end now: the old key was never used, the new one 5 minutes ago.")),
        (5 * MINUTE, 5 * MINUTE, 14, (False, "Not yet: the old key was used 14 times today, last 5 minutes ago.")),
        (10 * timedelta(seconds=1), 5 * MINUTE, 1, (False, "Not yet: the old key was used once today, last a moment ago.")),
        (DAY - MINUTE, 5 * MINUTE, 0, (False, "Not yet: the old key was not used today, last 23 hours, 59 minutes ago.")),
        (2 * DAY, None, 0, (False, "Not yet: the new key has never been used.")),
        (3 * DAY, 2 * DAY, 0, (False, "Not yet: the new key was last used 2 days ago; see that the client has it.")),
        (3 * DAY, DAY, 0, (False, "Not yet: the new key was last used 1 day ago; see that the client has it.")),
        (None, None, 0, (False, "Not yet: the new key has never been used.")),
    ],
)  # fmt: skip
def test_whether_the_old_key_can_be_ended(old_used: Any, new_used: Any, today: int, expected: tuple[bool, str]) -> None:
    now = timezone.now()
    old, new = (
        APIKey(key_id="OLD", last_used_at=at(old_used, now)),
        APIKey(key_id="NEW", last_used_at=at(new_used, now)),
    )
    assert judge(old, new, used_today=today, now=now) == expected


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"revoked_at": True}, {}, "Nothing is left to end: key OLD is revoked."),
        ({"expires_at": True}, {}, "Nothing is left to end: key OLD is expired."),
        ({}, {"revoked_at": True}, "Not yet: the new key NEW is revoked, so the client has only the old one."),
    ],
)
def test_keys_that_have_ended_already(old: Any, new: Any, words: str) -> None:
    now = timezone.now()
    keys = [APIKey(key_id=name, **dict.fromkeys(given, now - DAY)) for name, given in (("OLD", old), ("NEW", new))]
    assert judge(*keys, used_today=0, now=now) == (False, words)


def told(key: APIKey) -> list[str]:
    """Return the facts of the key, each in a line."""
    return [" ".join(filter(None, (fact.label, strip_tags(fact.value), fact.note))) for fact in facts(key)]


@pytest.mark.parametrize(
    ("columns", "limit", "expected"),
    [
        ({}, "", ["Expires Never", "Access Read and add", "Limit None", "Last used Never"]),
        ({"scope": "read"}, "5/s", ["Expires Never", "Access Read", "Limit 5/s the service's", "Last used Never"]),
        ({"rate_limit": "9/min"}, "5/s", ["Expires Never", "Access Read and add", "Limit 9/min its own", "Last used Never"]),
    ],
)  # fmt: skip
def test_a_key_in_words(settings: Any, columns: Any, limit: str, expected: list[str]) -> None:
    settings.RATE_LIMIT = limit
    assert told(APIKey(**columns)) == expected


def test_the_end_of_a_key_in_words() -> None:
    now = timezone.now()
    soon, late, gone = now + 3 * DAY, now + 130 * DAY, now - 3 * DAY

    def at(moment: datetime) -> str:
        return f"{written(moment)}, {moment:%H:%M}"

    ends = ({"expires_at": soon}, {"expires_at": late}, {"expires_at": gone}, {"revoked_at": gone})
    assert [told(APIKey(**columns))[0] for columns in ends] == [
        f"Works until {at(soon)} in 3 days",
        f"Works until {at(late)} in 4\xa0months",
        f"Expired {at(gone)} 3 days ago. Requests are rejected.",
        f"Revoked {at(gone)} 3 days ago. Requests are rejected.",
    ]


@pytest.mark.parametrize(
    ("days", "words"), [(0, "today"), (1, "tomorrow"), (2, "in 2 days"), (60, "in 60 days"), (62, "in 2\xa0months")]
)
def test_how_long_a_key_still_works(today: date, days: int, words: str) -> None:
    last = datetime.combine(today + days * DAY, time(23, 59, 59), UTC)
    assert told(APIKey(expires_at=last))[0] == f"Works until {written(last)}, 23:59 {words}"


@pytest.mark.parametrize(
    ("wrong", "total", "usual", "expected"),
    [
        (6, 45, 0, False),  # no alarm from 45 requests
        (199, 199, 0, False),
        (4, 200, 0, False),
        (5, 200, 0, True),
        (5, 200, 0.04, False),
        (9, 200, 0.04, True),
    ],
)
def test_an_alarm_needs_enough_requests_and_more_errors_than_usual(
    wrong: int, total: int, usual: float, expected: bool
) -> None:
    assert RequestCount(total, wrong).is_alarming(usual) is expected


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        ("pet-list", "GET /v1/pets"),
        ("pet-list POST", "POST /v1/pets"),
        ("pet-detail", "GET /v1/pets/{petId}"),
        ("unknown-route", "GET a path that does not exist"),
        ("a-route-of-long-ago", "GET a path that does not exist"),
        (" POST", "POST a path that does not exist"),
    ],
)
def test_operations_in_words(counted: str, words: str) -> None:
    assert operation(counted) == words


@pytest.mark.django_db
class TestUse:
    def test_is_added_up(self) -> None:
        key, other = APIKeyFactory(), APIKeyFactory()
        for row in (
            (0, "pet-list", 2, 70),
            (0, "pet-list", 4, 5),
            (1, "pet-list", 4, 2),
            (1, "pet-list POST", 5, 25),
            (2, "pet-list POST", 5, 1),
            (29, "pet-list", 2, 1),
            (30, "pet-list", 2, 1000),
        ):
            use(key, *row)  # fmt: skip
        use(other, 0, "pet-list", 2, 1000)
        told = overview(key.pk)
        assert [(row.label, row.total) for row in told["chart"].rows if row.total] == [
            (short_day(timezone.now().date() - number * DAY), total)
            for number, total in ((29, 1), (2, 1), (1, 27), (0, 75))
        ]
        assert len(told["chart"].rows) == 30
        assert told["operations"] == [
            {"operation": "GET /v1/pets", "tally": RequestCount(78, 7, 0), "sunset": None},
            {"operation": "POST /v1/pets", "tally": RequestCount(26, 0, 26), "sunset": None},
        ]
        assert [each["tally"].share for each in told["operations"]] == ["9.0 %", "100.0 %"]
        assert told["all"] == RequestCount(104, 7, 26)

    def test_of_real_requests_is_on_the_page(self, admin_client: Client) -> None:
        key = APIKeyFactory()
        api = ApiClient(key.secret)
        api.get("/v1/pets")
        api.post("/v1/pets", {})
        usage.flush()
        shown = text(admin_client, key)
        assert "2 requests: 1 rejected (4xx), 0 failed (5xx)." in shown
        assert "List animals GET /v1/pets 1 0.0 % Add an animal POST /v1/pets 1 100.0 %" in shown

    def test_of_a_key_that_was_never_used(self, admin_client: Client) -> None:
        shown = text(admin_client, APIKeyFactory())
        assert "The key was not used in the last 30 days." in shown
        assert "Replacing" not in shown


@pytest.mark.django_db
class TestRotation:
    @pytest.fixture
    def rotated(self) -> tuple[APIKey, APIKey]:
        old = APIKeyFactory(name="Shop")
        new, _ = old.rotate(grace=9 * DAY)
        now = timezone.now()
        APIKey.objects.filter(pk=new.pk).update(created_at=now - 2 * DAY, last_used_at=now - 5 * MINUTE)
        APIKey.objects.filter(pk=old.pk).update(last_used_at=now - 5 * MINUTE)
        for number, count in enumerate((14, 20, 30, 40)):
            use(old, number, "pet-list", 2, count)
        use(new, 0, "pet-list", 2, 7)
        return old, new

    def test_both_pages_show_both_keys(self, admin_client: Client, rotated: tuple[APIKey, APIKey]) -> None:
        for key in rotated:
            shown = text(admin_client, key)
            assert f"Replacing {rotated[0].key_id} with {rotated[1].key_id}" in shown
            assert "Not yet: the old key was used 14 times today, last 5 minutes ago." in shown
            assert "End the old key anyway" in shown
            [rotation] = overview(key.pk)["rotations"]
            assert [[row.total for row in side["chart"].rows] for side in rotation["sides"]] == [
                [0, 0, 40, 30, 20, 14],
                [0, 0, 0, 0, 0, 7],
            ]
            assert {side["chart"].top for side in rotation["sides"]} == {40}

    def test_a_key_in_the_middle_shows_two_rotations(self, rotated: tuple[APIKey, APIKey]) -> None:
        newest, _ = rotated[1].rotate(grace=DAY)
        told = overview(rotated[1].pk)["rotations"]
        assert [(each["old"], each["new"]) for each in told] == [rotated, (rotated[1], newest)]

    def test_the_old_key_is_ended_from_either_page(self, admin_client: Client, rotated: tuple[APIKey, APIKey]) -> None:
        old, new = rotated
        APIKey.objects.filter(pk=old.pk).update(last_used_at=timezone.now() - 2 * DAY)
        shown = admin_client.get(page(new)).content.decode()
        revoke = f"/admin/apikeys/apikey/{old.pk}/revoke/"
        assert f'<a class="btn btn-primary" href="{revoke}">End the old key now</a>' in shown
        admin_client.post(revoke)
        assert f"Nothing is left to end: key {old.key_id} is revoked." in text(admin_client, new)
        assert revoke not in admin_client.get(page(new)).content.decode()

    def test_with_permission_to_view_only_there_is_no_button(self, rotated: tuple[APIKey, APIKey]) -> None:
        shown = member("viewer", "view_apikey").get(page(rotated[0])).content.decode()
        assert "Replacing " in shown
        assert "/revoke/" not in shown

    def test_queries(
        self, admin_client: Client, rotated: tuple[APIKey, APIKey], django_assert_num_queries: Any
    ) -> None:
        old = rotated[0]
        for number in range(25):
            use(old, number, f"route-{number}", 4, 1)
        ContentType.objects.get_for_model(APIKey)  # cached by the process
        # session, user, key, its latest change, its successor's name; key and successor, use by day and by
        # operation, recent errors
        with django_assert_num_queries(9):
            admin_client.get(page(old))

    def test_a_form_with_mistakes_changes_no_words(self, admin_client: Client, rotated: tuple[APIKey, APIKey]) -> None:
        answer = admin_client.post(page(rotated[1]), {"name": "", "expires_at_0": "date", "expires_at_1": "2020-01-01"})
        assert "<dt>Expires</dt><dd><strong>Never</strong>" in answer.content.decode()
