"""What the tests of the catalogue's back office share."""

import pytest
from django.test import Client

from tests.pets.office import member


@pytest.fixture
def staff(db: None) -> Client:
    """A browser in which a superuser called keeper is signed in."""
    return member("keeper", superuser=True)
