"""What every response under /v1 has, whichever layer created it."""

import io
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from corsheaders.middleware import CorsMiddleware
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import http_date, parse_etags
from gunicorn.http.errors import ParseException

from rest.errors import APIError, ErrorCode
from rest.media_type import BODY_ERROR, MEDIA_TYPE

GetResponse = Callable[[HttpRequest], HttpResponse]


def is_api(request: HttpRequest) -> bool:
    """Return whether the path is under /v1."""
    return request.path_info == "/v1" or request.path_info.startswith("/v1/")


class DeprecationMiddleware:
    """Announce the end of the routes in `settings.API_DEPRECATIONS` on all their responses.

    `Deprecation` is RFC 9745, `Sunset` RFC 8594, `successor-version` RFC 5829.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add `Deprecation`, `Sunset` and `Link`."""
        response = self.get_response(request)
        route = request.resolver_match.view_name if request.resolver_match else ""
        if deprecation := settings.API_DEPRECATIONS.get(route):
            successor = request.build_absolute_uri(reverse(deprecation["successor"]))
            response["Deprecation"] = f"@{deprecation['since'].timestamp():.0f}"
            response["Sunset"] = http_date(deprecation["sunset"].timestamp())
            links = [f'<{successor}>; rel="successor-version"', response.get("Link")]
            response["Link"] = ", ".join(filter(None, links))
        return response


class CachingMiddleware:
    """Make responses private, with an `ETag` over body and `Link`; 304 if `If-None-Match` has it (RFC 9110)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add `ETag`, `Cache-Control` and `Vary`."""
        response = self.get_response(request)
        if not is_api(request):
            return response
        response["Cache-Control"] = "private, no-cache"
        patch_vary_headers(response, ["Authorization"])
        if request.method in {"GET", "HEAD"} and response.status_code == 200:
            revalidate(request, response)
        return response


def revalidate(request: HttpRequest, response: HttpResponse) -> None:
    """Add the `ETag`, and turn the response into a 304 if the caller already has it (RFC 9110, section 13)."""
    response["ETag"] = _entity_tag(response)
    if _names(request.headers.get("If-None-Match", ""), response["ETag"]):
        _make_not_modified(response)


def _entity_tag(response: HttpResponse) -> str:
    digest = blake2b(response.content, digest_size=16)
    digest.update(response.get("Link", "").encode())
    return f'"{digest.hexdigest()}"'


def _names(if_none_match: str, entity_tag: str) -> bool:
    return any(tag == "*" or tag.removeprefix("W/") == entity_tag for tag in parse_etags(if_none_match))


def _make_not_modified(response: HttpResponse) -> None:
    response.status_code = 304
    response.content = b""
    for name in ("Content-Type", "Content-Length"):
        del response[name]


class PreflightMiddleware(CorsMiddleware):
    """Add the CORS headers, and leave a preflight to `OptionsMiddleware` like every other OPTIONS."""

    def check_preflight(self, _request: HttpRequest) -> None:
        """Return None: no response yet."""


class OptionsMiddleware:
    """Respond to OPTIONS on a known path with its methods; no key is needed."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on: `process_view` knows its route."""
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Return 204 for OPTIONS, None for everything else."""
        actions: dict[str, str] = getattr(view, "actions", {})
        if request.method != "OPTIONS" or not actions:
            return None
        return options_response({method.upper() for method in actions} | {"HEAD", "OPTIONS"})


def options_response(methods: set[str]) -> HttpResponse:
    """Return the 204 that lists the methods of a path."""
    response = HttpResponse(status=204, headers={"Allow": ", ".join(sorted(methods))})
    del response["Content-Type"]
    return response


class InputMiddleware:
    """Prepare a request to the API for a framework that expects browsers.

    A chunked body has no `Content-Length`, which Django takes for an empty one: it is read here, up
    to the limit and one byte more, so that what follows sees its length. Its errors are raised when
    the body is parsed, after the key is accepted. The API ignores cookies.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Read a chunked body, make an empty one readable, drop cookies."""
        if is_api(request):
            request.META.pop("HTTP_COOKIE", None)
            if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
                _measure_body(request)
            if request.method == "POST" and not int(request.META.get("CONTENT_LENGTH") or 0):
                _make_readable(request)
        return self.get_response(request)


def _measure_body(request: HttpRequest) -> None:
    body = b"?"  # not empty, so that the framework reads the body and raises the error
    if not request.META.get("wsgi.input_terminated"):
        request.META[BODY_ERROR] = APIError(ErrorCode.LENGTH_REQUIRED)
    else:
        try:
            body = request.META["wsgi.input"].read(settings.API_BODY_LIMIT + 1)
        except (OSError, ParseException):
            message = "The chunks of the request body are malformed."
            request.META[BODY_ERROR] = APIError(ErrorCode.BAD_REQUEST, message)
    _set_body(request, body)


def _make_readable(request: HttpRequest) -> None:
    """Turn an empty body into a blank, which is not JSON either: DRF would not check or parse an empty one."""
    request.META["CONTENT_TYPE"] = request.META.get("CONTENT_TYPE") or MEDIA_TYPE
    _set_body(request, b" ")


def _set_body(request: HttpRequest, body: bytes) -> None:
    request.META["CONTENT_LENGTH"] = str(len(body))
    request._stream = io.BytesIO(body)  # noqa: SLF001 - Django has no public way
