"""Call the service as a server does, without one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

Exchanged = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


def exchange(application: Any, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Exchanged:
    """Return the response to one request, whose target is a path with its query."""
    path, _, query = target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
    }
    for name, value in headers.items():
        variable = name.upper().replace("-", "_")
        environ[variable if variable == "CONTENT_TYPE" else f"HTTP_{variable}"] = value
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    started: list[Any] = []
    with _connections_left_open():
        parts = application(environ, lambda *given: started.extend(given))
        sent = b"".join(parts)
        if hasattr(parts, "close"):
            parts.close()
    return int(started[0][:3]), dict(started[1]), sent


@contextmanager
def _connections_left_open() -> Iterator[None]:
    """Leave the test its transaction, as Django's test client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)
