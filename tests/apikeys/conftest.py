"""What the tests of keys need: no counts of use left over, and passwords that are quick to set."""

from collections.abc import Iterator
from typing import Any

import pytest

from petstore_site.apikeys import usage


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _nothing_counted() -> Iterator[None]:
    usage.clear()
    yield
    usage.clear()
