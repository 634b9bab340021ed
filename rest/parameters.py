"""Query parameters, read strictly: a filter with a typo must not return an empty list."""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any

from rest.errors import APIError, ErrorCode

Filters = Mapping[str, type[Enum]]
"""Query parameter → the values it can have."""

Reader = Callable[[str], Any]
"""Returns what a parameter's text means; raises `ValueError` with a sentence that follows the parameter's name."""


class Query:
    """The parameters of a list that were sent: `values` by name, and in `errors` a sentence for each wrong one."""

    def __init__(self, getlist: Callable[[str], list[str]], readers: dict[str, Reader]) -> None:
        """Read each parameter that has a reader, in this order; others are ignored (docs/decisions/0009)."""
        self.values: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        for name, read in readers.items():
            try:
                if (text := _single(getlist(name))) is not None:
                    self.values[name] = read(text)
            except ValueError as error:
                self.errors[name] = f"{name} {error}"

    def check(self) -> None:
        """Raise one `APIError` that names every wrong parameter, if there is one."""
        if self.errors:
            raise APIError(ErrorCode.INVALID_PARAMETER, " ".join(self.errors.values()))


def _single(values: list[str]) -> str | None:
    if len(values) > 1:
        message = "must be given only once."
        raise ValueError(message)
    return values[0] if values else None


def filter_readers(filters: Filters) -> dict[str, Reader]:
    """Return the reader of each filter: exactly one of the field's choices."""
    return {name: partial(_choice, choices) for name, choices in filters.items()}


def _choice(choices: type[Enum], text: str) -> str:
    allowed = [choice.value for choice in choices]
    if text not in allowed:
        message = f"must be one of {', '.join(allowed)}."
        raise ValueError(message)
    return text


def filter_parameters(filters: Filters) -> list[dict[str, Any]]:
    """Return the filters for the API description."""
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": f"List only those with this {name}. Without it, list all.",
            "schema": {"$ref": f"#/components/schemas/{choices.__name__}"},
        }
        for name, choices in filters.items()
    ]
