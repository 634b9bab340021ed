"""What the tests of changes share, among it what those of animals do."""

import pytest

from categories.models import Category
from pets.models import Pet
from tests.factories import PetFactory


@pytest.fixture
def rex(category: Category) -> Pet:
    """An animal that is available, without a reference."""
    return PetFactory(name="Rex", category=category, status="available")
