"""A request, whichever adapter received it, the result of its operation, and the routes that have operations."""

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from io import BytesIO
from random import getrandbits
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.http.request import split_domain_port, validate_host
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.urls.resolvers import RoutePattern
from django.utils.encoding import repercent_broken_unicode
from django.utils.http import parse_header_parameters

from database.statements import Steps
from rest.media_type import read_json

if TYPE_CHECKING:
    from rest.limits import Quota  # it loads what counts

Scope = Mapping[str, Any]
"""Of ASGI."""

Environ = dict[str, Any]
"""Of WSGI (PEP 3333)."""

REQUEST = "petstore.request"
"""In the environ: the `Request`."""

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")

UNREADABLE_KEY = "sent twice"
"""What two `Idempotency-Key` headers become: joined by a comma, they would be a valid key (docs/decisions/0001)."""

ENCODED_SLASH = re.compile(rb"%2f", re.IGNORECASE)
"""Part of a name, which separates nothing (RFC 3986, section 2.2). In a path it stays encoded."""

PORT_DIGITS, LAST_PORT = 5, 65535
USUAL_PORTS = {"http": 80, "https": 443}
WITHOUT_PREFIX = {"CONTENT_TYPE", "CONTENT_LENGTH"}


class Result(NamedTuple):
    """The result of an operation, or the Error in its place."""

    data: Any
    """The body, before it is written as JSON."""
    status: int = 200
    headers: Mapping[str, str] = {}
    """Besides those that every response has (`rest/responses.py`)."""
    code: str = ""
    message: str = ""
    """Of the Error, for the access record."""


class Route(NamedTuple):
    """A path with its operations."""

    name: str
    operations: "Mapping[str, Operation]" = {}
    """By HTTP method."""
    allow: str = ""
    """The methods of the path, as `Allow` lists them."""


UNKNOWN = Route("")
"""Of a request whose path was not looked at, or has no operations."""


class Request:
    """What was sent, by whom, and what the checks on the way found."""

    __slots__ = (
        "_json", "_scope", "argument", "base", "headers", "host", "id", "input", "is_api", "key", "known_key", "method",
        "notices", "path", "query", "quota", "reads", "route", "scheme", "started", "trace", "url",
    )  # fmt: skip

    def __init__(self, scope: Scope) -> None:
        """Read the scope of ASGI."""
        self.started = time.perf_counter()
        """When it came, and later by the time that its body took."""
        self.method: str = scope["method"]
        self.reads = self.method in {"GET", "HEAD"}
        self.path = mounted(_path(scope["raw_path"]))
        self.is_api = is_api(self.path)
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = _headers(scope["headers"])
        """By their names in lower case; repeated ones are joined by commas."""
        self.scheme = self._scheme(scope["scheme"])
        self.host = self._host(*scope["server"] or ("", 0))
        """As the caller wrote it, with its port if there is one, or None if it is not ours."""
        self.base = f"{self.scheme}://{self.host}{settings.BASE_PATH}"
        """The address of the service as the caller wrote it, with the path it lives under."""
        self.url = f"{self.base}{self.path}"
        """The address of the request, without its query."""
        sent = self.headers.get("x-request-id", "")
        self.id = sent if REQUEST_ID.fullmatch(sent) and not has_secret(sent) else f"{getrandbits(128):032x}"
        """The caller's `X-Request-ID` if it is one, else a new one. It is stored and logged."""
        self.input: IO[bytes] | None = BytesIO()
        """What the body is read from, once it has come. None if the server does not know where it ends."""
        self.route = UNKNOWN
        self.argument = ""
        """The value in the path, such as the ID of an animal."""
        self.key: Any = None
        """The key that was accepted."""
        self.known_key: Any = None
        """The key that was sent, expired and revoked ones too."""
        self.quota: Quota | None = None
        """What the rate limit says; None before it was asked."""
        self.notices: Mapping[str, str] = {}
        """Headers that every response to the key has."""
        self._scope = scope
        self._json: dict[str, Any] | None = None

    def json(self) -> dict[str, Any]:
        """Return the body, a JSON object, read once; raises an `APIException` that says what is wrong with it."""
        if self._json is None:
            self._json = read_json(self.headers, self.input)
        return self._json

    def environ(self) -> Environ:
        """Return what Django is given in a thread: the environ of WSGI, as gunicorn's WSGI workers make it."""
        server, client = self._scope["server"] or ("", 0), self._scope["client"] or ("", 0)
        return {_variable(name): value for name, value in self.headers.items()} | {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": settings.BASE_PATH,
            "PATH_INFO": self.path.encode().decode("latin-1"),
            "QUERY_STRING": self.query,
            "SERVER_PROTOCOL": f"HTTP/{self._scope['http_version']}",
            "SERVER_NAME": server[0],
            "SERVER_PORT": str(server[1]),
            "REMOTE_ADDR": client[0],
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": self.scheme,
            "wsgi.input": self.input or BytesIO(),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            REQUEST: self,
        }

    def _scheme(self, scheme: str) -> str:
        """Return the scheme that the caller used; behind a trusted proxy, what the first proxy says."""
        if header := settings.SECURE_PROXY_SSL_HEADER:
            variable, secure = header
            if sent := self.headers.get(variable.removeprefix("HTTP_").replace("_", "-").lower()):
                return "https" if sent.partition(",")[0].strip() == secure else "http"
        return scheme

    def _host(self, name: str, port: int) -> str | None:
        """Return the host. A request without `Host` (HTTP/1.0) means the address that it came to."""
        host = self.headers.get("host")
        if host is None:
            host = name if port == USUAL_PORTS[self.scheme] else f"{name}:{port}"
        return host if _is_ours(host, tuple(settings.ALLOWED_HOSTS)) else None


Operation = Callable[[Request], Steps[Result]]
"""A function from a request to a result, which knows neither how it waits nor who calls it."""


class DjangoRequest(WSGIRequest):
    """The request that Django sees, with the host and the scheme of ours.

    Its Content-Type is only a header: it decides no charset, and a malformed one is none.
    """

    def __init__(self, environ: Environ) -> None:
        """Read the environ, which has our request if the door made it."""
        if REQUEST not in environ:
            environ |= request_of(environ).environ()
        super().__init__(environ)

    @property
    def scheme(self) -> str:
        return request_of(self.META).scheme

    def get_host(self) -> str:
        """Return the host as the caller wrote it; raises `DisallowedHost` if it is not ours."""
        host = request_of(self.META).host
        if host is None:
            raise DisallowedHost
        return host

    def _set_content_type_params(self, meta: Environ) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (LookupError, ValueError):
            self.content_type, self.content_params = "", {}


def request_of(environ: Environ) -> Request:
    """Return the request that this environ has, a new one the first time: then it comes from a server for WSGI."""
    known: Request | None = environ.get(REQUEST)
    if known is None:
        known = environ[REQUEST] = Request(_scope(environ))
        chunked = "transfer-encoding" in known.headers
        known.input = None if chunked and not environ.get("wsgi.input_terminated") else environ["wsgi.input"]
    return known


def _scope(environ: Environ) -> Scope:
    """Return what a server for ASGI would have given."""
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower().encode(): str(value).encode("latin-1")
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in WITHOUT_PREFIX
    }
    return {
        "method": environ["REQUEST_METHOD"],
        "raw_path": quote(environ["PATH_INFO"].encode("latin-1")).encode(),
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "http_version": environ.get("SERVER_PROTOCOL", "HTTP/1.1").removeprefix("HTTP/"),
        "scheme": environ["wsgi.url_scheme"],
        "headers": [*headers.items()],
        "server": (environ["SERVER_NAME"], int(environ["SERVER_PORT"])),
        "client": (environ.get("REMOTE_ADDR", ""), 0),
    }


def has_secret(text: str) -> bool:
    """Return whether a caller put a key where it would be stored."""
    return settings.SECRET_FORM.search(text) is not None


def mounted(path: str) -> str:
    """Return the path without the one under which the service lives.

    A proxy may have removed all of that, its first parts, or nothing.
    """
    base = settings.BASE_PATH and _start(settings.BASE_PATH).match(path)
    return path[base.end() :] or "/" if base else path


@lru_cache(maxsize=8)
def _start(base: str) -> re.Pattern[str]:
    """Return what matches `/a/b`, and `/b`, at the start of a path."""
    pattern = ""
    for part in base[1:].split("/"):
        pattern = f"(?:{pattern})?/{re.escape(part)}"
    return re.compile(rf"{pattern}(?=/|\Z)")


def _headers(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for field, value in fields:
        name, text = field.decode("latin-1"), value.decode("latin-1")
        if name in headers:
            text = UNREADABLE_KEY if name == "idempotency-key" else f"{headers[name]},{text}"
        headers[name] = text
    return headers


def _path(raw: bytes) -> str:
    if b"%" in raw:
        raw = unquote_to_bytes(ENCODED_SLASH.sub(b"%252F", raw))
    return (raw if raw.isascii() else repercent_broken_unicode(raw)).decode()


@lru_cache(maxsize=256)
def _variable(name: str) -> str:
    variable = name.upper().replace("-", "_")
    return variable if variable in WITHOUT_PREFIX else f"HTTP_{variable}"


@lru_cache(maxsize=256)
def _is_ours(host: str, allowed: tuple[str, ...]) -> bool:
    domain, port = split_domain_port(host)
    is_port = not port or (len(port) <= PORT_DIGITS and int(port) <= LAST_PORT)
    return bool(domain) and is_port and validate_host(domain, allowed)


# --- Routes -----------------------------------------------------------------------------------------------------------

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
                is_reached = resolve(path).func is pattern.callback
                self._literal[path] = _route_of(pattern) if is_reached else None
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


def _patterns(resolver: URLResolver, prefix: str = "/") -> Iterator[tuple[str, URLPattern]]:
    """Yield the addresses that are no regular expressions, with their paths."""
    for pattern in resolver.url_patterns:
        path = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern, path)
        elif isinstance(pattern.pattern, RoutePattern):
            yield path, pattern
