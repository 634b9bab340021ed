"""What tests of the clients need of a machine."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clients.tools import CannotInstallError


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test if the tools that the block asks for cannot be installed."""
    try:
        yield
    except CannotInstallError as reason:
        pytest.skip(str(reason))
