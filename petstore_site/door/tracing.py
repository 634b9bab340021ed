"""Traces for OpenTelemetry, if OTEL_EXPORTER_OTLP_ENDPOINT asks for them: a span for each request and each statement.

They name routes and have the text of statements. They never have addresses, headers, bodies, parameters or messages of
errors.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from database.statements import Row, Statement
from petstore_site.door.door import Door, Receive, Send
from petstore_site.door.threads import Application
from petstore_site.requests.metrics import METHODS
from rest.request import REQUEST, Environ, Request


@cache
def tracer() -> Tracer:
    """Return what makes spans. Sending them takes a thread, so it starts with the first request, after all forks."""
    ours = {"service.name": "petstore", "deployment.environment.name": settings.PETSTORE_ENVIRONMENT}
    provider = TracerProvider(resource=Resource.create(ours).merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("petstore")


class TracedDoor(Door):
    """Makes a span of each request but the probes, a part of the caller's trace if it sends `traceparent`."""

    def __init__(self, application: Application, threads: int) -> None:
        """Trace the statements too: those of threads, and those of the event loop."""
        super().__init__(_in_trace(application), threads)
        connection_created.connect(trace_statements)
        if connection.vendor == "postgresql":
            _trace_event_loop()

    async def respond(self, request: Request, receive: Receive, send: Send) -> None:
        """Name the span by the route once it is known."""
        if request.path in {"/livez", "/readyz"}:
            await super().respond(request, receive, send)
            return
        caller = TraceContextTextMapPropagator().extract(request.headers)
        method = request.method if request.method in METHODS else "_OTHER"
        with _span(method, SpanKind.SERVER, caller) as span:
            request.trace = get_current()

            async def send_and_note(message: dict[str, Any]) -> None:
                if status := message.get("status"):
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        span.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await super().respond(request, receive, send_and_note)
            finally:
                route = request.route.name or "none"
                span.update_name(f"{method} {route}")
                span.set_attributes(
                    {"http.request.method": method, "http.route": route, "petstore.request_id": request.id}
                )


def _in_trace(application: Application) -> Application:
    """Return the application as a part of the request's trace. Its thread has no other context of the event loop."""

    def call(environ: Environ, start_response: Any) -> Iterable[bytes]:
        token = attach(environ[REQUEST].trace)
        try:
            return application(environ, start_response)
        finally:
            detach(token)

    return call


def trace_statements(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Receive `connection_created`."""
    if _traced not in connection.execute_wrappers:
        connection.execute_wrappers.append(_traced)


def _trace_event_loop() -> None:
    from petstore_site.door import postgresql  # noqa: PLC0415 - with SQLite, psycopg is never loaded

    class TracedConnection(postgresql.Connection):
        async def rows(self, statement: Statement) -> list[Row]:
            with _statement_span("postgresql", statement.sql):
                return await super().rows(statement)

    postgresql.Connections.connection_class = TracedConnection


def _traced(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - Django's call
    if not get_current_span().is_recording():
        return execute(sql, params, many, context)
    with _statement_span(context["connection"].vendor, sql):
        return execute(sql, params, many, context)


@contextmanager
def _statement_span(vendor: str, sql: str) -> Iterator[None]:
    attributes = {"db.system.name": vendor, "db.query.text": sql}
    with _span(sql.split(None, 1)[0].upper(), SpanKind.CLIENT, attributes=attributes):
        yield


@contextmanager
def _span(
    name: str, kind: SpanKind, context: Context | None = None, attributes: dict[str, str] | None = None
) -> Iterator[Span]:
    """Make a span. Of an error it has only that there was one: its message can have values."""
    with tracer().start_as_current_span(
        name, context, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException:
            span.set_status(StatusCode.ERROR)
            raise
