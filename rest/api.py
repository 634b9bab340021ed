"""What every request and response under /v1 has, whichever layer created it."""

import io
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

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

CACHE_CONTROL = "private, no-cache"
VARY = "Authorization"


def is_api(path: str) -> bool:
    """Return whether the path is under /v1."""
    return path == "/v1" or path.startswith("/v1/")


def deprecation_headers(route: str, origin: str, link: str) -> dict[str, str]:
    """Return what announces the end of the routes in `settings.API_DEPRECATIONS`.

    `origin` is ours, `link` the `Link` that the response has or an empty text. `Deprecation` is RFC 9745, `Sunset`
    RFC 8594, `successor-version` RFC 5829.
    """
    deprecation = settings.API_DEPRECATIONS.get(route)
    if deprecation is None:
        return {}
    path, dates = _announced(**deprecation)
    successor = f'<{origin}{path}>; rel="successor-version"'
    return {**dates, "Link": f"{successor}, {link}" if link else successor}


@lru_cache(maxsize=64)
def _announced(*, successor: str, since: datetime, sunset: datetime) -> tuple[str, dict[str, str]]:
    """Return the successor's path, and the headers with dates."""
    dates = {"Deprecation": f"@{since.timestamp():.0f}", "Sunset": http_date(sunset.timestamp())}
    return reverse(successor), dates


def make_private(request: HttpRequest, response: HttpResponse) -> None:
    """Let only the caller keep the response, with an `ETag` over body and `Link`; 304 if the caller has it."""
    response.headers["Cache-Control"] = CACHE_CONTROL
    patch_vary_headers(response, [VARY])
    if request.method in {"GET", "HEAD"} and response.status_code == 200:
        revalidate(request, response)


def revalidate(request: HttpRequest, response: HttpResponse) -> None:
    """Add the `ETag`, and turn the response into a 304 if the caller already has it (RFC 9110, section 13)."""
    response["ETag"] = entity_tag(response.content, response.headers.get("Link", ""))
    if names(request.META.get("HTTP_IF_NONE_MATCH", ""), response["ETag"]):
        _make_not_modified(response)


def entity_tag(body: bytes, link: str) -> str:
    """Return the `ETag` of a response with this body and this `Link`."""
    digest = blake2b(body, digest_size=16)
    digest.update(link.encode())
    return f'"{digest.hexdigest()}"'


def names(if_none_match: str, tag: str) -> bool:
    """Return whether the value of `If-None-Match` names the tag."""
    return bool(if_none_match) and any(
        each == "*" or each.removeprefix("W/") == tag for each in parse_etags(if_none_match)
    )


def _make_not_modified(response: HttpResponse) -> None:
    response.status_code = 304
    response.content = b""
    for name in ("Content-Type", "Content-Length"):
        del response[name]


class PreflightMiddleware(CorsMiddleware):
    """Add the CORS headers, and leave a preflight to `options_response` like every other OPTIONS."""

    def check_preflight(self, _request: HttpRequest) -> None:
        """Return None: no response yet."""


def respond_to_options(request: HttpRequest, view: Callable[..., HttpResponseBase]) -> HttpResponse | None:
    """Return 204 for OPTIONS on a known path, which needs no key, and None for everything else."""
    actions: dict[str, str] = getattr(view, "actions", {})
    if request.method != "OPTIONS" or not actions:
        return None
    return options_response({method.upper() for method in actions} | {"HEAD", "OPTIONS"})


def options_response(methods: set[str]) -> HttpResponse:
    """Return the 204 that lists the methods of a path."""
    response = HttpResponse(status=204, headers={"Allow": ", ".join(sorted(methods))})
    del response["Content-Type"]
    return response


def prepare(request: HttpRequest) -> None:
    """Prepare a request for a framework that expects browsers.

    A chunked body has no `Content-Length`, which Django takes for an empty one: it is read here, up
    to the limit and one byte more, so that what follows sees its length. Its errors are raised when
    the body is parsed, after the key is accepted. The API ignores cookies.
    """
    request.META.pop("HTTP_COOKIE", None)
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        _measure_body(request)
    if request.method == "POST" and not int(request.META.get("CONTENT_LENGTH") or 0):
        _make_readable(request)


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


def origin(request: HttpRequest) -> str:
    """Return scheme and host as the caller wrote them."""
    return f"{request.scheme}://{request.get_host()}"
