"""Django's way of a request under /v1: no session, no form, no page. The event loop's way is `adapter.py`."""

from collections.abc import Callable
from typing import Any

from corsheaders.middleware import CorsMiddleware
from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import ResponseHeaders
from django.urls import ResolverMatch, resolve

from database import errors as database_errors
from petstore_site import errors
from petstore_site.apikeys.admission import complete
from rest.request import Request, Route, is_api, request_of, route_of
from rest.responses import Finish

GetResponse = Callable[[HttpRequest], HttpResponse]

REPEATS = 2
"""How often a request is repeated that lost to another transaction."""


class APIMiddleware:
    """Respond to every request under /v1, and leave all others to the middleware of pages."""

    def __init__(self, get_response: GetResponse) -> None:
        self.pages = get_response
        finish = Finish()
        self.respond = with_cors(lambda http: finished(finish, request_of(http.META), _respond(http)))

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_api(request.path_info):
            return self.pages(request)
        response: HttpResponse = self.respond(request)
        return response


def with_cors(get_response: GetResponse) -> Any:
    """Return what adds the CORS headers, if they are set."""
    return Preflight(get_response) if settings.CORS_ALLOWED_ORIGINS else get_response


class Preflight(CorsMiddleware):
    """Add the CORS headers, and leave a preflight to `_respond` like every other OPTIONS."""

    def check_preflight(self, _request: HttpRequest) -> None:
        """Return None: no response yet."""


def finished(finish: Finish, request: Request, response: HttpResponse) -> HttpResponse:
    """Return Django's response with everything that one under /v1 has."""
    complete(request)
    status, headers, body = finish(request, response.status_code, dict(response.headers), response.content)
    response.status_code, response.content = status, body
    response.headers = ResponseHeaders(headers)  # in one order
    return response


def _respond(http_request: HttpRequest) -> HttpResponse:
    """Return a response, whatever fails. OPTIONS on a path with operations needs no key."""
    database_errors.reset_commit_state()
    try:
        http_request.get_host()  # raises for a foreign one
        match = http_request.resolver_match = resolve(http_request.path_info)
        request = request_of(http_request.META)
        request.route = route_of(match.func, match.view_name) or Route(match.view_name)
        request.argument = next(iter(match.kwargs.values()), "")
        if request.method == "OPTIONS" and request.route.operations:
            response = HttpResponse(status=204)
        else:
            response = _call(http_request, match)
    except Exception as error:  # noqa: BLE001 - Django's own handler takes the rest
        response = errors.for_exception(http_request, error) or response_for_exception(http_request, error)
    return errors.confirmed(http_request, response)


def _call(request: HttpRequest, match: ResolverMatch, repeats: int = REPEATS) -> HttpResponse:
    """Call the view; repeat it if it lost to another transaction."""
    try:
        response: Any = match.func(request, *match.args, **match.kwargs)
        return response.render()  # type: ignore[no-any-return]
    except DatabaseError as error:
        if not repeats or database_errors.sqlstate(error) not in database_errors.RETRYABLE:
            raise
    return _call(request, match, repeats - 1)
