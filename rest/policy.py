"""The Content-Security-Policy with its directives in one order, whatever process sends it."""

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class PolicyMiddleware(CSPMiddleware):
    """django-csp's middleware, which takes the directives out of a set."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response = super().process_response(request, response)
        if HEADER in response.headers:
            response.headers[HEADER] = "; ".join(sorted(response.headers[HEADER].split("; ")))
        return response
