"""What the tests of keys need: no counts of use left over, and browsers."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
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


@pytest.fixture
def staff(db: None) -> Any:
    """Makes the browser of a member of staff with these permissions."""

    def make(*permissions: str) -> Client:
        user = User.objects.create_user("member", password="a long password", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client = Client()
        client.force_login(user)
        return client

    return make
