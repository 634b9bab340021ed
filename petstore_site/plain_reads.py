"""A shorter way for plain reads of animals: the same functions as the viewset calls, without Django around them.

A GET of a list or an animal with a good key and parameters that are plainly right is responded to here. Whatever is
unusual goes on to Django, whose viewset is the complete implementation (docs/decisions/0040).
"""

import re
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http.request import split_domain_port, validate_host
from django.urls import resolve

from history.acting import begin_request, end_request
from pets import statements
from pets.views import PetPagination
from petstore_site.api import fixed_headers
from petstore_site.apikeys.authentication import find_key, has_expired
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.notices import expiration_of
from petstore_site.observing import Seen, observe, request_id
from rest.api import CACHE_CONTROL, VARY, deprecation_headers, entity_tag, names
from rest.database_errors import drop_closed
from rest.errors import APIError
from rest.ids import parse_id
from rest.limits import COUNTED, count
from rest.media_type import MEDIA_TYPE, render_json
from rest.paging import asked, link_to
from rest.statements import run

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

LIST, ONE = "/v1/pets", "/v1/pets/"
QUERY = re.compile(r"(?:(?:limit|status|cursor)=[A-Za-z0-9._-]+(?:&(?=[lsc])|\Z))*")
"""A query that means the same to every reader."""

UNUSUAL = ("HTTP_TRANSFER_ENCODING", "SCRIPT_NAME")
NOT_MODIFIED = "304 Not Modified"


class PlainReads:
    """Respond to plain reads, and leave everything else to the application behind."""

    def __init__(self, application: Application) -> None:
        """Take what is behind."""
        self.application = application
        self.head = {
            (route, secure): _head(path, secure=secure)
            for route, path in (("pet-list", LIST), ("pet-detail", f"{ONE}1"))
            for secure in (False, True)
        }

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Respond, by the short way if it leads to the end."""
        environ["petstore.started"] = time.perf_counter()
        try:
            response = self._respond(environ) if _may_be_plain(environ) else None
        except (APIError, DatabaseError, InterfaceError):  # the viewset says what is wrong, or tries again
            response = None
        if response is None:
            return self.application(environ, start_response)
        status, headers, body = response
        start_response(status, list(headers.items()))
        return [body]

    def _respond(self, environ: Environ) -> tuple[str, dict[str, str], bytes] | None:
        """Return status, headers and body, or None for the viewset."""
        name = environ["HTTP_X_REQUEST_ID"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        begin_request(name)
        key = _good_key(environ["HTTP_AUTHORIZATION"])
        if key is None:
            return None
        path: str = environ["PATH_INFO"]
        route = "pet-list" if path == LIST else "pet-detail"
        scheme = _scheme(environ)
        origin = f"{scheme}://{environ['HTTP_HOST']}"
        read = _list(environ, key, origin) if route == "pet-list" else _one(environ, key, path.removeprefix(ONE))
        if read is None:
            return None
        data, link = read
        body = render_json(data)
        headers = {
            **self.head[route, scheme == "https"],
            "X-Request-ID": name,
            "ETag": entity_tag(body, link),
            **({"Link": link} if link else {}),
            **deprecation_headers(route, origin, link),
            **expiration_of(key),
            **environ[COUNTED].headers,
        }
        status = "200 OK"
        if names(environ.get("HTTP_IF_NONE_MATCH", ""), headers["ETag"]):
            status, body = NOT_MODIFIED, b""
            del headers["Content-Type"]
        else:
            headers["Content-Length"] = str(len(body))
        _say(environ, name, path, route, int(status[:3]), key)
        return status, headers, body


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
        environ["REQUEST_METHOD"] == "GET"
        and (path == LIST or (path.startswith(ONE) and parse_id(path.removeprefix(ONE)) is not None))
        and "HTTP_AUTHORIZATION" in environ
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


def _good_key(header: str) -> CachedKey | None:
    drop_closed()
    key = find_key(header)
    return None if key is None or key.revoked_at is not None or has_expired(key) else key


def _list(environ: Environ, key: CachedKey, origin: str) -> tuple[list[dict[str, Any]], str] | None:
    """Return a page and its `Link`, empty on the last page."""
    query = environ.get("QUERY_STRING", "")
    pairs = [pair.split("=", 1) for pair in query.split("&")] if query else []
    values = {name: [value] for name, value in pairs} if QUERY.fullmatch(query) else {}
    if len(values) < len(pairs):
        return None
    wanted = asked(LIST, lambda name: values.get(name, []), PetPagination.filters)
    if not _is_within_limit(environ, key):
        return None
    page, last_id = wanted.cut(run(wanted.steps(statements, connection.vendor)), statements)
    return page, link_to(f"{origin}{LIST}", wanted.next_query(last_id)) if last_id else ""


def _one(environ: Environ, key: CachedKey, segment: str) -> tuple[dict[str, Any], str] | None:
    """Return the animal, which has no `Link` of its own."""
    pk = parse_id(segment)
    found = run(statements.one(pk)) if pk and _is_within_limit(environ, key) else []
    return (statements.shown(found[0]), "") if found else None


def _is_within_limit(environ: Environ, key: CachedKey) -> bool:
    """Count the request, once for this way and for the viewset's."""
    environ[COUNTED] = counted = count(key)
    return counted.allowed


def _say(environ: Environ, name: str, path: str, route: str, status: int, key: CachedKey) -> None:  # noqa: PLR0913, PLR0917 - a record's parts
    seconds = time.perf_counter() - environ["petstore.started"]
    observe(Seen(name, "GET", path, route, status, seconds, key=key, known_key=key))
    end_request()
