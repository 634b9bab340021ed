"""Traces for OpenTelemetry, if OTEL_EXPORTER_OTLP_ENDPOINT asks for them: a span for each request and each statement.

They name routes and have the text of statements. They never have addresses, headers, bodies or parameters.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from petstore_site.requests.metrics import METHODS


@cache
def tracer() -> Tracer:
    """Return what makes spans. Sending them takes a thread, so it starts with the first request, after all forks."""
    ours = {"service.name": "petstore", "deployment.environment.name": settings.PETSTORE_ENVIRONMENT}
    provider = TracerProvider(resource=Resource.create(ours).merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("petstore")


class TracingMiddleware:
    """Make a span of each request, a part of the caller's trace if it sends `traceparent`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        connection_created.connect(trace_statements)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Name the span by the route once it is known."""
        caller = TraceContextTextMapPropagator().extract(request.headers)
        method = request.method if request.method in METHODS else "_OTHER"
        with tracer().start_as_current_span(str(method), caller, SpanKind.SERVER, record_exception=False) as span:
            response = self.get_response(request)
            route = request.resolver_match.view_name if request.resolver_match else "none"
            span.update_name(f"{method} {route}")
            span.set_attribute("http.request.method", str(method))
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", response.status_code)
            span.set_attribute("petstore.request_id", request.META["HTTP_X_REQUEST_ID"])
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response


def trace_statements(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Receive `connection_created`."""
    if _traced not in connection.execute_wrappers:
        connection.execute_wrappers.append(_traced)


def _traced(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - Django's call
    if not get_current_span().is_recording():
        return execute(sql, params, many, context)
    attributes = {"db.system.name": context["connection"].vendor, "db.query.text": sql}
    name = sql.split(None, 1)[0].upper()
    with tracer().start_as_current_span(name, kind=SpanKind.CLIENT, attributes=attributes, record_exception=False):
        return execute(sql, params, many, context)
