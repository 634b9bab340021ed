"""Which requests are accepted, and the errors of the others."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.http import http_date

from petstore_site.apikeys import keys, lookup
from petstore_site.apikeys.models import APIKey
from tests.conftest import ApiClient, error
from tests.factories import APIKeyFactory, PetFactory
from tests.properties.examples import Clock

pytestmark = pytest.mark.django_db

NO_BEARER = error("api_key_invalid", "Authorization must have the form Bearer <key>.", 401)
INVALID = error(
    "api_key_invalid",
    "The API key is not valid. Check that you copied all of it and that it belongs to this environment.",
    401,
)
EXPIRED = error(
    "api_key_expired", "The API key has expired. Use the key that replaced it, or ask the store for a new one.", 401
)
REVOKED = error("api_key_revoked", "The API key was revoked. Ask the store for a new one.", 401)
SECOND = timedelta(seconds=1)
CHALLENGE = 'Bearer realm="petstore"'
CHALLENGE_INVALID = 'Bearer realm="petstore", error="invalid_token"'


def get(header: str | None) -> Any:
    return ApiClient(None).get("/v1/pets", **({} if header is None else {"Authorization": header}))


def told(header: str | None) -> tuple[Any, str]:
    answer = get(header)
    assert answer.status_code == 401
    return answer.json(), answer["WWW-Authenticate"]


class TestAccepted:
    @pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {}", "bEaReR {}", "Bearer   {}"])
    def test_forms(self, form: str) -> None:
        answer = get(form.format(APIKeyFactory().secret))
        assert (answer.status_code, answer.json()) == (200, [])


class TestRejected:
    @pytest.mark.parametrize(
        ("form", "body", "challenge"),
        [
            ("", NO_BEARER, CHALLENGE),
            ("Bearer ", NO_BEARER, CHALLENGE),
            ("Bearer{}", NO_BEARER, CHALLENGE),
            ("Bearer\t{}", NO_BEARER, CHALLENGE),
            ("Basic {}", NO_BEARER, CHALLENGE),
            (" Bearer {}", NO_BEARER, CHALLENGE),
            ("Bearer \t{}", INVALID, CHALLENGE_INVALID),
            ("Bearer {} ", INVALID, CHALLENGE_INVALID),
            ("Bearer {},Bearer {}", INVALID, CHALLENGE_INVALID),
            ("Bearer {}=", INVALID, CHALLENGE_INVALID),
            ("Bearer {}\x00", INVALID, CHALLENGE_INVALID),
            ("Bearer é{}", INVALID, CHALLENGE_INVALID),
            ("Bearer " + "x" * 257, INVALID, CHALLENGE_INVALID),
            ("Bearer pets_test_" + "x" * 46, INVALID, CHALLENGE_INVALID),
        ],
    )
    def test_malformed_headers_without_a_query(
        self, form: str, body: Any, challenge: str, django_assert_num_queries: Any
    ) -> None:
        secret = APIKeyFactory().secret
        with django_assert_num_queries(0):
            assert told(form.format(secret, secret)) == (body, challenge)

    def test_keys_that_tell_a_stranger_nothing(self, settings: Any) -> None:
        good = APIKeyFactory().secret
        unknown = keys.generate("pets_test_")
        same_id = keys.generate("pets_test_", key_id=good[10:18])
        typo = good[:20] + ("x" if good[20] != "x" else "y") + good[21:]
        settings.API_KEY_PREFIX = "pets_live_"
        live = APIKeyFactory().secret
        settings.API_KEY_PREFIX = "pets_test_"
        for text in (unknown, same_id, typo, good.swapcase(), good[:-1], live):
            assert told(f"Bearer {text}") == (INVALID, CHALLENGE_INVALID)

    @pytest.mark.parametrize(
        ("columns", "body"),
        [
            ({"expires_at": timezone.now() - timedelta(seconds=1)}, EXPIRED),
            ({"revoked_at": timezone.now() - timedelta(seconds=1)}, REVOKED),
            ({"revoked_at": timezone.now(), "expires_at": timezone.now()}, REVOKED),
        ],
    )
    def test_only_the_holder_is_told_what_became_of_the_key(self, columns: dict[str, Any], body: Any) -> None:
        key = APIKeyFactory(**columns)
        assert told(f"Bearer {key.secret}") == (body, CHALLENGE_INVALID)
        assert told(f"Bearer {key.secret[:-1]}") == (INVALID, CHALLENGE_INVALID)

    def test_the_key_is_not_repeated(self, caplog: pytest.LogCaptureFixture) -> None:
        key = APIKeyFactory(revoked_at=timezone.now())
        for text in (key.secret, key.secret[:-1], keys.generate("pets_test_"), keys.generate("pets_live_")):
            answer = get(f"Bearer {text}")
            told_and_logged = f"{answer.content!r} {answer.headers} {caplog.text}"
            assert "401" in caplog.text
            assert text[18:40] not in told_and_logged
            assert keys.digest(text) not in told_and_logged


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The time, which only the test lets pass."""
    clock = Clock()
    with clock.installed():
        yield clock


class TestTime:
    def test_expiry_is_compared_at_every_request(self, clock: Clock) -> None:
        key = APIKeyFactory(expires_at=clock.now + SECOND / 2)
        assert get(f"Bearer {key.secret}").status_code == 200
        clock.passes(SECOND / 2)
        assert told(f"Bearer {key.secret}") == (EXPIRED, CHALLENGE_INVALID)


NOTICE = timedelta(days=30)


@pytest.mark.parametrize("left", [timedelta(minutes=1), timedelta(days=1), NOTICE - SECOND])
def test_a_key_that_expires_soon_says_when(left: timedelta, django_assert_num_queries: Any) -> None:
    api, expires_at = client_with_key(left)
    PetFactory()  # for an empty list PostgreSQL is asked again
    answers = [
        api.get("/v1/pets"),
        api.get("/v1/pets", If_None_Match=api.get("/v1/pets")["ETag"]),
        api.get("/v1/pets?limit=0"),
        api.get("/v1/nowhere"),
        api.post("/v1/pets", {}),
        api("DELETE", "/v1/pets"),
    ]
    assert [answer.status_code for answer in answers] == [200, 304, 400, 404, 400, 405]
    assert {answer["API-Key-Expiration"] for answer in answers} == {http_date(expires_at.timestamp())}
    lookup.clear()
    with django_assert_num_queries(2):  # the key, the list
        api.get("/v1/pets")


@pytest.mark.parametrize("left", [None, NOTICE + timedelta(minutes=1)])
def test_other_keys_say_nothing(left: timedelta | None) -> None:
    api, _ = client_with_key(left)
    assert "API-Key-Expiration" not in api.get("/v1/pets").headers


def test_an_expired_key_and_no_key_are_told_nothing(stranger: ApiClient) -> None:
    expired, _ = client_with_key(SECOND)
    APIKey.objects.update(expires_at=timezone.now())
    for answer in (expired.get("/v1/pets"), stranger.get("/v1/pets")):
        assert (answer.status_code, "API-Key-Expiration" in answer.headers) == (401, False)


def client_with_key(left: timedelta | None) -> tuple[ApiClient, Any]:
    expires_at = timezone.now() + left if left else None
    key, secret = APIKey.objects.issue(name="Test", expires_at=expires_at)
    return ApiClient(secret), key.expires_at
