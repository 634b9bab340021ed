"""Traces for OpenTelemetry, if OTEL_EXPORTER_OTLP_ENDPOINT asks for them: a span for each request.

Its own instrumentation of ASGI makes them. It would send addresses, headers and parameters too, so it is shown a scope
without them.
"""

import os
from functools import cached_property
from typing import Any

from django.conf import settings
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import get_current_span

from petstore_site.serving.door import Door, Receive, Send
from petstore_site.serving.metrics import METHODS
from rest.request import Request, Scope

SHOWN = ("type", "method", "scheme", "http_version", "server")
CALLER = {b"traceparent", b"tracestate"}
os.environ.setdefault("OTEL_SEMCONV_STABILITY_OPT_IN", "http")  # else attributes have names that are deprecated


class TracedDoor(Door):
    """Makes a span of each request but the probes, a part of the caller's trace if it sends `traceparent`."""

    @cached_property
    def _traced(self) -> OpenTelemetryMiddleware:
        """What makes the spans. Sending them takes a thread, so it starts with the first request, after all forks."""
        ours = {"service.name": "petstore", "deployment.environment.name": settings.PETSTORE_ENVIRONMENT}
        provider = TracerProvider(resource=Resource.create(ours).merge(OTELResourceDetector().detect()))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return OpenTelemetryMiddleware(self._in_span, tracer_provider=provider, exclude_spans=["receive", "send"])

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        request = Request(scope)
        if request.path in {"/livez", "/readyz"}:
            await self.respond(request, receive, send)
            return
        shown: dict[str, Any] = {name: scope[name] for name in SHOWN if name in scope}
        headers = [pair for pair in scope["headers"] if pair[0] in CALLER]
        await self._traced(shown | {"path": "", "headers": headers, "request": request}, receive, send)

    async def _in_span(self, shown: Scope, receive: Receive, send: Send) -> None:
        """Name the span by the route, which is known when the response begins. It ends with the response."""
        request: Request = shown["request"]

        async def send_and_name(message: dict[str, Any]) -> None:
            if "status" in message:
                span, route = get_current_span(), request.route.name or "none"
                span.update_name(f"{request.method if request.method in METHODS else '_OTHER'} {route}")
                span.set_attributes({"http.route": route, "petstore.request_id": request.id})
            await send(message)

        await self.respond(request, receive, send_and_name)
