"""What the tests of changes share with those of animals."""

from tests.pets.conftest import staff as staff  # noqa: PLC0414 - a fixture
