"""The scheme, host and path of a request, as both adapters and Django's pages read them."""

import re
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

Environ = dict[str, Any]
"""Of WSGI (PEP 3333)."""

PORT_DIGITS, LAST_PORT = 5, 65535
USUAL_PORTS = {"http": "80", "https": "443"}


def mount(environ: Environ) -> None:
    """Move the path under which the service lives from `PATH_INFO` to `SCRIPT_NAME`.

    A proxy may have removed all of it, its first parts, or nothing. A second time changes nothing.
    """
    if not settings.BASE_PATH or environ.get("SCRIPT_NAME"):
        return
    environ["SCRIPT_NAME"] = settings.BASE_PATH
    if found := _start(settings.BASE_PATH).match(environ["PATH_INFO"]):
        environ["PATH_INFO"] = environ["PATH_INFO"][found.end() :] or "/"


@lru_cache(maxsize=8)
def _start(base: str) -> re.Pattern[str]:
    """Return what matches `/a/b`, and `/b`, at the start of a path."""
    pattern = ""
    for part in base[1:].split("/"):
        pattern = f"(?:{pattern})?/{re.escape(part)}"
    return re.compile(rf"{pattern}(?=/|\Z)")


def scheme_of(environ: Environ) -> str:
    """Return the scheme that the caller used; behind a trusted proxy, what the first proxy says."""
    if header := settings.SECURE_PROXY_SSL_HEADER:
        name, secure = header
        if given := environ.get(name):
            return "https" if given.partition(",")[0].strip() == secure else "http"
    return str(environ["wsgi.url_scheme"])


def host_of(environ: Environ) -> str | None:
    """Return the host as the caller wrote it, with its port if there is one, or None if it is not ours.

    A request without `Host` (HTTP/1.0) means the address that it came to.
    """
    host = environ.get("HTTP_HOST")
    if host is None:
        host = _address(environ)
    return host if _is_ours(host, tuple(settings.ALLOWED_HOSTS)) else None


def _address(environ: Environ) -> str:
    name, port = str(environ["SERVER_NAME"]), str(environ["SERVER_PORT"])
    return name if port == USUAL_PORTS[scheme_of(environ)] else f"{name}:{port}"


@lru_cache(maxsize=256)
def _is_ours(host: str, allowed: tuple[str, ...]) -> bool:
    domain, port = split_domain_port(host)
    is_port = not port or (len(port) <= PORT_DIGITS and int(port) <= LAST_PORT)
    return bool(domain) and is_port and validate_host(domain, allowed)
