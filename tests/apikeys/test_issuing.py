"""Issuing and rotating a key in the back office: the secret is shown once."""

from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from petstore_site.apikeys import keys
from petstore_site.apikeys.models import APIKey
from tests.apikeys.office import ACTIONS, ADD, DAY, LIST, NEW, RATE, errors, history, page, secret_in
from tests.days import written
from tests.factories import APIKeyFactory

pytestmark = pytest.mark.django_db


class TestIssue:
    def test_shows_the_secret_once_in_the_answer_to_the_post(self, office: Client, admin_user: User) -> None:
        answer = office.post(ADD, NEW | {"contact": "shop@example.com", "scope": "read", "rate_limit": "5/s"})
        key, secret = APIKey.objects.get(), secret_in(answer)
        assert (answer.status_code, keys.digest(secret)) == (200, key.digest)
        assert "no-store" in answer["Cache-Control"]
        assert (key.name, key.contact, key.scope, key.rate_limit) == ("Shop", "shop@example.com", "read", "5/s")
        assert (key.expires_at, key.created_by) == (None, admin_user)
        assert history() == [(f"Shop ({key.key_id})", ADDITION, '[{"added": {}}]')]

    def test_keeps_the_secret_nowhere(self, office: Client, caplog: pytest.LogCaptureFixture) -> None:
        answer = office.post(ADD, NEW)
        secret = secret_in(answer)[18:50]
        assert list(get_messages(answer.wsgi_request)) == []
        assert set(answer.cookies) == {"csrftoken"}  # Django renews it with every form
        assert secret not in str(office.cookies)
        assert secret not in str([session.get_decoded() for session in Session.objects.all()])
        assert secret not in str(APIKey.objects.values())
        assert secret not in str(LogEntry.objects.values())
        assert secret not in caplog.text
        key = APIKey.objects.get()
        for path in (LIST, *(page(key, action) for action in ACTIONS), "/admin/"):
            shown = office.get(path).content.decode()
            assert secret not in shown
            assert key.digest not in shown

    def test_a_reload_issues_no_second_key(self, office: Client) -> None:
        form = office.get(ADD).context["adminform"].form
        sent = NEW | {"issues": form["issues"].value()}
        secret = secret_in(office.post(ADD, sent))
        key = APIKey.objects.get()
        assert secret[10:18] == key.key_id == sent["issues"]
        again = office.post(ADD, sent)
        sentence = (
            f"This form has issued key {key.key_id}, which is not shown again. To issue another key, reload the page."
        )
        assert errors(again) == {"__all__": [sentence]}
        assert sentence in again.content.decode()
        assert APIKey.objects.count() == 1

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ({"name": ""}, {"name": ["This field is required."]}),
            ({"name": "a\nb"}, {"name": ["This must be one line of visible text."]}),
            ({"contact": "two\u2028lines"}, {"contact": ["This must be one line of visible text."]}),
            ({"name": f"pets_test_{'a' * 46}"}, {"name": ["This must not contain an API key."]}),
            ({"name": "a\x00b"}, {"name": ["Null characters are not allowed."]}),
            ({"name": "x" * 101}, {"name": ["Ensure this value has at most 100 characters (it has 101)."]}),
            ({"scope": "admin"}, {"scope": ["Select a valid choice. admin is not one of the available choices."]}),
            ({"rate_limit": "fast"}, {"rate_limit": [RATE]}),
            ({"expires_at_0": "7"}, {"expires_at": ["Select a valid choice. 7 is not one of the available choices."]}),
            ({"expires_at_0": "", "expires_at_1": "2099-12-31"}, {"expires_at": ["Enter a complete value."]}),
            ({"expires_at_0": "date"}, {"expires_at": ["Choose a day."]}),
            ({"expires_at_0": "date", "expires_at_1": "31.12.2099x"}, {"expires_at": ["Enter a valid date."]}),
            *(
                (
                    {"expires_at_0": "date", "expires_at_1": date},
                    {"expires_at": ["The expiry must lie in the future, at most 36500 days from now."]},
                )
                for date in ("2020-01-01", "0001-01-01", "9999-12-31")
            ),
            ({"issues": "pets_test_x"}, {"issues": ["Enter a valid value."]}),
        ],
    )
    def test_invalid_values_are_errors_of_the_form(self, office: Client, values: Any, expected: Any) -> None:
        assert errors(office.post(ADD, NEW | values)) == expected
        assert APIKey.objects.count() == 0
        assert history() == []

    @pytest.mark.parametrize("as_in_1_6", [{}, {"expires": "90", "last_day": ""}])
    def test_without_a_choice_no_key_is_issued_for_ever(self, office: Client, as_in_1_6: dict[str, str]) -> None:
        answer = office.post(ADD, {"name": "Shop", "scope": "write"} | as_in_1_6)
        assert errors(answer) == {"expires_at": ["This field is required."]}
        assert not APIKey.objects.exists()

    def test_asks_for_little_and_not_for_long(self, office: Client) -> None:
        form = office.get(ADD).context["adminform"].form
        chosen = {name: form[name].value() for name in ("scope", "expires_at", "rate_limit")}
        assert chosen == {"scope": "read", "expires_at": ["90", ""], "rate_limit": None}
        assert '<option value="90" selected>In 90 days: ' in str(form["expires_at"])

    @pytest.mark.parametrize("days", [30, 90, 365])
    def test_expires_after_so_many_days(self, office: Client, today: date, days: int) -> None:
        office.post(ADD, NEW | {"expires_at_0": str(days)})
        assert APIKey.objects.get().expires_at == datetime.combine(today + days * DAY, time.max, UTC)

    def test_expires_at_the_end_of_a_day(self, office: Client) -> None:
        office.post(ADD, NEW | {"expires_at_0": "date", "expires_at_1": "2099-12-31"})
        assert APIKey.objects.get().expires_at == datetime(2099, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

    def test_names_are_escaped(self, office: Client) -> None:
        name = '<script>alert("1")</script>'
        office.post(ADD, NEW | {"name": name})
        key = APIKey.objects.get(name=name)
        shown = [office.get(path) for path in (LIST, *(page(key, action) for action in ACTIONS))]
        shown.append(office.post(page(key, "rotate"), {"grace_hours": "1"}))
        assert [answer.request["PATH_INFO"] for answer in shown if name in answer.content.decode()] == []


class TestRotate:
    def test_shows_the_new_secret_once(
        self, office: Client, admin_user: User, caplog: pytest.LogCaptureFixture
    ) -> None:
        old, before = APIKeyFactory(name="Shop"), timezone.now()
        answer = office.post(page(old, "rotate"), {"grace_hours": "48"})
        old.refresh_from_db()
        new, secret = old.replaced_by, secret_in(answer)
        assert new is not None
        assert old.expires_at is not None
        assert keys.digest(secret) == new.digest
        assert "no-store" in answer["Cache-Control"]
        assert (answer.status_code, set(answer.cookies)) == (200, {"csrftoken"})
        assert list(get_messages(answer.wsgi_request)) == []
        assert new.created_by == admin_user
        assert before <= old.expires_at - 2 * DAY <= timezone.now()
        assert history() == [
            (f"Shop ({old.key_id})", CHANGE, f"Rotated: replaced by {new.key_id}."),
            (f"Shop ({new.key_id})", ADDITION, f"Issued to replace {old.key_id}."),
        ]
        assert f"{written(old.expires_at)}, {old.expires_at:%H:%M}</time>" in answer.content.decode()
        assert (
            secret[18:50] not in f"{LogEntry.objects.values()} {APIKey.objects.values()} {office.cookies} {caplog.text}"
        )

    def test_a_reload_issues_no_second_key(self, office: Client) -> None:
        old = APIKeyFactory()
        new = secret_in(office.post(page(old, "rotate"), {"grace_hours": "48"}))[10:18]
        again = office.post(page(old, "rotate"), {"grace_hours": "48"})
        assert errors(again) == {"__all__": [f"Key {old.key_id} was already replaced; rotate {new} instead."]}
        assert APIKey.objects.count() == 2
        assert len(history()) == 2

    @pytest.mark.parametrize(
        ("grace", "sentence"),
        [
            ("", "This field is required."),
            ("0", "Ensure this value is greater than or equal to 1."),
            ("-1", "Ensure this value is greater than or equal to 1."),
            ("8761", "Ensure this value is less than or equal to 8760."),
            ("9" * 400, "Ensure this value is less than or equal to 8760."),
            ("9" * 5000, "Enter a whole number."),
            ("a day", "Enter a whole number."),
            ("1.5", "Enter a whole number."),
        ],
    )
    def test_invalid_values_are_errors_of_the_form(self, office: Client, grace: str, sentence: str) -> None:
        key = APIKeyFactory()
        answer = office.post(page(key, "rotate"), {"grace_hours": grace})
        assert errors(answer) == {"grace_hours": [sentence]}
        assert sentence in answer.content.decode()
        assert APIKey.objects.count() == 1

    @pytest.mark.parametrize(
        ("columns", "past"),
        [({"revoked_at": timezone.now()}, "revoked"), ({"expires_at": timezone.now() - DAY}, "expired")],
    )
    def test_a_key_that_is_not_active_is_rejected(self, office: Client, columns: dict[str, Any], past: str) -> None:
        key = APIKeyFactory(**columns)
        sentence = f"Key {key.key_id} is {past} and cannot be rotated; issue a new one."
        assert errors(office.post(page(key, "rotate"), {"grace_hours": "1"})) == {"__all__": [sentence]}
