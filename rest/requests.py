"""A request under /v1 as the operations see it, whichever adapter received it."""

import re
import time
from random import getrandbits
from typing import TYPE_CHECKING, Any

from django.core.handlers.wsgi import get_path_info
from django.http import QueryDict

from rest.hosts import Environ, host_of, scheme_of
from rest.media_type import read_json
from rest.routes import UNKNOWN, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rest.limits import Counted

REQUEST = "petstore.request"
"""In the environ: the `Request`."""

STARTED = "petstore.started"
"""In the environ: the reading of `time.perf_counter` when the request came, and later by the time its body took."""

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
PLAIN_QUERY = re.compile(r"[A-Za-z0-9._~=&-]{0,400}")
"""A query without escapes, and too short for too many parameters."""


class Request:
    """What was asked, by whom, and what the checks on the way found."""

    __slots__ = (
        "_sent", "argument", "counted", "environ", "id", "key", "known_key", "method", "notices", "path", "reads",
        "route",
    )  # fmt: skip

    def __init__(self, environ: Environ, path: str | None = None) -> None:
        """Read the environ of WSGI, and put the request and its ID into it. Django has decoded the `path` there."""
        environ[REQUEST] = self
        environ.setdefault(STARTED, time.perf_counter())
        self.environ = environ
        self.method: str = environ["REQUEST_METHOD"]
        self.reads = self.method in {"GET", "HEAD"}
        self.path: str = environ["PATH_INFO"] if path is None else path
        if path is None and not self.path.isascii():
            self.path = get_path_info(environ)
        self.id = environ["HTTP_X_REQUEST_ID"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        self.route: Route = UNKNOWN
        self.argument = ""
        """The value in the path, such as the ID of an animal."""
        self.key: Any = None
        """The key that was accepted."""
        self.known_key: Any = None
        """The key that was sent, expired and revoked ones too."""
        self.counted: Counted | None = None
        """What the rate limit says; None before it was asked."""
        self.notices: Mapping[str, str] = {}
        """Headers that every response to the key has."""
        self._sent: dict[str, Any] | None = None

    @property
    def is_secure(self) -> bool:
        """Return whether the caller used HTTPS."""
        return scheme_of(self.environ) == "https"

    @property
    def url(self) -> str:
        """Return the address of the request, without its query."""
        return f"{self.base}{self.path}"

    @property
    def base(self) -> str:
        """Return the address of the service: scheme and host as the caller wrote them, and the path it lives under."""
        return f"{scheme_of(self.environ)}://{host_of(self.environ)}{self.environ.get('SCRIPT_NAME', '')}"

    @property
    def query(self) -> str:
        """Return the query as it was sent."""
        return str(self.environ.get("QUERY_STRING", ""))

    def json(self) -> dict[str, Any]:
        """Return the body, a JSON object, read once; raises an `APIException` that says what is wrong with it."""
        if self._sent is None:
            self._sent = read_json(self.environ)
        return self._sent


def request_of(environ: Environ, path: str | None = None) -> Request:
    """Return the request that this environ has, a new one the first time."""
    known: Request | None = environ.get(REQUEST)
    return known or Request(environ, path)


def request_id(given: str) -> str:
    """Return the caller's `X-Request-ID` if it is one, else a new one."""
    return given if given and REQUEST_ID.fullmatch(given) else f"{getrandbits(128):032x}"


def parameters(query: str) -> dict[str, list[str]]:
    """Return the values of each parameter of a query.

    Raises Django's `SuspiciousOperation` for more parameters than `settings.DATA_UPLOAD_MAX_NUMBER_FIELDS`.
    """
    if not PLAIN_QUERY.fullmatch(query):
        return dict(QueryDict(query.encode("latin-1"), encoding="utf-8").lists())
    found: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if pair:
            name, _, value = pair.partition("=")
            found.setdefault(name, []).append(value)
    return found
