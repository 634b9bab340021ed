"""A shorter way for plain reads of animals: the same functions as the viewset calls, without Django around them.

A GET of a list or an animal with a good key and parameters that are plainly right is responded to here. Whatever is
unusual goes on to Django, whose viewset is the complete implementation (docs/decisions/0040).
"""

import re
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http.request import split_domain_port, validate_host
from django.urls import resolve

from history.acting import begin_request, end_request
from pets import statements
from pets.views import PetPagination
from petstore_site.api import fixed_headers
from petstore_site.apikeys.authentication import challenge, find_key, has_expired, no_key
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.notices import expiration_of
from petstore_site.observing import STARTED, Seen, observe, request_id
from rest.api import CACHE_CONTROL, VARY, deprecation_headers, entity_tag, names
from rest.database_errors import drop_closed
from rest.errors import CODES, APIError, error_body
from rest.ids import parse_id
from rest.limits import COUNTED, Counted, count
from rest.media_type import MEDIA_TYPE, render_json
from rest.paging import asked, link_to
from rest.statements import Row, Steps, run

Environ = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""

Rows = TypeVar("Rows")

LIST, ONE = "/v1/pets", "/v1/pets/"
QUERY = re.compile(r"(?:(?:limit|status|cursor)=[A-Za-z0-9._-]+(?:&(?=[lsc])|\Z))*")
"""A query that means the same to every reader."""

UNUSUAL = ("HTTP_TRANSFER_ENCODING", "SCRIPT_NAME")


class Way(Protocol):
    """How a plain read waits: for the table of keys, the count of requests, the rows of animals."""

    async def find_key(self, header: str) -> CachedKey | None:
        """Return the key that the value of `Authorization` has, expired and revoked ones too."""

    async def count(self, key: CachedKey) -> Counted:
        """Count a request of the key by its limit."""

    async def run(self, steps: Steps) -> list[Row]:
        """Run the statements and return the rows."""


class Sent(NamedTuple):
    """A request, as far as its response depends on it."""

    environ: Environ
    path: str
    route: str
    scheme: str
    request_id: str

    @property
    def origin(self) -> str:
        """Return scheme and host as the caller wrote them."""
        return f"{self.scheme}://{self.environ['HTTP_HOST']}"

    def seen(self, status: int, **more: Any) -> Seen:
        """Return what became of it."""
        seconds = time.perf_counter() - self.environ[STARTED]
        return Seen(self.request_id, self.environ["REQUEST_METHOD"], self.path, self.route, status, seconds, **more)

    def response(self, status: int, headers: dict[str, str], body: bytes) -> Response:
        """Return the response, without the body for HEAD."""
        end_request()
        return status, headers, b"" if self.environ["REQUEST_METHOD"] == "HEAD" else body


class PlainReads:
    """Respond to plain reads, in one way of waiting."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.vendor = connection.vendor
        self.head = {
            (route, secure): _head(path, secure=secure)
            for route, path in (("pet-list", LIST), ("pet-detail", f"{ONE}1"))
            for secure in (False, True)
        }

    async def respond(self, environ: Environ) -> Response | None:
        """Return the response to a plain read, or None: it is none, or the database fails."""
        if not _may_be_plain(environ):
            return None
        try:
            return await self._respond(environ)
        except (APIError, DatabaseError, InterfaceError):  # the viewset says what is wrong, or tries again
            return None

    async def _respond(self, environ: Environ) -> Response | None:
        path = environ["PATH_INFO"]
        name = environ["HTTP_X_REQUEST_ID"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        sent = Sent(environ, path, "pet-list" if path == LIST else "pet-detail", _scheme(environ), name)
        begin_request(sent.request_id)
        header = environ.get("HTTP_AUTHORIZATION")
        key = None if header is None else await self.way.find_key(header)
        if key is None:
            return self._unauthorized(sent, header)
        if key.revoked_at is not None or has_expired(key):
            return None
        read = await (self._list(sent, key) if sent.route == "pet-list" else self._one(sent, key))
        if read is None:
            return None
        data, link = read
        body = render_json(data)
        headers = self._headers(sent, link) | expiration_of(key) | dict(environ[COUNTED].headers)
        headers["ETag"] = entity_tag(body, link)
        status = 200
        if names(environ.get("HTTP_IF_NONE_MATCH", ""), headers["ETag"]):
            status, body = 304, b""
            del headers["Content-Type"]
        else:
            headers["Content-Length"] = str(len(body))
        observe(sent.seen(status, key=key, known_key=key))
        return sent.response(status, headers, body)

    def _unauthorized(self, sent: Sent, header: str | None) -> Response:
        error = no_key(header)
        code, message = CODES[str(error.get_codes())], str(error.detail)
        body = render_json(error_body(code, message))
        headers = self._headers(sent, code.help_link)
        headers["WWW-Authenticate"] = challenge(header or "")
        headers["Content-Length"] = str(len(body))
        observe(sent.seen(code.status, code=code.value, message=message))
        return sent.response(code.status, headers, body)

    def _headers(self, sent: Sent, link: str) -> dict[str, str]:
        return {
            **self.head[sent.route, sent.scheme == "https"],
            "X-Request-ID": sent.request_id,
            **({"Link": link} if link else {}),
            **deprecation_headers(sent.route, sent.origin, link),
        }

    async def _list(self, sent: Sent, key: CachedKey) -> tuple[list[dict[str, Any]], str] | None:
        """Return a page and its `Link`, empty on the last page."""
        query = sent.environ.get("QUERY_STRING", "")
        pairs = [pair.split("=", 1) for pair in query.split("&")] if query else []
        values = {name: [value] for name, value in pairs} if QUERY.fullmatch(query) else {}
        if len(values) < len(pairs):
            return None
        wanted = asked(LIST, lambda name: values.get(name, []), PetPagination.filters)
        if not await self._is_within_limit(sent.environ, key):
            return None
        rows = await self.way.run(wanted.steps(statements, self.vendor))
        page, last_id = wanted.cut(rows, statements)
        return page, link_to(f"{sent.origin}{LIST}", wanted.next_query(last_id)) if last_id else ""

    async def _one(self, sent: Sent, key: CachedKey) -> tuple[dict[str, Any], str] | None:
        """Return the animal, which has no `Link` of its own."""
        pk = parse_id(sent.path.removeprefix(ONE))
        found = await self.way.run(statements.one(pk)) if pk and await self._is_within_limit(sent.environ, key) else []
        return (statements.shown(found[0]), "") if found else None

    async def _is_within_limit(self, environ: Environ, key: CachedKey) -> bool:
        """Count the request, once for this way and for the viewset's."""
        environ[COUNTED] = counted = await self.way.count(key)
        return counted.allowed


class InThread:
    """Wait in this thread, and use its connection."""

    async def find_key(self, header: str) -> CachedKey | None:
        """Return the key that the header has."""
        drop_closed()
        return find_key(header)

    async def count(self, key: CachedKey) -> Counted:
        """Count a request."""
        return count(key)

    async def run(self, steps: Steps) -> list[Row]:
        """Return the rows."""
        return run(steps)


def at_once(waiting: Coroutine[Any, Any, Rows]) -> Rows:
    """Return what a coroutine returns that never hands over control."""
    try:
        waiting.send(None)
    except StopIteration as done:
        returned: Rows = done.value
        return returned
    raise RuntimeError


class PlainReadsFirst:
    """A WSGI application that responds to plain reads, and leaves everything else to the application behind."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application
        self.plain_reads = PlainReads(InThread())

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Respond, by the short way if it leads to the end."""
        environ[STARTED] = time.perf_counter()
        response = at_once(self.plain_reads.respond(environ))
        if response is None:
            return self.application(environ, start_response)
        status, headers, body = response
        start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [body]


def _head(path: str, *, secure: bool) -> dict[str, str]:
    """Return the headers that every plain read of this path has."""
    actions: dict[str, str] = resolve(path).func.actions  # type: ignore[attr-defined]
    methods = [method.upper() for method in ("get", "post", "put", "patch", "delete") if method in actions]
    return {
        "Content-Type": MEDIA_TYPE,
        "Allow": ", ".join([*methods, "HEAD", "OPTIONS"]),
        "Vary": f"{VARY}, origin" if settings.CORS_ALLOWED_ORIGINS else VARY,
        "Cache-Control": CACHE_CONTROL,
        **fixed_headers(secure=secure),
    }


def _may_be_plain(environ: Environ) -> bool:
    """Return whether nothing about the request is unusual, as far as its head shows."""
    path = environ["PATH_INFO"]
    return (
        environ["REQUEST_METHOD"] in {"GET", "HEAD"}
        and (path == LIST or (path.startswith(ONE) and parse_id(path.removeprefix(ONE)) is not None))
        and not any(environ.get(name) for name in UNUSUAL)
        and environ.get("CONTENT_LENGTH", "") in {"", "0"}
        and not (settings.CORS_ALLOWED_ORIGINS and "HTTP_ORIGIN" in environ)
        and _is_ours(environ.get("HTTP_HOST", ""), tuple(settings.ALLOWED_HOSTS))
    )


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
