"""What holds for every path under /v1: the order of checks, methods, routes, headers."""

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
UNKNOWN = [
    "/v1", "/v1/", "/v1/nowhere", "/v1/pets/", "/v1//pets", "/v1/pets/1/", "/v1/pets/1/2", "/v1/Pets", "/v1/pets.json",
    "/v1/pets%0A", "/v1/%00", "/v1/%FF", "/v1/pets/1%2F", "/v1/categories/", "/v1/a\nb".replace("\n", "%0A"),
]  # fmt: skip
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "CONNECT"]


class TestOrderOfChecks:
    """401 first, then 404 route, 405, 429, 413, 415, 400 or 404."""

    @pytest.mark.parametrize("path", [*KNOWN, *UNKNOWN])
    @pytest.mark.parametrize("method", METHODS)
    def test_nothing_is_told_without_a_key(self, stranger: ApiClient, method: str, path: str) -> None:
        answer = stranger(method, path, b"{" if method in {"POST", "PUT"} else None)
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == 'Bearer realm="petstore"'
        assert method == "HEAD" or answer.json()["code"] == "api_key_missing"

    @pytest.mark.parametrize("path", UNKNOWN)
    @pytest.mark.parametrize("method", METHODS)
    def test_unknown_route(self, api: ApiClient, method: str, path: str) -> None:
        answer = api(method, path)
        assert answer.status_code == 404
        assert method == "HEAD" or answer.json() == error("route_not_found", "This path does not exist.", 404)

    @pytest.mark.parametrize("path", KNOWN)
    @pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "FOO", "CONNECT"])
    def test_method_not_allowed(self, api: ApiClient, method: str, path: str) -> None:
        answer = api(method, path, b"{")
        message = "This path does not support this method."
        assert (answer.status_code, answer.json()) == (405, error("method_not_allowed", message, 405))
        assert answer["Allow"] == KNOWN[path]

    def test_405_before_429_before_413_before_415_before_400(self, api: ApiClient, settings: Any) -> None:
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

    def test_a_read_keys_wrong_method_is_405_not_403(self, reader: ApiClient) -> None:
        assert reader("DELETE", "/v1/pets").status_code == 405

    def test_no_override_of_the_method(self, api: ApiClient) -> None:
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


def test_options_on_an_unknown_path(stranger: ApiClient, api: ApiClient) -> None:
    assert [client("OPTIONS", "/v1/nowhere").status_code for client in (stranger, api)] == [401, 404]


@pytest.mark.parametrize("path", ["/v1/pets?limit=1", "/v1/pets/{}", "/v1/categories", "/v1/nowhere"])
def test_head_is_get_without_a_body(api: ApiClient, category: Category, path: str) -> None:
    pet = PetFactory(category=category)
    PetFactory(category=category)
    got, head = (api(method, path.format(pet.pk)) for method in ("GET", "HEAD"))
    assert head.content == b""
    assert head.status_code == got.status_code
    different = {"X-Request-ID"}
    assert [item for item in head.items() if item[0] not in different] == [
        item for item in got.items() if item[0] not in different
    ]
    assert int(head["Content-Length"]) == len(got.content)


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

    def test_another_tag_is_a_whole_answer(self, api: ApiClient, category: Category) -> None:
        before = api.get("/v1/pets")
        PetFactory(category=category)
        after = api.get("/v1/pets", If_None_Match=before["ETag"])
        assert (after.status_code, len(after.json())) == (200, 1)
        assert after["ETag"] != before["ETag"]
        assert api.get("/v1/pets", If_None_Match="garbage").status_code == 200

    @pytest.mark.parametrize("form", ['"zzz"', "*", "garbage"])
    def test_if_match_has_no_effect(self, api: ApiClient, category: Category, form: str) -> None:
        PetFactory(category=category)
        plain, conditional = api.get("/v1/pets"), api.get("/v1/pets", If_Match=form)
        assert (conditional.status_code, conditional.content) == (200, plain.content)

    def test_the_tag_covers_the_link(self, api: ApiClient, category: Category) -> None:
        older, _newest = PetFactory.create_batch(2, category=category)
        with_more = api.get("/v1/pets?limit=1")
        older.delete()
        alone = api.get("/v1/pets?limit=1", If_None_Match=with_more["ETag"])
        assert (with_more.content, "Link" in with_more, "Link" in alone) == (alone.content, True, False)
        assert alone.status_code == 200
        assert alone["ETag"] == api.get("/v1/pets?limit=1")["ETag"] != with_more["ETag"]

    def test_the_tag_is_the_same_for_every_key(self, api: ApiClient, reader: ApiClient, category: Category) -> None:
        PetFactory(category=category)
        assert api.get("/v1/pets")["ETag"] == reader.get("/v1/pets")["ETag"]

    def test_private_and_revalidated(self, api: ApiClient, stranger: ApiClient) -> None:
        for answer in (api.get("/v1/pets"), api.get("/v1/nowhere"), stranger.get("/v1/pets")):
            assert (answer["Cache-Control"], answer["Vary"]) == ("private, no-cache", "Authorization")

    def test_errors_and_additions_have_no_tag(self, api: ApiClient, category: Category) -> None:
        made = api.post("/v1/pets", {"name": "x", "categoryId": category.pk})
        assert "ETag" not in made.headers
        assert "ETag" not in api.get("/v1/pets/999").headers


class TestErrorsOfDjango:
    """What never reaches a view of ours is an Error too."""

    @pytest.mark.parametrize("path", ["/nowhere", "/v2/pets", "//v1/pets", "/static/nothing.css", "/v1x"])
    def test_unknown_address(self, stranger: ApiClient, path: str) -> None:
        answer = stranger.get(path)
        assert (answer.status_code, answer.json()) == (404, error("route_not_found", "This path does not exist.", 404))

    def test_foreign_host(self, api: ApiClient) -> None:
        answer = api.get("/v1/pets", Host="evil.example")
        assert answer.status_code == 400
        assert answer.json() == error("bad_request", ErrorCode.BAD_REQUEST.meaning, 400)
        assert answer["Content-Type"] == "application/json"

    def test_too_many_fields(self, api: ApiClient) -> None:
        answer = api.get("/v1/pets?" + "&".join(f"a{number}=1" for number in range(1001)))
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")

    def test_a_defect_tells_the_caller_nothing(self, api: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
        with defect("secret detail"):
            answer = api.get("/v1/pets")
        assert (answer.status_code, answer.json()) == (
            500,
            error("internal_error", ErrorCode.INTERNAL_ERROR.meaning, 500),
        )
        assert "secret detail" in caplog.text


class TestHelpLinks:
    """Each error links to the page about it (docs/decisions/0001)."""

    @pytest.mark.parametrize(
        ("method", "path", "code"),
        [
            ("GET", "/v1/pets?limit=0", "invalid_parameter"),
            ("GET", "/v1/pets?cursor=x", "invalid_cursor"),
            ("POST", "/v1/pets", "malformed_json"),
            ("GET", "/v1/categories/0", "category_not_found"),
            ("HEAD", "/v1/nowhere", "route_not_found"),
            ("GET", "/nowhere", "route_not_found"),
            ("DELETE", "/v1/pets", "method_not_allowed"),
            ("POST", "/docs/", "method_not_allowed"),
        ],
    )
    def test_errors(self, api: ApiClient, method: str, path: str, code: str) -> None:
        assert api(method, path)["Link"] == f'</docs/errors/{code}>; rel="help"'

    def test_without_a_key(self, stranger: ApiClient) -> None:
        assert stranger.get("/v1/pets")["Link"] == '</docs/errors/api_key_missing>; rel="help"'

    def test_without_a_valid_host(self, api: ApiClient) -> None:
        assert api.get("/v1/pets", Host="evil.example")["Link"] == '</docs/errors/bad_request>; rel="help"'

    def test_after_a_bug(self, api: ApiClient) -> None:
        with defect():
            answer = api.get("/v1/pets")
        assert answer["Link"] == '</docs/errors/internal_error>; rel="help"'

    def test_a_list_links_to_its_next_page_only(self, api: ApiClient, category: Category) -> None:
        PetFactory.create_batch(2, category=category)
        assert api.get("/v1/pets?limit=1")["Link"].endswith('; rel="next"')
        assert "help" not in api.get("/v1/pets?limit=1")["Link"]


def test_chunked_bodies_are_read(api: ApiClient, category: Category) -> None:
    body = b'{"name": "Rex", "categoryId": %d}' % category.pk
    answer = chunked(api, body)
    assert (answer.status_code, answer.json()["name"]) == (201, "Rex")
    assert chunked(api, b"x" * 70_000).json()["code"] == "body_too_large"
    assert chunked(ApiClient(None), body).status_code == 401


def test_a_chunked_body_whose_end_the_server_cannot_tell_is_411(api: ApiClient) -> None:
    answer = chunked(api, b"{}", terminated=False)
    assert (answer.status_code, answer.json()) == (
        411,
        error("length_required", "The length of the request body is missing.", 411),
    )


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
