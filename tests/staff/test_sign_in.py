"""Signing in: who can, which message everyone else gets, and how often you can try."""

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from petstore_site.staff.adapters import LOCKED, WRONG_CREDENTIALS
from petstore_site.staff.models import TemporaryPassword
from tests.server import free_port
from tests.staff.conftest import PASSWORD, SIGN_IN, code, member, sign_in

pytestmark = pytest.mark.usefixtures("anna")


def complaints(answer: Any) -> list[str]:
    return re.findall(r'class="errornote">([^<]+)', answer.content.decode())


def signed_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def test_the_back_office_leads_to_the_sign_in_and_back(client: Client, anna: User) -> None:
    asked = client.get("/admin/pets/pet/?q=rex", follow=True)
    assert asked.redirect_chain[-1][0] == f"{SIGN_IN}?next=%2Fadmin%2Fpets%2Fpet%2F%3Fq%3Drex"
    anna.is_superuser = True
    anna.save()
    answer = client.post(asked.redirect_chain[-1][0], {"login": "anna", "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/pets/pet/?q=rex")
    assert signed_in(client)


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "http://testserver@evil.example/",
        "javascript:alert(1)",
    ],
)
def test_nobody_is_led_to_another_site(client: Client, anna: User, secret: str, elsewhere: str) -> None:
    sent = {"login": "anna", "password": PASSWORD, "next": elsewhere}
    answer = client.post(SIGN_IN, sent, query_params={"next": elsewhere})
    client.post(answer["Location"], {"code": code(secret), "next": elsewhere})
    assert signed_in(client)
    pages = [SIGN_IN, "/admin/login/", "/admin/account/again/", "/admin/account/codes/renew/"]
    answers = [client.post(page, sent, query_params={"next": elsewhere}) for page in pages]
    assert [answer["Location"].partition("?")[0] for answer in answers] == [
        "/admin/", "/admin/", "/admin/", "/admin/account/codes/"
    ]  # fmt: skip


def test_signing_in_begins_a_new_session(client: Client) -> None:
    before = client.session.session_key
    sign_in(client)
    assert before != client.session.session_key


@pytest.fixture
def _accounts(db: None) -> None:
    member("inactive", is_active=False)
    member("customer", is_staff=False)
    late = member("late")
    TemporaryPassword.objects.create(user=late, given_at=timezone.now() - timedelta(hours=72))
    nobody = member("passwordless")
    nobody.set_unusable_password()
    nobody.save()


@pytest.mark.usefixtures("_accounts")
class TestWrongCredentials:
    """An attacker who guesses learns nothing, not even that an account exists."""

    @pytest.mark.parametrize(
        ("username", "password"),
        [
            ("anna", "wrong"),
            ("nobody", PASSWORD),
            ("inactive", PASSWORD),
            ("customer", PASSWORD),
            ("late", PASSWORD),
            ("passwordless", PASSWORD),
            ("ANNA", PASSWORD),
        ],
    )
    def test_have_one_message(self, client: Client, username: str, password: str) -> None:
        answers = [sign_in(client, username, password) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
        assert [complaints(answer) for answer in answers] == [[WRONG_CREDENTIALS]] * 5 + [[LOCKED]] * 2
        assert not signed_in(client)

    def test_pages_differ_in_nothing_but_the_name(self, client: Client) -> None:
        def page(username: str) -> str:
            html = sign_in(client, username, "wrong").content.decode()
            return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html).replace(username, "")

        assert len({page(username) for username in ("anna", "nobody", "inactive", "customer")}) == 1

    @pytest.mark.parametrize("name", ["\x00", "a" * 151, "' OR 1=1 --", "\ud800"])
    def test_strange_names_are_only_rejected(self, client: Client, name: str) -> None:
        answer = client.post(SIGN_IN, {"login": name.encode("utf-8", "replace"), "password": "x"})
        assert answer.status_code == 200


class TestLockOut:
    """Five failures of one name from one address or twenty from one address in fifteen minutes."""

    def test_leaves_others_alone(self, client: Client) -> None:
        member("ben")
        for _ in range(6):
            sign_in(client, password="wrong")
        assert sign_in(client, "ben").status_code == 302

    @pytest.mark.parametrize(
        "sent",
        [
            lambda n: {"headers": {"X-Forwarded-For": f"10.0.0.{n}"}},
            lambda n: {"headers": {"X-Forwarded-For": f"10.0.0.{n}, 192.0.2.1"}},
            lambda n: {"headers": {"X-Real-IP": f"10.0.0.{n}", "Forwarded": f"for=10.0.0.{n}", "Client-IP": f"{n}"}},
            lambda n: {"headers": {"Host": f"localhost:{1000 + n}"}},
        ],
        ids=["forged address", "address added", "other headers", "other port"],
    )
    def test_of_an_account_cannot_be_evaded(self, client: Client, sent: Any) -> None:
        for number in range(5):
            sign_in(client, password="wrong", **sent(number))
        assert complaints(sign_in(client, **sent(5))) == [LOCKED]

    @pytest.mark.parametrize("name", [" anna", "anna ", "ANNA", "Anna"])
    def test_counts_other_spellings_of_the_name(self, client: Client, name: str) -> None:
        for _ in range(5):
            sign_in(client, name, "wrong")
        assert complaints(sign_in(client)) == [LOCKED]

    def test_of_an_address(self, client: Client) -> None:
        for number in range(20):
            assert complaints(sign_in(client, f"guess-{number}", "wrong")) == [WRONG_CREDENTIALS]
        assert complaints(sign_in(client)) == [LOCKED]
        assert sign_in(client, REMOTE_ADDR="192.0.2.7").status_code == 302

    @pytest.mark.parametrize("behind_proxy", [0, 1], ids=["reached directly", "behind a proxy"])
    def test_of_an_address_cannot_be_evaded_by_a_header(self, client: Client, settings: Any, behind_proxy: int) -> None:
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = behind_proxy
        real = ", 192.0.2.1" if behind_proxy else ""
        for number in range(20):
            sign_in(client, f"guess-{number}", "wrong", headers={"X-Forwarded-For": f"10.0.0.{number}{real}"})
        assert complaints(sign_in(client, headers={"X-Forwarded-For": f"10.0.0.99{real}"})) == [LOCKED]

    def test_behind_a_proxy_tells_callers_apart(self, client: Client, settings: Any) -> None:
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
        for number in range(21):
            sign_in(client, f"guess-{number}", "wrong", headers={"X-Forwarded-For": "192.0.2.1"})
        assert sign_in(client, headers={"X-Forwarded-For": "192.0.2.2"}).status_code == 302

    def test_too_many_forms_a_minute_are_a_429(self, client: Client) -> None:
        answers = [sign_in(client, f"guess-{number}", "wrong") for number in range(31)]
        assert [(answer.status_code, answer.get("Retry-After")) for answer in answers] == (
            [(200, None)] * 20 + [(429, "900")] * 10 + [(429, "60")]
        )


def test_while_failures_cannot_be_counted_nobody_signs_in(client: Client, settings: Any) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": nowhere}}
    answer = sign_in(client)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert not signed_in(client)


def test_a_failure_is_logged_with_its_address_and_without_the_name(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    sign_in(client, "hunter2 typed in the wrong place", "wrong", REMOTE_ADDR="192.0.2.7")
    assert "A sign-in failed, from 192.0.2.7" in caplog.messages
    assert "hunter2" not in caplog.text


class TestSecondFactor:
    """Once it is set up, a password alone opens nothing."""

    def test_is_asked_for(self, client: Client, secret: str) -> None:
        answer = sign_in(client)
        assert (answer.status_code, answer["Location"]) == (302, f"{SIGN_IN}second-factor/")
        assert not signed_in(client)
        answer = client.post(answer["Location"], {"code": code(secret)})
        assert (answer.status_code, answer["Location"]) == (302, "/admin/")
        assert signed_in(client)

    def test_can_be_guessed_five_times(self, client: Client, secret: str) -> None:
        page = sign_in(client)["Location"]
        wrong = "000000" if code(secret) != "000000" else "111111"
        answers = [client.post(page, {"code": wrong}) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert answers[-1]["Retry-After"] == "900"
        pages = [answer.content.decode() for answer in answers]
        assert ["Incorrect code." in html for html in pages] == [True] * 5 + [False]
        assert LOCKED in pages[-1]
        assert LOCKED in client.post(page, {"code": code(secret)}).content.decode()
        assert not signed_in(client)

    def test_codes_work_once(self, client: Client, secret: str) -> None:
        shown = code(secret)
        client.post(sign_in(client)["Location"], {"code": shown})
        assert signed_in(client)
        again = Client()
        assert "Incorrect code." in again.post(sign_in(again)["Location"], {"code": shown}).content.decode()
        assert not signed_in(again)

    def test_the_code_that_set_it_up_works_no_more(self, client: Client, anna: User) -> None:
        sign_in(client)
        page = client.get("/admin/account/app/add/")
        shown = code(page.context["form"].secret)
        assert client.post(page.request["PATH_INFO"], {"code": shown}).status_code == 302
        assert Authenticator.objects.filter(user=anna, type="totp").exists()
        again = Client()
        assert "Incorrect code." in again.post(sign_in(again)["Location"], {"code": shown}).content.decode()
        assert not signed_in(again)

    @pytest.mark.parametrize("since", ["a new password", "closed", "staff no more"])
    def test_does_not_open_what_was_closed_since_the_password(
        self, client: Client, anna: User, secret: str, since: str
    ) -> None:
        page = sign_in(client)["Location"]
        anna.set_password("another" if since == "a new password" else PASSWORD)
        anna.is_active, anna.is_staff = since != "closed", since != "staff no more"
        anna.save()
        answer = client.post(page, {"code": code(secret)})
        assert (answer.status_code, answer["Location"]) == (302, SIGN_IN)
        assert client.post(page, {"code": code(secret)})["Location"] == SIGN_IN
        assert not signed_in(client)

    def test_of_a_thief_does_not_help_without_the_password(self, client: Client, secret: str) -> None:
        assert client.post(f"{SIGN_IN}second-factor/", {"code": code(secret)})["Location"] == SIGN_IN

    def test_secrets_are_stored_encrypted(self, secret: str) -> None:
        assert secret not in str(Authenticator.objects.values_list("data"))

    def test_secrets_outlive_a_rotation_of_the_key(self, client: Client, secret: str, settings: Any) -> None:
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = "another" * 10
        client.post(sign_in(client)["Location"], {"code": code(secret)})
        assert signed_in(client)


@pytest.mark.parametrize("path", ["signup/", "email/", "password/reset/", "nowhere/", "codes/download/"])
def test_unknown_addresses_among_the_pages_are_404(admin_client: Client, path: str) -> None:
    assert admin_client.get(f"/admin/account/{path}").status_code == 404


def test_djangos_own_form_signs_nobody_in(client: Client, anna: User) -> None:
    member("ben")
    form = {"username": "ben", "password": PASSWORD, "next": "/admin/"}
    assert client.post("/admin/login/", form)["Location"].startswith(SIGN_IN)
    client.force_login(anna)
    assert client.post("/admin/login/", form)["Location"] == "/admin/"
    assert client.get("/admin/").wsgi_request.user == anna
