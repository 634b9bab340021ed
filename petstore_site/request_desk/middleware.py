"""Record the requests that support may be asked about."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.permissions import SAFE_METHODS

from history.acting import acting
from petstore_site.apikeys.routes import route_of
from petstore_site.request_desk import records
from petstore_site.request_desk.models import LONGEST_MESSAGE
from petstore_site.request_desk.records import Record


class RequestRecordMiddleware:
    """Record errors and writes under /v1. Placed outside every layer that can reject a request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Wrap every layer except the one that sets the request ID."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on, then record it."""
        started = time.perf_counter()
        response = self.get_response(request)
        if f"{request.path_info}/".startswith("/v1/") and _is_asked_about(request, response):
            records.note(_record(request, response, seconds=time.perf_counter() - started))
        return response


def _is_asked_about(request: HttpRequest, response: HttpResponse) -> bool:
    return response.status_code >= 400 or request.method not in SAFE_METHODS


def _record(request: HttpRequest, response: HttpResponse, *, seconds: float) -> Record:
    key = getattr(request, "known_key", None)  # also an expired or revoked one
    return Record(
        request_id=acting().request_id,
        key=key and key.pk,
        at=timezone.now(),
        method=request.method or "",
        route=route_of(request),
        status=response.status_code,
        code=getattr(response, "error_code", ""),
        message=getattr(response, "error_message", "")[:LONGEST_MESSAGE],
        milliseconds=round(seconds * 1000),
    )
