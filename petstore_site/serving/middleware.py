"""For every request, pages included: an ID, an access record, and a 503 when the database fails."""

import logging
import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from database import errors as database_errors
from history.acting import begin_request
from petstore_site import errors
from petstore_site.serving.access import observe, record_of_django
from rest.request import Route, request_of

GetResponse = Callable[[HttpRequest], HttpResponse]

logger = logging.getLogger(__name__)

REJECTED_GZIP = re.compile(r"(?i)\bgzip\s*;\s*q=0(\.0*)?(?![.\d])")


class ObservingMiddleware:
    """Give the request its ID (`X-Request-ID`), measure it, and report it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, http_request: HttpRequest) -> HttpResponse:
        """Read the request, which later layers do by `request_of`, and observe the response."""
        request = request_of(http_request.META)
        begin_request(request.id)
        response = self.get_response(http_request)
        response.headers["X-Request-ID"] = request.id
        if not request.route.name and http_request.resolver_match:
            request.route = Route(http_request.resolver_match.view_name)
        observe(record_of_django(request, response))
        return response


class CompressionMiddleware(GZipMiddleware):
    """Compress the pages of the back office (docs/decisions/0064). The portal compresses its own."""

    def process_request(self, request: HttpRequest) -> None:
        """Drop a rejected gzip (RFC 9110, section 12.4.2): Django's and WhiteNoise's own look only for the word."""
        accepted = request.META.get("HTTP_ACCEPT_ENCODING", "")
        request.META["HTTP_ACCEPT_ENCODING"] = REJECTED_GZIP.sub("", accepted)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress a page, but no download, if the browser accepts gzip."""
        is_page = isinstance(response, HttpResponse) and response.get("Content-Type", "").startswith("text/html")
        is_ours = is_page and request.path_info.startswith(errors.PEOPLE)
        return super().process_response(request, response) if is_ours else response


class DatabaseErrorMiddleware:
    """Respond with 503 and `Retry-After` while the database fails, by the table in `database_errors`.

    If the standby did not confirm the COMMIT, the response is replaced by a 503: its outcome is not known.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Begin with no COMMIT, and replace a response whose COMMIT was not confirmed."""
        database_errors.reset_commit_state()
        response = self.get_response(request)
        return errors.confirmed(request, response)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Return a response if the database failed. Return None to leave the exception to Django (500)."""
        return errors.for_exception(request, error)
