"""The request that Django sees."""

from typing import Any

from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.utils.http import parse_header_parameters

from rest.hosts import Environ, host_of, mount, scheme_of


class Request(WSGIRequest):
    """A request whose host and scheme are read as by the event loop (`rest/hosts.py`).

    Its Content-Type is only a header: it decides no charset, and a malformed one is none.
    """

    def __init__(self, environ: Environ) -> None:
        """Read the environ of WSGI."""
        mount(environ)
        super().__init__(environ)

    @property
    def scheme(self) -> str:
        """Return `http` or `https`."""
        return scheme_of(self.META)

    def get_host(self) -> str:
        """Return the host as the caller wrote it; raises `DisallowedHost` if it is not ours."""
        host = host_of(self.META)
        if host is None:
            raise DisallowedHost
        return host

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (LookupError, ValueError):
            self.content_type, self.content_params = "", {}
