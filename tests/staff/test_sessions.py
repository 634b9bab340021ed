"""How long a session lasts, and what must be done in it before anything else."""

import resource
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from petstore_site.staff import middleware
from petstore_site.staff.models import TemporaryPassword
from tests.staff.conftest import PASSWORD, SIGN_IN, code, member, sign_in
from tests.staff.walk import address, pages

pytestmark = pytest.mark.usefixtures("anna")

HOUR = 60 * 60
PASSWORD_PAGE = "/admin/account/password/"
FACTORS_PAGE = "/admin/account/"


class Clock:
    """The time that the service believes it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.time()
        monkeypatch.setattr(time, "time", lambda: self.now)

    def forward(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def office(client: Client, anna: User, clock: Clock) -> Client:
    sign_in(client)
    return client


def is_open(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def writes(client: Client) -> list[str]:
    """Return the tables that looking at the overview writes to."""
    with CaptureQueriesContext(connection) as queries:
        assert is_open(client)
    return [q["sql"] for q in queries if q["sql"].split()[0] in {"INSERT", "UPDATE", "DELETE"}]


class TestTime:
    """Eight hours after the sign-in at most, half an hour without use."""

    def test_a_session_left_alone_ends(self, office: Client, clock: Clock) -> None:
        clock.forward(HOUR / 2 - 1)
        assert is_open(office)
        clock.forward(HOUR / 2)
        answer = office.get("/admin/pets/pet/?q=rex", follow=True)
        assert answer.redirect_chain[-1][0] == f"{SIGN_IN}?next=%2Fadmin%2Fpets%2Fpet%2F%3Fq%3Drex"
        assert middleware.TIMED_OUT in answer.content.decode()

    def test_a_session_in_use_ends_after_eight_hours(self, office: Client, clock: Clock) -> None:
        for _ in range(8 * 3 - 1):
            clock.forward(HOUR / 3)
            assert is_open(office)
        clock.forward(HOUR / 3)
        assert not is_open(office)

    def test_a_form_sent_too_late_changes_nothing(self, office: Client, clock: Clock) -> None:
        clock.forward(HOUR / 2)
        answer = office.post("/admin/auth/user/add/", {"username": "late"})
        assert answer.status_code == 302
        assert not User.objects.filter(username="late").exists()

    def test_use_is_written_down_once_a_minute_at_most(self, office: Client, clock: Clock) -> None:
        assert writes(office) == []
        clock.forward(59)
        assert writes(office) == []
        clock.forward(1)
        assert ["django_session" in sql for sql in writes(office)] == [True]
        assert writes(office) == []

    def test_a_session_without_a_beginning_is_over(self, office: Client) -> None:
        session = office.session
        del session["staff_signed_in_at"]
        session.save()
        assert not is_open(office)

    def test_the_rest_of_the_site_has_no_sessions(self, office: Client, clock: Clock) -> None:
        clock.forward(9 * HOUR)
        with CaptureQueriesContext(connection) as queries:
            assert office.get("/").status_code == 200
        assert not queries.captured_queries


def test_the_calls_within_a_page_share_one_block_of_memory() -> None:
    """Else Python fetches one from the system for each call at some depths."""

    def nested(depth: int) -> Any:
        for _ in range(100 * (depth > 0)):
            nested(0)
        return depth and nested(depth - 1)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    middleware.StaffMiddleware(lambda _request: nested(300))(HttpRequest())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100


def test_who_is_not_staff_any_more_is_out_at_once(office: Client, anna: User) -> None:
    assert is_open(office)
    User.objects.update(is_staff=False)
    assert not is_open(office)


def test_looking_at_a_page_costs_one_query_for_the_account(office: Client, anna: User) -> None:
    with CaptureQueriesContext(connection) as queries:
        office.get("/admin/nowhere/")
    assert len([q for q in queries if 'FROM "auth_user"' in q["sql"]]) == 1


class TestPassword:
    CHANGE = {"oldpassword": PASSWORD, "password1": "a quiet purple giraffe", "password2": "a quiet purple giraffe"}

    def test_a_change_ends_other_sessions(self, office: Client) -> None:
        elsewhere = Client()
        sign_in(elsewhere)
        answer = office.post(PASSWORD_PAGE, self.CHANGE)
        assert (answer.status_code, answer["Location"]) == (302, "/admin/")
        assert (is_open(office), is_open(elsewhere)) == (True, False)

    @pytest.mark.parametrize(
        ("sent", "expected"),
        [
            ({"oldpassword": "a guess"}, "This is not your current password."),
            ({"password2": "something else"}, "You must type the same password each time."),
            ({"password1": "password1", "password2": "password1"}, "This password is too common."),
            ({"password1": "Anna-123", "password2": "Anna-123"}, None),
        ],
    )
    def test_mistakes_have_their_sentence(self, office: Client, sent: dict[str, str], expected: str | None) -> None:
        answer = office.post(PASSWORD_PAGE, self.CHANGE | sent)
        assert answer.status_code == (200 if expected else 302)
        assert expected is None or expected in answer.content.decode()

    @pytest.mark.parametrize(
        "path", ["/admin/", "/admin/pets/pet/", "/admin/pets/pet/add/", FACTORS_PAGE, "/admin/jsi18n/"]
    )
    @pytest.mark.parametrize("method", ["get", "post", "put", "delete", "head"])
    def test_a_given_one_is_changed_before_anything_else(
        self, client: Client, anna: User, path: str, method: str
    ) -> None:
        User.objects.update(is_superuser=True)
        TemporaryPassword.objects.mark(anna)
        sign_in(client)
        answer = getattr(client, method)(path)
        assert (answer.status_code, answer["Location"]) == (302, PASSWORD_PAGE)

    def test_after_the_change_the_rest_opens(self, client: Client, anna: User) -> None:
        TemporaryPassword.objects.mark(anna)
        sign_in(client)
        assert middleware.CHANGE_PASSWORD in client.get("/admin/", follow=True).content.decode()
        client.post(PASSWORD_PAGE, self.CHANGE)
        assert is_open(client)
        assert not TemporaryPassword.objects.exists()

    def test_the_given_one_is_not_a_choice(self, client: Client, anna: User) -> None:
        TemporaryPassword.objects.mark(anna)
        sign_in(client)
        same = {"oldpassword": PASSWORD, "password1": PASSWORD, "password2": PASSWORD}
        assert (
            "Choose a password that differs from your current one." in client.post(PASSWORD_PAGE, same).content.decode()
        )
        assert not is_open(client)

    def test_signing_out_is_always_possible(self, client: Client, anna: User) -> None:
        TemporaryPassword.objects.mark(anna)
        sign_in(client)
        assert client.post("/admin/logout/").status_code == 200


@pytest.mark.parametrize("path", ["", "app/add/", "codes/", "password/", "nowhere/"])
def test_no_browser_keeps_a_page(office: Client, secret: str, path: str) -> None:
    answer = office.get(f"/admin/account/{path}")
    assert {"no-store", "private"} <= set(answer["Cache-Control"].split(", "))


def add_app(client: Client) -> list[str]:
    """Set up an authenticator app and return the recovery codes shown."""
    shown = client.get("/admin/account/app/add/").context["form"].secret
    answer = client.post("/admin/account/app/add/", {"code": code(shown)}, follow=True)
    codes: list[str] = answer.context["unused_codes"]
    return codes


class TestRequiredSecondFactor:
    """`REQUIRE_STAFF_MFA`: without a second factor nothing else opens."""

    @pytest.fixture(autouse=True)
    def _required(self, settings: Any) -> None:
        settings.REQUIRE_STAFF_MFA = True

    @pytest.mark.parametrize("path", ["/admin/", "/admin/pets/pet/add/", "/admin/account/passkeys/", "/admin/jsi18n/"])
    @pytest.mark.parametrize("method", ["get", "post", "put", "delete", "head"])
    def test_leads_there_before_anything_else(self, client: Client, path: str, method: str) -> None:
        User.objects.update(is_superuser=True)
        sign_in(client)
        answer = getattr(client, method)(path)
        assert (answer.status_code, answer["Location"]) == (302, FACTORS_PAGE)

    def test_nothing_but_what_leads_there_opens(self, client: Client, anna: User) -> None:
        User.objects.update(is_superuser=True)
        client.force_login(anna)
        names = [name for name in pages() if "importrun" not in name]
        paths = {name: address(name, anna) for name in names if "webauthn" not in name}
        Authenticator.objects.all().delete()
        answers = {name: client.post(path) for name, path in paths.items() if "logout" not in name}
        open_ = {name for name, answer in answers.items() if answer.get("Location") != FACTORS_PAGE}
        assert open_ == {"account_reauthenticate", "account_change_password", "mfa_index", "mfa_activate_totp"}

    @pytest.mark.django_db(transaction=True)  # allauth sends its signal after the commit
    def test_an_app_is_set_up_and_the_rest_opens(self, client: Client) -> None:
        sign_in(client)
        assert middleware.ADD_SECOND_FACTOR in client.get("/admin/", follow=True).content.decode()
        page = client.get("/admin/account/app/add/")
        assert f'src="{page.context["totp_svg_data_uri"]}"' in page.content.decode()
        assert len(add_app(client)) == 10
        assert is_open(client)
        assert "be shown again" in client.get("/admin/account/codes/").content.decode()

    def test_a_wrong_code_sets_up_nothing(self, client: Client) -> None:
        sign_in(client)
        shown = client.get("/admin/account/app/add/").context["form"].secret
        wrong = "000000" if code(shown) != "000000" else "111111"
        assert "Incorrect code." in client.post("/admin/account/app/add/", {"code": wrong}).content.decode()
        assert not Authenticator.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_a_recovery_code_opens_once(self, client: Client) -> None:
        sign_in(client)
        codes = add_app(client)
        for opened in (True, False):
            other = Client()
            other.post(sign_in(other)["Location"], {"code": codes[0]})
            assert is_open(other) is opened

    def test_a_session_from_before_has_to_sign_in_again(self, client: Client, anna: User) -> None:
        """Else someone with a stolen password, signed in before, would stay signed in."""
        client.force_login(anna)
        TOTP.activate(anna, generate_totp_secret())
        answer = client.get("/admin/", follow=True)
        assert answer.redirect_chain[-1][0].startswith(SIGN_IN)
        assert middleware.USE_SECOND_FACTOR in answer.content.decode()

    def test_recovery_codes_alone_are_none(self, client: Client, anna: User) -> None:
        Authenticator.objects.create(user=anna, type=Authenticator.Type.RECOVERY_CODES, data={})
        sign_in(client)
        assert client.get("/admin/")["Location"] == FACTORS_PAGE

    def test_a_factor_that_is_removed_does_not_count_any_more(self, client: Client, secret: str) -> None:
        client.post(sign_in(client)["Location"], {"code": code(secret)})
        assert is_open(client)
        Authenticator.objects.all().delete()
        assert client.get("/admin/")["Location"] == FACTORS_PAGE

    @pytest.mark.usefixtures("secret")
    def test_the_factor_of_another_does_not_open_an_account_that_has_its_own(self, client: Client, anna: User) -> None:
        client.force_login(anna)
        session = client.session
        session["staff_second_factor"] = member("ben").pk
        session.save()
        answer = client.get("/admin/", follow=True)
        assert answer.redirect_chain[-1][0].startswith(SIGN_IN)
        assert middleware.USE_SECOND_FACTOR in answer.content.decode()


def test_changing_the_sign_in_asks_again_after_five_minutes(office: Client, clock: Clock) -> None:
    assert office.get("/admin/account/app/add/").status_code == 200
    clock.forward(5 * 60)
    answer = office.get("/admin/account/app/add/")
    assert answer["Location"] == "/admin/account/again/?next=%2Fadmin%2Faccount%2Fapp%2Fadd%2F"
    assert "This is not your password." in office.post(answer["Location"], {"password": "x"}).content.decode()
    answer = office.post(answer["Location"], {"password": PASSWORD})
    assert answer["Location"] == "/admin/account/app/add/"
    assert office.get("/admin/account/app/add/").status_code == 200
