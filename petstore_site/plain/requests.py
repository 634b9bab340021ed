"""What plain reads and plain additions have in common: which requests can be plain, their key, limit and headers."""

import time
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import resolve

from history.acting import begin_request, end_request
from petstore_site.api import fixed_headers
from petstore_site.apikeys.authentication import challenge, has_expired, no_key
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.notices import expiration_of
from petstore_site.observing import STARTED, Seen, request_id
from rest.api import CACHE_CONTROL, VARY, deprecation_headers
from rest.errors import CODES, error_body
from rest.limits import COUNTED, Counted
from rest.media_type import MEDIA_TYPE, render_json
from rest.statements import Row, Steps

Environ = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""

Heads = dict[tuple[str, bool], dict[str, str]]
"""The headers that every response has, by the name of its route and whether its scheme is `https`."""

LIST, ONE = "/v1/pets", "/v1/pets/"


class Way(Protocol):
    """How a plain request waits: for the table of keys, the count of requests, the rows of animals."""

    async def find_key(self, header: str) -> CachedKey | None:
        """Return the key that the value of `Authorization` has, expired and revoked ones too."""

    async def count(self, key: CachedKey) -> Counted:
        """Count a request of the key by its limit."""

    async def run(self, steps: Steps, environ: Environ, /) -> list[Row]:
        """Run the statements of a request and return the rows."""

    def observe(self, seen: Seen) -> None:
        """Say what became of the request."""


class Sent:
    """A plain request, and what becomes of it."""

    def __init__(self, way: Way, environ: Environ, heads: Heads, route: str) -> None:
        """Begin the request; `route` is the name of its route."""
        self._way = way
        self.environ = environ
        self._heads = heads
        self.path: str = environ["PATH_INFO"]
        self.route = route
        self.scheme = _scheme(environ)
        self.request_id = environ["HTTP_X_REQUEST_ID"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        begin_request(self.request_id)

    @property
    def origin(self) -> str:
        """Return scheme and host as the caller wrote them."""
        return f"{self.scheme}://{self.environ['HTTP_HOST']}"

    async def is_within_limit(self, key: CachedKey) -> bool:
        """Count the request, once for this way and for the viewset's."""
        self.environ[COUNTED] = counted = await self._way.count(key)
        return counted.allowed

    def accepted(self, status: int, headers: dict[str, str], body: bytes, key: CachedKey, link: str = "") -> Response:
        """Return the response to a request whose key was accepted, and say what became of it."""
        headers = self._headers(link) | expiration_of(key) | dict(self.environ[COUNTED].headers) | headers
        return self._response(status, headers, body, key=key, known_key=key)

    def unauthorized(self, header: str | None) -> Response:
        """Return the 401 to a request whose `Authorization` has no key of ours, and say what became of it."""
        error = no_key(header)
        code, message = CODES[str(error.get_codes())], str(error.detail)
        headers = self._headers(code.help_link) | {"WWW-Authenticate": challenge(header or "")}
        body = render_json(error_body(code, message))
        return self._response(code.status, headers, body, code=code.value, message=message)

    def _headers(self, link: str) -> dict[str, str]:
        return {
            **self._heads[self.route, self.scheme == "https"],
            "X-Request-ID": self.request_id,
            **({"Link": link} if link else {}),
            **deprecation_headers(self.route, self.origin, link),
        }

    def _response(self, status: int, headers: dict[str, str], body: bytes, **more: Any) -> Response:
        if status == HTTPStatus.NOT_MODIFIED:
            del headers["Content-Type"]
        else:
            headers["Content-Length"] = str(len(body))
        method: str = self.environ["REQUEST_METHOD"]
        seconds = time.perf_counter() - self.environ[STARTED]
        self._way.observe(Seen(self.request_id, method, self.path, self.route, status, seconds, **more))
        end_request()
        return status, headers, b"" if method == "HEAD" else body


def is_usual(environ: Environ) -> bool:
    """Return whether nothing about the request is unusual, as far as its head shows."""
    return (
        "HTTP_TRANSFER_ENCODING" not in environ
        and not environ.get("SCRIPT_NAME")
        and not ("HTTP_ORIGIN" in environ and settings.CORS_ALLOWED_ORIGINS)
        and _is_ours(environ.get("HTTP_HOST", ""), tuple(settings.ALLOWED_HOSTS))
    )


def is_usable(key: CachedKey) -> bool:
    """Return whether a key was neither revoked nor has expired."""
    return key.revoked_at is None and not has_expired(key)


def heads() -> Heads:
    """Return the headers that depend on the settings only."""
    return {
        (route, secure): _head(path, secure=secure)
        for route, path in (("pet-list", LIST), ("pet-detail", f"{ONE}1"))
        for secure in (False, True)
    }


def _head(path: str, *, secure: bool) -> dict[str, str]:
    actions: dict[str, str] = resolve(path).func.actions  # type: ignore[attr-defined]
    methods = [method.upper() for method in ("get", "post", "put", "patch", "delete") if method in actions]
    return {
        "Content-Type": MEDIA_TYPE,
        "Allow": ", ".join([*methods, "HEAD", "OPTIONS"]),
        "Vary": f"{VARY}, origin" if settings.CORS_ALLOWED_ORIGINS else VARY,
        "Cache-Control": CACHE_CONTROL,
        **fixed_headers(secure=secure),
    }


@lru_cache(maxsize=256)
def _is_ours(host: str, allowed: tuple[str, ...]) -> bool:
    domain, _port = split_domain_port(host)
    return bool(domain) and validate_host(domain, allowed)


def _scheme(environ: Environ) -> str:
    """Return the scheme that the caller used, as Django reads it."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        if given := environ.get(name):
            return "https" if given.split(",", 1)[0].strip() == secure else "http"
    return str(environ["wsgi.url_scheme"])
