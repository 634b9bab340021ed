"""A PostgreSQL that a test may stop and freeze."""

from collections.abc import Iterator

import pytest

from tests.with_postgresql import NoPostgreSQLError, Server, find_binaries, server


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    """A server of this file's own, with the role and the database `petstore`."""
    try:
        find_binaries()
    except NoPostgreSQLError as missing:
        pytest.skip(f"PostgreSQL ({missing})")
    with server() as running:
        yield running
