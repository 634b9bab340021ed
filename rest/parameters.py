"""Query parameters, read strictly: a mistyped filter must not look like an empty shop."""

from enum import Enum
from typing import TYPE_CHECKING, Any

from rest_framework.request import Request

from rest.errors import APIError, ErrorCode

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's users too


def single_parameter(request: Request, name: str) -> str | None:
    """Return the query parameter, None if it is not given; raises `APIError` if it is repeated."""
    values = request.query_params.getlist(name)
    if len(values) > 1:
        raise APIError(ErrorCode.INVALID_PARAMETER, f"{name} must be given only once.")
    return values[0] if values else None


def chosen_filters(request: Request, view: "APIView") -> dict[str, str]:
    """Return the filters that the caller set, out of the view's `choice_filters`: field name → value.

    Raises `APIError` for a value that is none of the field's choices.
    """
    filters = _choice_filters(view)
    given = {name: single_parameter(request, name) for name in filters}
    for name, value in given.items():
        allowed = [choice.value for choice in filters[name]]
        if value is not None and value not in allowed:
            raise APIError(ErrorCode.INVALID_PARAMETER, f"{name} must be one of {', '.join(allowed)}.")
    return {name: value for name, value in given.items() if value is not None}


def filter_parameters(view: "APIView") -> list[dict[str, Any]]:
    """Return the view's filters for the API description."""
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": f"Only those with this {name}. Without it, all of them.",
            "schema": {"$ref": f"#/components/schemas/{choices.__name__}"},
        }
        for name, choices in _choice_filters(view).items()
    ]


def _choice_filters(view: "APIView") -> dict[str, type[Enum]]:
    return getattr(view, "choice_filters", {})
