"""What every response under /v1 has, whichever adapter sends it."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from http import HTTPStatus
from io import BytesIO
from typing import Any, NamedTuple

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.urls import get_resolver
from django.utils.http import http_date, parse_etags

from rest.media_type import MEDIA_TYPE
from rest.request import Request, Route

CACHE_CONTROL = "private, no-cache"
VARY = "Authorization"
WITHOUT_BODY = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}


class PolicyMiddleware(CSPMiddleware):
    """django-csp's middleware, which takes the directives out of a set, with them in one order."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response = super().process_response(request, response)
        if HEADER in response.headers:
            response.headers[HEADER] = "; ".join(sorted(response.headers[HEADER].split("; ")))
        return response


class Response(NamedTuple):
    """What is sent."""

    status: int
    headers: dict[str, str]
    body: bytes


class Finish:
    """Completes responses, and keeps the headers that depend only on settings, route and scheme."""

    def __init__(self) -> None:
        self.head_of = lru_cache(maxsize=64)(_head_of)

    def __call__(self, request: Request, status: int, headers: Mapping[str, str], body: bytes) -> Response:
        """Return the response with the headers that every one has, in one order; 304 if the caller has it.

        `ETag` covers body and `Link`, so it is the same for every key (RFC 9110, section 8.8.3).
        """
        link = headers.get("Link", "")
        tag = {}
        if status == HTTPStatus.OK and request.reads:
            tag = {"ETag": entity_tag(body, link)}
            if names(request.headers.get("if-none-match", ""), tag["ETag"]):
                status, body = HTTPStatus.NOT_MODIFIED, b""
        complete = {
            **self.head_of(request.route.allow, request.scheme),
            "X-Request-ID": request.id,
            **headers,
            **deprecation_headers(request.route, request, link),
            **request.notices,
            **tag,
        }
        if status in WITHOUT_BODY:
            del complete["Content-Type"]
        else:
            complete["Content-Length"] = str(len(body))
        return Response(status, complete, b"" if request.method == "HEAD" else body)


def _head_of(allow: str, scheme: str) -> dict[str, str]:
    """Return the headers that depend on the settings only."""
    vary = f"{VARY}, origin" if allow and settings.CORS_ALLOWED_ORIGINS else VARY
    return {
        "Content-Type": MEDIA_TYPE,
        **({"Allow": allow} if allow else {}),
        "Vary": vary,
        "Cache-Control": CACHE_CONTROL,
        **fixed_headers(scheme),
    }


def fixed_headers(scheme: str) -> dict[str, str]:
    """Return the headers that every response has, pages too: they depend on the scheme only."""
    request = WSGIRequest({"REQUEST_METHOD": "GET", "wsgi.url_scheme": scheme, "wsgi.input": BytesIO()})
    response = HttpResponse()
    del response.headers["Content-Type"]
    layers: list[Any] = [XFrameOptionsMiddleware, PolicyMiddleware, SecurityMiddleware]
    for layer in layers:
        layer(lambda _request: response).process_response(request, response)
    return dict(response.headers)


def deprecation_headers(route: Route, request: Request, link: str) -> dict[str, str]:
    """Return what announces the end of the routes in `settings.API_DEPRECATIONS`.

    `link` is the `Link` that the response has or an empty text. `Deprecation` is RFC 9745, `Sunset` RFC 8594,
    `successor-version` RFC 5829.
    """
    deprecation = settings.API_DEPRECATIONS.get(route.name)
    if deprecation is None:
        return {}
    path, dates = _announced(**deprecation)
    successor = f'<{request.base}{path}>; rel="successor-version"'
    return {**dates, "Link": f"{successor}, {link}" if link else successor}


@lru_cache(maxsize=64)
def _announced(*, successor: str, since: datetime, sunset: datetime) -> tuple[str, dict[str, str]]:
    """Return the successor's path, and the headers with dates."""
    dates = {"Deprecation": f"@{since.timestamp():.0f}", "Sunset": http_date(sunset.timestamp())}
    return f"/{get_resolver().reverse(successor)}", dates


def entity_tag(body: bytes, link: str) -> str:
    """Return the `ETag` of a response with this body and this `Link`."""
    digest = blake2b(body, digest_size=16)
    digest.update(link.encode())
    return f'"{digest.hexdigest()}"'


def revalidate(request: HttpRequest, response: HttpResponse) -> None:
    """Add the `ETag` of a page, and turn it into a 304 if the caller already has it."""
    response["ETag"] = entity_tag(response.content, "")
    if names(request.META.get("HTTP_IF_NONE_MATCH", ""), response["ETag"]):
        response.status_code = HTTPStatus.NOT_MODIFIED
        response.content = b""
        for name in ("Content-Type", "Content-Length"):
            del response[name]


def names(if_none_match: str, tag: str) -> bool:
    """Return whether the value of `If-None-Match` names the tag (RFC 9110, section 13)."""
    return bool(if_none_match) and any(
        entity == "*" or entity.removeprefix("W/") == tag for entity in parse_etags(if_none_match)
    )
