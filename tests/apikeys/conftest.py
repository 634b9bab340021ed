"""What the tests of keys need: no counts of use left over, and a browser."""

from collections.abc import Iterator

import pytest
from django.test import Client

from petstore_site.apikeys import usage


@pytest.fixture(autouse=True)
def _nothing_counted() -> Iterator[None]:
    usage.clear()
    yield
    usage.clear()


@pytest.fixture
def office(admin_client: Client) -> Client:
    """A superuser's browser."""
    return admin_client
