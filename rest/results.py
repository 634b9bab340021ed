"""What an operation returns."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Result(NamedTuple):
    """The result of an operation, or the Error in its place."""

    data: Any
    """The body, before it is written as JSON."""
    status: int = 200
    headers: Mapping[str, str] = {}
    """Besides those that every response has (`rest/responses.py`)."""
    code: str = ""
    message: str = ""
    """Of the Error, for the access record."""
