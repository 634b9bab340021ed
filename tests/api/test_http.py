"""What holds for every path under /v1, beside the responses that tests/recorded compares."""

import io
from typing import Any

import pytest

from categories.models import Category
from rest.errors import ErrorCode
from tests.conftest import ApiClient, error
from tests.defects import defect
from tests.factories import PetFactory

KNOWN = {
    "/v1/pets": "GET, POST, HEAD, OPTIONS",
    "/v1/pets/1": "GET, HEAD, OPTIONS",
    "/v1/pets/abc": "GET, HEAD, OPTIONS",
    "/v1/categories": "GET, HEAD, OPTIONS",
    "/v1/categories/1": "GET, HEAD, OPTIONS",
}


def test_405_before_429_before_413_before_415_before_400(api: ApiClient, settings: Any) -> None:
    def codes(limited: str) -> list[str]:
        settings.RATE_LIMIT = limited
        big, small = b"x" * 70_000, b"{"
        sent = [
            api("DELETE", "/v1/pets"),
            api.post("/v1/pets", big, Content_Type="text/plain"),
            api.post("/v1/pets", small, Content_Type="text/plain"),
            api.post("/v1/pets", small),
        ]
        return [answer.json()["code"] for answer in sent]

    assert codes("") == ["method_not_allowed", "body_too_large", "unsupported_media_type", "malformed_json"]
    settings.RATE_LIMIT = "1/day"
    api.get("/v1/pets")
    assert codes("1/day") == ["method_not_allowed", "rate_limited", "rate_limited", "rate_limited"]


def test_no_override_of_the_method(api: ApiClient) -> None:
    answer = api.post("/v1/pets/1", {}, X_HTTP_Method_Override="GET")
    assert answer.status_code == 405


@pytest.mark.parametrize(("path", "allow"), KNOWN.items())
def test_options_needs_no_key_and_tells_nothing_else(
    stranger: ApiClient, path: str, allow: str, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        answer = stranger("OPTIONS", path)
    assert (answer.status_code, answer["Allow"], answer.content) == (204, allow, b"")
    assert not {"Content-Type", "ETag", "WWW-Authenticate"} & set(answer.headers)


class TestRequestId:
    """`X-Request-ID` on every response."""

    @pytest.mark.parametrize("given", ["abc-123", "A" * 128, "._-"])
    def test_the_callers_own(self, api: ApiClient, given: str) -> None:
        for path in ("/v1/pets", "/v1/nowhere", "/livez", "/", "/nowhere"):
            assert api.get(path, X_Request_ID=given)["X-Request-ID"] == given


class TestConditionalRequests:
    """`ETag` and `If-None-Match` (RFC 9110)."""

    def test_the_tag_covers_the_link(self, api: ApiClient, category: Category) -> None:
        older, _newest = PetFactory.create_batch(2, category=category)
        with_more = api.get("/v1/pets?limit=1")
        older.delete()
        alone = api.get("/v1/pets?limit=1", If_None_Match=with_more["ETag"])
        assert (with_more.content, "Link" in with_more, "Link" in alone) == (alone.content, True, False)
        assert alone.status_code == 200
        assert alone["ETag"] == api.get("/v1/pets?limit=1")["ETag"] != with_more["ETag"]


def test_too_many_fields(api: ApiClient) -> None:
    answer = api.get("/v1/pets?" + "&".join(f"a{number}=1" for number in range(1001)))
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


def test_a_defect_tells_the_caller_nothing(api: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    with defect("secret detail"):
        answer = api.get("/v1/pets")
    told = error("internal_error", ErrorCode.INTERNAL_ERROR.meaning, 500)
    assert (answer.status_code, answer.json()) == (500, told)
    assert "secret detail" in caplog.text


def test_chunked_bodies_are_read(api: ApiClient, category: Category) -> None:
    body = b'{"name": "Rex", "categoryId": %d}' % category.pk
    answer = chunked(api, body)
    assert (answer.status_code, answer.json()["name"]) == (201, "Rex")
    assert chunked(api, b"x" * 70_000).json()["code"] == "body_too_large"
    assert chunked(ApiClient(None), body).status_code == 401


def chunked(api: ApiClient, body: bytes, *, terminated: bool = True) -> Any:
    """Send what gunicorn makes of a chunked request: no length, and a stream that ends by itself."""
    extra = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": terminated}
    headers = {"Authorization": f"Bearer {api.key}"} if api.key else {}
    request: dict[str, Any] = {"CONTENT_LENGTH": "", "wsgi.input": io.BytesIO(body), **extra}
    return api.client.generic("POST", "/v1/pets", body, "application/json", headers=headers, **request)


def test_cookies_mean_nothing_to_the_api(api: ApiClient) -> None:
    api.client.cookies.load({"csrftoken": "malformed", "sessionid": "x" * 32})
    answer = api.get("/v1/pets")
    assert answer.status_code == 200
    assert not answer.cookies


@pytest.mark.parametrize("content_type", ["text/plain", "application/json; charset=latin-1", "*/*"])
def test_an_empty_body_of_another_type(api: ApiClient, content_type: str) -> None:
    answer = send_nothing(api, CONTENT_TYPE=content_type)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_an_empty_body_comes_after_the_key_and_its_scope(stranger: ApiClient, reader: ApiClient) -> None:
    answers = [send_nothing(client, CONTENT_TYPE="text/plain") for client in (stranger, reader)]
    assert [answer.status_code for answer in answers] == [401, 403]


def send_nothing(client: ApiClient, **environ: str) -> Any:
    """POST an empty body; Django's client leaves its type out unless it is part of the environment."""
    headers: Any = {} if client.key is None else {"Authorization": f"Bearer {client.key}"}
    return client.client.generic("POST", "/v1/pets", **{"headers": headers, **environ})
