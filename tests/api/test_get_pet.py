"""`GET /v1/pets/{petId}`, deprecated (interface document, section 4.3)."""

from typing import Any

import pytest

from categories.models import Category
from tests.conftest import ApiClient
from tests.defects import defect
from tests.factories import PetFactory


def test_deprecated_on_every_answer(api: ApiClient, stranger: ApiClient, category: Category, settings: Any) -> None:
    pet = PetFactory(category=category)
    path = f"/v1/pets/{pet.pk}"
    fresh = api.get(path)
    answers = {
        200: fresh,
        304: api.get(path, If_None_Match=fresh["ETag"]),
        401: stranger.get(path),
        404: api.get("/v1/pets/999999"),
        405: api("DELETE", path),
        204: stranger("OPTIONS", path),
    }
    settings.RATE_LIMIT = "1/day"
    api.get(path)
    answers[429] = api.get(path)
    settings.RATE_LIMIT = ""
    with defect():
        answers[500] = api.get(path)
    assert [answer.status_code for answer in answers.values()] == list(answers)
    for answer in answers.values():
        assert answer["Deprecation"] == "@1795219200"
        assert answer["Sunset"] == "Thu, 05 Dec 2030 00:00:00 GMT"
        help_link = f', </docs/errors/{answer.error_code}>; rel="help"' if answer.status_code >= 400 else ""
        assert answer["Link"] == f'<http://testserver/v1/pets>; rel="successor-version"{help_link}'


def test_one_query_with_a_warm_key(api: ApiClient, category: Category, django_assert_num_queries: Any) -> None:
    pet = PetFactory(category=category)
    with django_assert_num_queries(2):
        api.get(f"/v1/pets/{pet.pk}")
    with django_assert_num_queries(1):
        api.get(f"/v1/pets/{pet.pk}")
    with django_assert_num_queries(0):
        api.get("/v1/pets/abc")


@pytest.mark.parametrize("pet_id", ["01", "1.0", "1e0", "+1", "%D9%A1", "1%0A", "1%20", "1;2", "1,1", "9" * 5000])
def test_what_is_like_an_id_names_no_animal(api: ApiClient, pet_id: str) -> None:
    PetFactory(pk=1)
    assert api.get(f"/v1/pets/{pet_id}").error_code == "pet_not_found"
