"""Names of routes, and the paths of the API's description that they mean."""

from functools import cache

from django.urls import get_resolver

UNKNOWN = {"", "unknown-route"}


@cache
def address_of(route: str) -> str:
    """Return the path, such as `/v1/pets/{petId}`, of the route with this name."""
    possibilities = [] if route in UNKNOWN else get_resolver().reverse_dict.getlist(route)
    for [(path, parameters)], *_ in possibilities:
        return f"/{path % {name: f'{{{name}}}' for name in parameters}}"
    return "a path that does not exist"


def operation(counted: str) -> str:
    """Return `POST /v1/pets` for `pet-list POST` of `KeyUsage`; a route without a method was read."""
    route, _, method = counted.partition(" ")
    return f"{method or 'GET'} {address_of(route)}"
