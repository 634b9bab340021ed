"""The routes whose views declare operations, read from the addresses once: what an adapter without Django needs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.urls.resolvers import RoutePattern

from rest.request import Route

ALWAYS = ("HEAD", "OPTIONS")
"""The methods of every path besides its own."""


def is_api(path: str) -> bool:
    """Return whether the path is under /v1."""
    return path == "/v1" or path.startswith("/v1/")


class Routes:
    """Finds the route of a path in the way of `urls.py`, for paths whose only parameter is their last segment."""

    def __init__(self) -> None:
        self._literal: dict[str, Route | None] = {}
        self._with_argument: dict[str, Route | None] = {}
        for path, pattern in _patterns(get_resolver()):
            if not is_api(path):
                continue
            if "<" not in path:
                self._literal[path] = _route_of(pattern) if _is_reached(path, pattern) else None
            elif path.endswith(">") and path.count("<") == 1:
                self._with_argument.setdefault(path.partition("<")[0], _route_of(pattern))

    def find(self, path: str) -> tuple[Route, str] | None:
        """Return the route of a path and its argument, or None if it has no operations here."""
        if path in self._literal:
            route = self._literal[path]
            return route and (route, "")
        start = path.rfind("/") + 1
        route = self._with_argument.get(path[:start])
        return (route, path[start:]) if route and start < len(path) else None


def route_of(view: Callable[..., Any], name: str) -> Route | None:
    """Return the route of a view function, or None if it has no operations."""
    operations = getattr(getattr(view, "cls", None), "operations", None)
    if operations is None:
        return None
    actions: Mapping[str, str] = view.actions  # type: ignore[attr-defined]  # of Django REST framework
    methods = {method.upper(): operations[action] for method, action in actions.items()}
    if "GET" in methods:
        methods.setdefault("HEAD", methods["GET"])
    listed = [method for method in methods if method != "HEAD"]
    return Route(name, methods, ", ".join((*listed, *ALWAYS)))


def _route_of(pattern: URLPattern) -> Route | None:
    return route_of(pattern.callback, str(pattern.name))


def _is_reached(path: str, pattern: URLPattern) -> bool:
    return resolve(path).func is pattern.callback


def _patterns(resolver: URLResolver, prefix: str = "/") -> Iterator[tuple[str, URLPattern]]:
    """Yield the addresses that are no regular expressions, with their paths."""
    for pattern in resolver.url_patterns:
        path = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern, path)
        elif isinstance(pattern.pattern, RoutePattern):
            yield path, pattern
