"""Query parameters, read strictly: a filter with a typo must not return an empty list."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from rest.errors import APIError, ErrorCode
from rest.ids import INT64_MAX, parse_id


class Filter(NamedTuple):
    """A query parameter that chooses rows of a list."""

    read: Callable[[str], Any]
    """Returns the value; raises `ValueError` with a sentence that follows the parameter's name."""
    schema: Mapping[str, Any]
    """For the API description."""
    description: str


Filters = Mapping[str, Filter]
"""By the names of their parameters."""


def choice(choices: type[Enum], description: str) -> Filter:
    """Return a filter by exactly one of the choices."""
    allowed = [each.value for each in choices]

    def read(text: str) -> str:
        if text not in allowed:
            message = f"must be one of {', '.join(allowed)}."
            raise ValueError(message)
        return text

    return Filter(read, {"$ref": f"#/components/schemas/{choices.__name__}"}, description)


def identifier(description: str) -> Filter:
    """Return a filter by an ID."""

    def read(text: str) -> int:
        if (pk := parse_id(text)) is None:
            message = f"must be a whole number from 1 to {INT64_MAX}."
            raise ValueError(message)
        return pk

    return Filter(read, {"type": "integer", "format": "int64", "minimum": 1, "maximum": INT64_MAX}, description)


class Query:
    """The parameters of a list that were sent: `values` by name, and in `errors` a sentence for each wrong one."""

    def __init__(self, sent: Mapping[str, list[str]], readers: Mapping[str, Callable[[str], Any]]) -> None:
        """Read each parameter that has a reader, in this order; others are ignored (docs/decisions/0009)."""
        self.values: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        for name, read in readers.items():
            if name not in sent:
                continue
            try:
                self.values[name] = read(_single(sent[name]))
            except ValueError as error:
                self.errors[name] = f"{name} {error}"

    def check(self) -> None:
        """Raise one `APIError` that names every wrong parameter, if there is one."""
        if self.errors:
            raise APIError(ErrorCode.INVALID_PARAMETER, " ".join(self.errors.values()))


def _single(values: list[str]) -> str:
    if len(values) > 1:
        message = "must be given only once."
        raise ValueError(message)
    return values[0]
