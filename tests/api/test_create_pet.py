"""`POST /v1/pets` (interface document, section 4.2; strict input)."""

import io
import json
from typing import Any

import pytest
from django.db import connection

from categories.models import Category
from pets.models import Pet
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory
from tests.test_database_errors import another_connection, instead_of
from tests.whole import shown

NAME_LENGTH = "name must have 1 to 255 characters."
NAME_STRING = "name must be a string."
NAME_VISIBLE = "name must contain at least one visible character."
NAME_CONTROL = "name must not contain control characters or lone surrogates."
CATEGORY_INT64 = "categoryId must be a 64-bit integer."
CATEGORY_EXISTS = "categoryId must be the id of an existing category."
STATUS = "status must be one of available, pending, sold."
NOT_JSON = "The request body must be valid JSON in UTF-8."
NOT_OBJECT = "The request body must be a JSON object."
TOO_DEEP = "The request body must be nested at most 32 levels deep."
TOO_LARGE = "The request body must have at most 65,536 bytes."
MEDIA_TYPE = "Content-Type must be application/json, in UTF-8."


def test_the_animal_and_where_it_is(api: ApiClient, category: Category) -> None:
    answer = api.post("/v1/pets", {"name": "Rex", "categoryId": category.pk, "status": "pending"})
    pet = Pet.objects.get()
    assert answer.status_code == 201
    assert answer.json() == shown(id=pet.pk, name="Rex", categoryId=category.pk, status="pending")
    assert answer["Location"] == f"http://testserver/v1/pets/{pet.pk}"
    assert answer["Content-Type"] == "application/json"
    assert (pet.name, pet.category, pet.status, pet.external_reference) == ("Rex", category, "pending", None)


def test_unknown_members_are_ignored_and_an_id_is_never_trusted(api: ApiClient, category: Category) -> None:
    sent = {
        "name": "Rex",
        "categoryId": category.pk,
        "colour": "red",
        "id": 4711,
        "external_reference": "X",
        "created_at": 1,
    }
    answer = api.post("/v1/pets", sent)
    assert answer.json() == shown(id=answer.json()["id"], name="Rex", categoryId=category.pk)
    assert answer.json()["id"] != 4711
    assert Pet.objects.get().external_reference is None


@pytest.mark.parametrize(
    "name",
    [
        "x", "é" * 255, "🐶" * 255, "  Rex ", "\u00a0Rex", "e\u0301", "O'Malley \"the\" cat; DROP TABLE pets_pet; --",
        "=1+1", "<script>alert(1)</script>", "{{ 7 * 7 }}", "مشمش", "\u202eevil", "👩‍👩‍👧", "\ufdd0", "\U000e0041a", "%s%n", "null", "\\",
    ],
)  # fmt: skip
def test_names_are_kept_exactly(api: ApiClient, category: Category, name: str) -> None:
    made = api.post("/v1/pets", {"name": name, "categoryId": category.pk}).json()
    assert made["name"] == name
    assert Pet.objects.get().name == name
    assert api.get("/v1/pets").json() == [made]


@pytest.mark.parametrize("written", ["{}", "{}.0", "{}e0", "{}.000", "{}0e-1"])
def test_an_integer_may_be_written_as_json_schema_allows(api: ApiClient, category: Category, written: str) -> None:
    body = f'{{"name": "Rex", "categoryId": {written.format(category.pk)}}}'.encode()
    answer = api.post("/v1/pets", body)
    assert (answer.status_code, answer.json().get("categoryId")) == (201, category.pk)


NO_NUMBERS: list[Any] = [None, True, False, "1", "", [1], {}]

REJECTED_MEMBERS: list[tuple[dict[str, Any], str]] = [
    ({"name": ...}, "name is required."),
    ({"categoryId": ...}, "categoryId is required."),
    ({"name": ..., "categoryId": ...}, "name is required. categoryId is required."),
    ({"status": 1, "categoryId": "1", "name": 5}, f"{NAME_STRING} {CATEGORY_INT64} {STATUS}"),
    *[({"name": value}, NAME_STRING) for value in (None, 5, 1.5, True, ["a"], {"a": 1})],
    *[({"name": value}, NAME_LENGTH) for value in ("", "x" * 256, "é" * 256, "x" * 60_000)],
    *[
        ({"name": value}, NAME_VISIBLE)
        for value in (" ", "   ", "\u3000", "\u200b", "\u00ad", "\ufeff", "\u2028", "\u0301", "\ufe0f", "\u3164", "\u2800", "\U000e0041")
    ],
    *[({"name": value}, NAME_CONTROL) for value in ("a\0b", "a\x1bb", "a\n", "\t", "\x7f", "a\x85", "\x00")],
    *[({"name": value}, NAME_CONTROL) for value in ("\ud800", "a\udfffb")],
    *[
        ({"categoryId": value}, CATEGORY_INT64)
        for value in (*NO_NUMBERS, 1.5, 2**63, -(2**63) - 1, 10**400, 10**4000)
    ],
    ({"name": "", "categoryId": 2**62, "status": ""}, f"{NAME_LENGTH} {CATEGORY_EXISTS} {STATUS}"),
    *[({"categoryId": value}, CATEGORY_EXISTS) for value in (0, -1, 2**62, 2**63 - 1, -(2**63))],
    *[({"status": value}, STATUS) for value in (None, "", "Sold", "sold ", 1, True, ["sold"], {"a": 1}, "SOLD")],
]  # fmt: skip


@pytest.mark.parametrize(("members", "message"), REJECTED_MEMBERS, ids=lambda value: str(value)[:40])
def test_invalid_members(api: ApiClient, category: Category, members: dict[str, Any], message: str) -> None:
    sent = {"name": "x", "categoryId": category.pk} | members
    answer = api.post("/v1/pets", {name: value for name, value in sent.items() if value is not ...})
    assert (answer.status_code, answer.json()) == (400, error("validation_failed", message, 400))
    assert not Pet.objects.exists()


RAW = '{{"name":"x","categoryId":{}}}'


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        *[
            (RAW.format(number).encode(), "validation_failed", CATEGORY_INT64)
            for number in (
                "9007199254740993.0", "-9007199254740993.0", "1.0000000000000000001", "1e400", "1e999999999", "-1e400", "1e-1", "9" * 5000,
                "9223372036854775808", "1e19",
            )
        ],
        *[
            (body, "malformed_json", NOT_JSON)
            for body in (
                b"{", b"nope", b'{"name":"x",}', b"{'name':'x'}", RAW.format("NaN").encode(), RAW.format("Infinity").encode(),
                b'{"name":"\xff","categoryId":1}', b'\xef\xbb\xbf{"name":"x","categoryId":1}',
                '{"name":"x","categoryId":1}'.encode("utf-16"), b"[" * 2000, b'{"name":' + b"[" * 20000 + b"]" * 20000 + b"}",
                b'{"name":"x"}{', b'{"name":"a\nb","categoryId":1}', RAW.format("01").encode(), RAW.format("+1").encode(),
                RAW.format("1.").encode(), RAW.format("0x1").encode(), RAW.format("1e99999999999999999999").encode(), b"\x00",
                b" ",
            )
        ],
        *[(body, "validation_failed", NOT_OBJECT) for body in (b"[]", b'"x"', b"null", b"5", b"true", b"1e5", b'[{"name":"x"}]')],
        (b'{"name":"x","categoryId":1,"extra":' + b"[" * 32 + b"]" * 32 + b"}", "malformed_json", TOO_DEEP),
        (b"", "malformed_json", NOT_JSON),
        (b"{}", "validation_failed", "name is required. categoryId is required."),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_invalid_bodies(api: ApiClient, category: Category, body: bytes, code: str, message: str) -> None:
    answer = api.post("/v1/pets", body)
    assert (answer.status_code, answer.json()) == (400, error(code, message, 400))
    assert not Pet.objects.exists()


def test_nesting_of_32_is_allowed(api: ApiClient, category: Category) -> None:
    extra = b"[" * 31 + b"]" * 31
    body = b'{"name":"x","categoryId":%d,"extra":%s}' % (category.pk, extra)
    assert api.post("/v1/pets", body).status_code == 201


def test_64_kib_and_not_a_byte_more(api: ApiClient, category: Category) -> None:
    body = json.dumps({"name": "x", "categoryId": category.pk, "pad": ""}).encode()
    padded = [body.replace(b'""', b'"%s"' % (b"x" * (size - len(body)))) for size in (65536, 65537)]
    answers = [api.post("/v1/pets", sent) for sent in padded]
    assert [answer.status_code for answer in answers] == [201, 413]
    assert answers[1].json() == error("body_too_large", TOO_LARGE, 413)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16",
        "application/json; charset=utf-7", "application/json; charset=bz2_codec", "application/json; charset=latin-1",
        "application/vnd.api+json", "application/*", "*/*", "application/json,application/json", "json",
        "a/b; x*=q''a", "a/b; x*=idna''%ff", "application/json; charset=undefined",
    ],
)  # fmt: skip
def test_only_json_in_utf_8(api: ApiClient, category: Category, content_type: str) -> None:
    answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk}, Content_Type=content_type)
    assert (answer.status_code, answer.json()) == (415, error("unsupported_media_type", MEDIA_TYPE, 415))
    assert not Pet.objects.exists()


def test_the_last_of_repeated_fields_is_checked_stored_and_compared(api: ApiClient, category: Category) -> None:
    repeated = b'{"name":"","name":"Rex","categoryId":"x","categoryId":%d}' % category.pk
    added = api.post("/v1/pets", repeated, Idempotency_Key="one")
    again = api.post("/v1/pets", {"name": "Rex", "categoryId": category.pk}, Idempotency_Key="one")
    assert (added.status_code, added.json()["name"], again["Idempotency-Replayed"]) == (201, "Rex", "true")
    answer = api.post("/v1/pets", b'{"name":"Rex","categoryId":%d,"name":""}' % category.pk)
    assert (answer.status_code, answer.json()) == (400, error("validation_failed", NAME_LENGTH, 400))


@pytest.mark.postgresql("SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "order-1"}], ids=["POST", "POST with a key"])
def test_a_category_deleted_a_moment_ago_is_a_400(api: ApiClient, headers: dict[str, str]) -> None:
    category = CategoryFactory()
    deleted: list[Any] = []

    def delete_meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """Once, add an animal that refers to a category which is deleted at the same moment."""
        if 'INSERT INTO "pets_pet"' not in sql or deleted:
            return execute(sql, params, many, context)
        with another_connection() as other:
            deleted.append(other.execute("DELETE FROM categories_category"))
        orphan = "INSERT INTO pets_pet (name, category_id, status, created_at, updated_at) VALUES ('x', {}, 'sold', now(), now())"
        return execute(orphan.format(params["category_id"]), None, many, context)

    with connection.execute_wrapper(delete_meanwhile):
        answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk}, **headers)
    assert len(deleted) == 1
    assert (answer.status_code, answer.json()) == (400, error("validation_failed", CATEGORY_EXISTS, 400))
    assert not Pet.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_another_constraint_is_not_blamed_on_the_category(api: ApiClient) -> None:
    category = CategoryFactory()
    with instead_of('INSERT INTO "pets_pet"', "INSERT INTO auth_group (name) VALUES ('same'), ('same')"):
        answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert not Pet.objects.exists()


class Broken(io.RawIOBase):
    """A body whose connection breaks."""

    def read(self, _size: int = -1) -> bytes:
        raise OSError


@pytest.mark.parametrize("body", [Broken(), io.BytesIO(b'{"name": "x"}')], ids=["broken", "short"])
def test_a_body_that_ends_early_is_a_400(api: ApiClient, body: Any) -> None:
    sent = {"wsgi.input": body, "CONTENT_LENGTH": "100"}
    answer = api.client.generic(
        "POST", "/v1/pets", b"x", "application/json", headers={"Authorization": f"Bearer {api.key}"}, **sent
    )
    assert (answer.status_code, answer.json()) == (400, error("bad_request", "The request body ended early.", 400))


@pytest.mark.parametrize(
    ("terminated", "expected"),
    [
        (True, error("bad_request", "The chunks of the request body are malformed.", 400)),
        (False, error("bad_request", "The length of the request body is missing.", 400)),
    ],
)
def test_chunks_that_cannot_be_read(api: ApiClient, terminated: bool, expected: dict[str, Any]) -> None:
    sent: dict[str, Any] = {
        "wsgi.input": Broken(),
        "wsgi.input_terminated": terminated,
        "CONTENT_TYPE": "application/json",
    }
    sent["headers"] = {"Authorization": f"Bearer {api.key}", "Transfer-Encoding": "chunked"}
    answer = api.client.generic("POST", "/v1/pets", **sent)
    assert (answer.status_code, answer.json()) == (expected["status"], expected)


def test_one_statement_with_a_warm_key(api: ApiClient, category: Category, django_assert_num_queries: Any) -> None:
    api.get("/v1/categories")
    statements = 1 if connection.vendor == "postgresql" else 2 + 2  # with the savepoint of a test
    with django_assert_num_queries(statements):
        assert api.post("/v1/pets", {"name": "x", "categoryId": category.pk}).status_code == 201
