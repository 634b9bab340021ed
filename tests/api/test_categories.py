"""`GET /v1/categories` and `GET /v1/categories/{categoryId}`: ours, read-only."""

import pytest

from tests.api.test_list_pets import walk
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory


def test_newest_first_and_bare(api: ApiClient) -> None:
    dogs, cats = CategoryFactory(name="Dogs"), CategoryFactory(name="Cats")
    answer = api.get("/v1/categories")
    assert answer.status_code == 200
    assert answer.json() == [{"id": cats.pk, "name": "Cats"}, {"id": dogs.pk, "name": "Dogs"}]


def test_pages_like_pets(api: ApiClient) -> None:
    categories = CategoryFactory.create_batch(7)
    assert walk(api, "/v1/categories?limit=3") == [category.pk for category in reversed(categories)]


def test_one_category(api: ApiClient) -> None:
    dogs = CategoryFactory(name="Dogs")
    assert api.get(f"/v1/categories/{dogs.pk}").json() == {"id": dogs.pk, "name": "Dogs"}


@pytest.mark.parametrize("category_id", ["999999999", "0", "abc", "01", "9223372036854775808"])
def test_what_names_no_category(api: ApiClient, category_id: str) -> None:
    answer = api.get(f"/v1/categories/{category_id}")
    assert (answer.status_code, answer.json()) == (404, error("category_not_found", "No category has this ID.", 404))
