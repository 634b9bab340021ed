"""How scheme, host and query of a request are read."""

from typing import Any

import pytest

from categories.models import Category
from rest.request import Request
from tests.conftest import ApiClient
from tests.factories import PetFactory
from tests.serving.calling import scope

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("given", "scheme"), [("https", "https"), ("http", "http"), ("https, http", "https"), ("http,https", "http")]
)
def test_the_first_proxy_says_which_scheme_the_caller_used(
    api: ApiClient, category: Category, settings: Any, given: str, scheme: str
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    PetFactory.create_batch(2, category=category)
    answer = api.get("/v1/pets?limit=1", X_Forwarded_Proto=given)
    assert answer["Link"].startswith(f"<{scheme}://")


@pytest.mark.parametrize(
    ("host", "accepted"), [("localhost:65535", True), ("localhost:65536", False), ("localhost:099999", False)]
)
def test_a_port_has_16_bits(settings: Any, host: str, *, accepted: bool) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    assert (Request(scope("/", host=host)).host == host) is accepted


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("/shop/animals/v1/pets", "/v1/pets"),
        ("/animals/v1/pets", "/v1/pets"),
        ("/v1/pets", "/v1/pets"),
        ("/shop/animals", "/"),
        ("/shop/animalsv1", "/shop/animalsv1"),
    ],
)
def test_a_proxy_may_remove_the_path_of_the_service_or_a_part_of_it(settings: Any, sent: str, path: str) -> None:
    settings.BASE_PATH = "/shop/animals"
    request = Request(scope(sent))
    assert (request.path, request.url) == (path, f"http://localhost/shop/animals{path}")


def test_a_query_can_be_escaped(api: ApiClient, category: Category) -> None:
    for status in ("sold", "pending"):
        PetFactory(category=category, status=status)
    assert [pet["status"] for pet in api.get("/v1/pets?%73tatus=%73old&limit=%31").json()] == ["sold"]
