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


@pytest.mark.parametrize(
    "accept", ["text/html", "application/xml", "image/*;q=0", "x" * 9000, "application/json; indent=8", "", "*/*;q=x"]
)
def test_accept_is_never_a_reason_to_reject(api: ApiClient, category: Category, accept: str) -> None:
    PetFactory(category=category)
    answer = api.get("/v1/pets", Accept=accept)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert b"\n" not in answer.content


class TestRequestId:
    """`X-Request-ID` on every response."""

    @pytest.mark.parametrize("given", ["abc-123", "A" * 128, "._-"])
    def test_the_callers_own(self, api: ApiClient, given: str) -> None:
        for path in ("/v1/pets", "/v1/nowhere", "/livez", "/", "/nowhere"):
            assert api.get(path, X_Request_ID=given)["X-Request-ID"] == given

    @pytest.mark.parametrize("given", ["", "a b", "<b>", "A" * 129, "é", "a,b", "a\x00"])
    def test_else_one_of_ours(self, api: ApiClient, given: str) -> None:
        ids = {api.get("/v1/pets", X_Request_ID=given)["X-Request-ID"] for _ in range(2)}
        assert len(ids) == 2
        assert all(len(name) == 32 and name.isalnum() for name in ids)


class TestConditionalRequests:
    """`ETag` and `If-None-Match` (RFC 9110)."""

    @pytest.mark.parametrize("path", ["/v1/pets?limit=1", "/v1/pets/{}", "/v1/categories", "/v1/categories/{}"])
    @pytest.mark.parametrize("form", ["{}", "W/{}", '"zzz", {}', '"a",W/{} , "b"', "*"])
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_304(self, api: ApiClient, category: Category, method: str, form: str, path: str) -> None:
        pet = PetFactory(category=category)
        path = path.format(category.pk if "categories" in path else pet.pk)
        fresh = api.get(path)
        again = api(method, path, If_None_Match=form.format(fresh["ETag"]))
        assert (again.status_code, again.content) == (304, b"")
        for header in ("ETag", "Cache-Control", "Vary"):
            assert again[header] == fresh[header]
        assert not {"Content-Type", "Content-Length"} & set(again.headers)

    def test_the_tag_covers_the_link(self, api: ApiClient, category: Category) -> None:
        older, _newest = PetFactory.create_batch(2, category=category)
        with_more = api.get("/v1/pets?limit=1")
        older.delete()
        alone = api.get("/v1/pets?limit=1", If_None_Match=with_more["ETag"])
        assert (with_more.content, "Link" in with_more, "Link" in alone) == (alone.content, True, False)
        assert alone.status_code == 200
        assert alone["ETag"] == api.get("/v1/pets?limit=1")["ETag"] != with_more["ETag"]


@pytest.mark.parametrize("path", ["/nowhere", "/v2/pets", "//v1/pets", "/static/nothing.css", "/v1x"])
def test_an_address_that_is_not_the_apis(stranger: ApiClient, path: str) -> None:
    answer = stranger.get(path)
    assert (answer.status_code, answer.json()) == (404, error("route_not_found", "This path does not exist.", 404))


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


@pytest.mark.parametrize("given", [{}, {"CONTENT_TYPE": ""}, {"CONTENT_TYPE": "application/json"}])
def test_an_empty_body(api: ApiClient, given: dict[str, str]) -> None:
    answer = send_nothing(api, **given)
    malformed = error("malformed_json", "The request body must be valid JSON in UTF-8.", 400)
    assert (answer.status_code, answer.json()) == (400, malformed)


def test_an_empty_body_comes_after_the_key_and_its_scope(stranger: ApiClient, reader: ApiClient) -> None:
    answers = [send_nothing(client, CONTENT_TYPE="text/plain") for client in (stranger, reader)]
    assert [answer.status_code for answer in answers] == [401, 403]


def send_nothing(client: ApiClient, **environ: str) -> Any:
    """POST an empty body; Django's client leaves its type out unless it is part of the environment."""
    headers: Any = {} if client.key is None else {"Authorization": f"Bearer {client.key}"}
    return client.client.generic("POST", "/v1/pets", **{"headers": headers, **environ})
