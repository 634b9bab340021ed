"""`POST /v1/pets` against a naive reading of NewPet, with numbers as JSON may write them."""

import json
import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from categories.models import Category
from pets.models import Pet, PetStatus
from tests.conftest import ApiClient
from tests.factories import CategoryFactory
from tests.properties.examples import rolled_back
from tests.properties.reading import int64, is_name
from tests.whole import shown

NOT_AN_INT64 = "categoryId must be a 64-bit integer."
NOT_JSON = "The request body must be valid JSON in UTF-8."
NO_CATEGORY = "categoryId must be the id of an existing category."
STATUS = "status must be one of available, pending, sold."

EDGES = [edge + step for edge in (0, 2**31, 2**53, 2**63, -(2**31), -(2**53), -(2**63)) for step in (-1, 0, 1)]
INTEGERS = st.sampled_from(EDGES) | st.integers(-(2**64), 2**64) | st.integers(0, 9)
ZEROS = st.integers(0, 25)


def as_plain(number: int, _zeros: int, _exponent: str) -> str:
    return str(number)


def as_fraction(number: int, zeros: int, _exponent: str) -> str:
    return f"{number}.{'0' * (zeros + 1)}"


def as_shifted_right(number: int, zeros: int, exponent: str) -> str:
    return f"{number}{'0' * zeros}{exponent}-{zeros:02}"


def as_shifted_left(number: int, zeros: int, exponent: str) -> str:
    """Write 1234 as 0.1234e4."""
    digits = str(abs(number))
    return f"{'-' * (number < 0)}0.{'0' * zeros}{digits}{exponent}+{len(digits) + zeros}"


FORMS = st.sampled_from([as_plain, as_fraction, as_shifted_right, as_shifted_left])
WRITTEN_INTEGERS = st.builds(lambda form, *parts: form(*parts), FORMS, INTEGERS, ZEROS, st.sampled_from("eE"))
OTHER_NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,22})?", fullmatch=True)
NUMBERS = WRITTEN_INTEGERS | OTHER_NUMBERS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
STATUSES = st.sampled_from([*PetStatus.values, "", "Sold", "sold ", "AVAILABLE", "available,sold"]) | JSON


def is_status(value: Any) -> bool:
    return isinstance(value, str) and value in {"available", "pending", "sold"}


@given(literal=NUMBERS, exists=st.booleans())
@example(literal="9007199254740991.0", exists=True)
@example(literal="9007199254740992.0", exists=True)
@example(literal="9007199254740993.0", exists=True)
@example(literal="9007199254740993", exists=True)
@example(literal="9223372036854775807", exists=True)
@example(literal="9223372036854775808", exists=True)
@example(literal="1e400", exists=True)
@example(literal="1e99999999999999999999999", exists=True)
@example(literal="-0", exists=True)
def test_a_category_id_is_read_exactly(api: ApiClient, literal: str, exists: bool) -> None:
    number = int64(literal)
    with rolled_back():
        if exists and number is not None:
            CategoryFactory(pk=number)
        answer = api.post("/v1/pets", b'{"name": "Rex", "categoryId": %s}' % literal.encode())
        if exists and number is not None:
            assert (answer.status_code, answer.json()["categoryId"]) == (201, number)
            assert Pet.objects.get().category_id == number
        else:
            rejections = {NOT_AN_INT64 if number is None else NO_CATEGORY}
            if re.search("[eE][+-]?[0-9]{18}", literal):
                rejections.add(NOT_JSON)  # too large for Python's decimal numbers
            assert answer.status_code == 400
            assert answer.json()["message"] in rejections
            assert not Pet.objects.exists()


@given(value=JSON.filter(lambda value: isinstance(value, bool) or not isinstance(value, (int, float))))
def test_nothing_but_a_number_is_a_category_id(api: ApiClient, category: Category, value: Any) -> None:
    answer = api.post("/v1/pets", {"name": "Rex", "categoryId": value})
    assert (answer.status_code, answer.json()["message"]) == (400, NOT_AN_INT64)


@given(status=STATUSES)
def test_a_status_is_exactly_one_of_three_strings(api: ApiClient, category: Category, status: Any) -> None:
    with rolled_back():
        answer = api.post("/v1/pets", {"name": "Rex", "categoryId": category.pk, "status": status})
        if is_status(status):
            assert (answer.status_code, answer.json()["status"]) == (201, status)
        else:
            assert (answer.status_code, answer.json()["message"]) == (400, STATUS)
        assert Pet.objects.count() == is_status(status)


MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "name": JSON | st.text(min_size=1),
        "categoryId": JSON | st.just(1),
        "status": STATUSES,
        "id": JSON,
        "external_reference": JSON,
        "created_at": JSON,
    },
)


@given(MEMBERS)
def test_a_body_is_accepted_when_each_of_its_members_is(api: ApiClient, body: dict[str, Any]) -> None:
    """Every combination of missing, wrong and right fields, and of fields that NewPet does not have."""
    right = {
        "name": isinstance(body.get("name"), str) and is_name(body["name"]),
        "categoryId": type(body.get("categoryId")) in {int, float} and body["categoryId"] == 1,
        "status": "status" not in body or is_status(body["status"]),
    }
    with rolled_back():
        CategoryFactory(pk=1)
        answer = api.post("/v1/pets", json.dumps(body).encode())
        if all(right.values()):
            assert answer.status_code == 201
            stored = Pet.objects.get()
            sent = {name: body[name] for name in right if name in body}
            assert answer.json() == shown(id=stored.pk, **sent)
            assert stored.external_reference is None
        else:
            at_fault = [name for name in right if f"{name} " in answer.json()["message"]]
            assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
            assert at_fault == [name for name, is_right in right.items() if not is_right]
            assert not Pet.objects.exists()
