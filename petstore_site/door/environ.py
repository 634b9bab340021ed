"""Convert an ASGI request into the environ of WSGI (PEP 3333), as gunicorn's WSGI workers make it."""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from rest.hosts import Environ, mount

Scope = Mapping[str, Any]

UNREADABLE_KEY = "sent twice"
"""What two `Idempotency-Key` headers become: joined by a comma, they would be a valid key (docs/decisions/0001)."""

ENCODED_SLASH = re.compile(rb"%2f", re.IGNORECASE)
"""Part of a name, which separates nothing (RFC 3986, section 2.2). In `PATH_INFO` it stays encoded."""


def environ_of(scope: Scope) -> Environ:
    """Return the environ of a request without its body. Repeated headers are joined by commas."""
    server, client = scope["server"] or ("", 0), scope["client"] or ("", 0)
    path = scope["raw_path"]
    if b"%" in path:
        path = unquote_to_bytes(ENCODED_SLASH.sub(b"%252F", path))
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": path.decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": client[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for field, value in scope["headers"]:
        name, text = _variable(field), value.decode("latin-1")
        if name not in environ:
            environ[name] = text
        elif name == "HTTP_IDEMPOTENCY_KEY":
            environ[name] = UNREADABLE_KEY
        else:
            environ[name] += f",{text}"
    mount(environ)
    return environ


@lru_cache(maxsize=256)
def _variable(field: bytes) -> str:
    name = field.decode("latin-1").upper().replace("-", "_")
    return name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"
