"""The short way of a request under /v1: no session, no form, no page."""

import time
from collections.abc import Callable
from io import BytesIO
from typing import Any

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.urls import ResolverMatch, resolve

from petstore_site.apikeys.notices import expiration_headers
from petstore_site.public import error_pages
from rest import database_errors
from rest.api import (
    PreflightMiddleware,
    deprecation_headers,
    is_api,
    make_private,
    origin,
    prepare,
    respond_to_options,
)
from rest.limits import rate_limit_headers

GetResponse = Callable[[HttpRequest], HttpResponse]

REPEATS = 2
"""How often a request is repeated that lost to another transaction."""

AT_ONCE = 1.0
"""Seconds within which a connection must break for a read to be repeated."""


class APIMiddleware:
    """Respond to every request under /v1, and leave all others to the middleware of pages."""

    def __init__(self, get_response: GetResponse) -> None:
        """Take the next layer, which is for pages."""
        self.pages = get_response
        self.fixed = {secure: fixed_headers(secure=secure) for secure in (False, True)}
        self.api: Any = PreflightMiddleware(_respond) if settings.CORS_ALLOWED_ORIGINS else _respond

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return a response with everything that one under /v1 has."""
        if not is_api(request.path_info):
            return self.pages(request)
        response: HttpResponse = self.api(request)
        for name, value in self.fixed[request.is_secure()].items():
            response.headers[name] = value
        if request.method == "HEAD":
            response.content = b""
        return response


def fixed_headers(*, secure: bool) -> dict[str, str]:
    """Return the headers that every response has, pages too: they depend on the scheme only."""
    scheme = "https" if secure else "http"
    request = WSGIRequest({"REQUEST_METHOD": "GET", "wsgi.url_scheme": scheme, "wsgi.input": BytesIO()})
    response = HttpResponse()
    del response.headers["Content-Type"]
    layers: list[Any] = [XFrameOptionsMiddleware, CSPMiddleware, SecurityMiddleware]
    for layer in layers:
        layer(lambda _request: response).process_response(request, response)
    return dict(response.headers)


def finish(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Give a response that was made before Django everything else that one has, but for the fixed headers."""
    if is_api(request.path_info):
        if settings.CORS_ALLOWED_ORIGINS:
            PreflightMiddleware(lambda _request: response)(request)
        make_private(request, response)
    if request.method == "HEAD":
        response.content = b""
    return response


def _respond(request: HttpRequest) -> HttpResponse:
    database_errors.reset_commit_state()
    response = _respond_or_fail(request)
    if database_errors.commit_unconfirmed():
        response = error_pages.unconfirmed(request)
    make_private(request, response)
    for name, value in _announcements(request, response).items():
        response.headers[name] = value
    if response.status_code != 304:
        response.headers["Content-Length"] = str(len(response.content))
    return response


def _announcements(request: HttpRequest, response: HttpResponse) -> dict[str, str]:
    """Return the headers about the key and the route."""
    headers = expiration_headers(request) | rate_limit_headers(request)
    if request.resolver_match:
        link = response.headers.get("Link", "")
        headers |= deprecation_headers(request.resolver_match.view_name, origin(request), link)
    return headers


def _respond_or_fail(request: HttpRequest) -> HttpResponse:
    """Return a response, whatever fails."""
    try:
        request.get_host()  # raises for a foreign one
        prepare(request)
        match = request.resolver_match = resolve(request.path_info)
        return respond_to_options(request, match.func) or _call(request, match)
    except Exception as error:  # noqa: BLE001 - Django's own handler takes the rest
        return error_pages.for_database_error(request, error) or response_for_exception(request, error)


def _call(request: HttpRequest, match: ResolverMatch) -> HttpResponse:
    """Call the view; repeat it if it lost to another transaction, or read from a connection that had broken."""
    started = time.monotonic()
    repeats = 0
    while True:
        had_connection = connection.connection is not None
        try:
            return _rendered(match.func(request, *match.args, **match.kwargs))
        except Exception as error:
            repeats += 1
            if _has_lost(error) and repeats <= REPEATS:
                continue
            is_read = request.method in {"GET", "HEAD"} and repeats == 1
            if is_read and had_connection and _has_broken(error) and time.monotonic() - started < AT_ONCE:
                database_errors.drop(connection)
                continue
            raise


def _has_lost(error: Exception) -> bool:
    return database_errors.sqlstate(error) in database_errors.RETRYABLE


def _has_broken(error: Exception) -> bool:
    return database_errors.failure_of(error) is database_errors.BROKEN


def _rendered(response: HttpResponseBase) -> HttpResponse:
    return response.render()  # type: ignore[attr-defined,no-any-return]
