"""Query parameters, read strictly: a mistyped filter must not look like an empty shop."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from rest_framework.request import Request

from rest.errors import APIError, ErrorCode

Filters = Mapping[str, type[Enum]]
"""Query parameter → the values it can have."""


def single_parameter(request: Request, name: str) -> str | None:
    """Return the query parameter, None if it is not given; raises `APIError` if it is repeated."""
    values = request.query_params.getlist(name)
    if len(values) > 1:
        raise APIError(ErrorCode.INVALID_PARAMETER, f"{name} must be given only once.")
    return values[0] if values else None


def chosen_filters(request: Request, filters: Filters) -> dict[str, str]:
    """Return the filters that the caller set: parameter → value.

    Raises `APIError` for a value that is none of the field's choices.
    """
    given = {name: single_parameter(request, name) for name in filters}
    for name, value in given.items():
        allowed = [choice.value for choice in filters[name]]
        if value is not None and value not in allowed:
            raise APIError(ErrorCode.INVALID_PARAMETER, f"{name} must be one of {', '.join(allowed)}.")
    return {name: value for name, value in given.items() if value is not None}


def filter_parameters(filters: Filters) -> list[dict[str, Any]]:
    """Return the filters for the API description."""
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": f"Only those with this {name}. Without it, all of them.",
            "schema": {"$ref": f"#/components/schemas/{choices.__name__}"},
        }
        for name, choices in filters.items()
    ]
