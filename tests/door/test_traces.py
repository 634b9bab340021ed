"""Traces of the event loop and of the threads behind it."""

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.db.backends.signals import connection_created
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from petstore_site.apikeys.models import APIKey
from petstore_site.door import tracing
from rest.request import DjangoRequest
from tests.door.calling import Got, ask, scope
from tests.factories import PetFactory

pytestmark = pytest.mark.django_db(transaction=True)

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[InMemorySpanExporter]:
    settings.ALLOWED_HOSTS = ["localhost"]
    settings.API_IN_EVENT_LOOP = True
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "tracer", lambda: provider.get_tracer("petstore"))
    if connection.vendor == "postgresql":
        from petstore_site.door.postgresql import Connections  # noqa: PLC0415 - it is for PostgreSQL

        monkeypatch.setattr(Connections, "connection_class", Connections.connection_class)
    yield exporter
    connection_created.disconnect(tracing.trace_statements)
    connection.close()


def in_a_thread(environ: Any, start_response: Any) -> Any:
    handler = WSGIHandler()
    handler.request_class = DjangoRequest
    response = handler(environ, start_response)
    connection.close()
    return response


def sent(path: str, *more: tuple[str, bytes | None], **headers: str) -> Got:
    """Return the response of a traced door, whose connections end with it."""

    async def send() -> Got:
        door = tracing.TracedDoor(in_a_thread, 2)
        got = await ask(door, scope(path, **headers))
        driver: Any = door._adapter and door._adapter._driver
        for name in ("_for_keys", "_to_read", "_to_write"):
            for each in getattr(getattr(driver, name, None), "_idle", ()):
                await each.close()
        return got

    got = asyncio.run(send())
    gc.collect()  # the connections of the threads that ended: Python 3.13 warns of each
    return got


def shown(span: ReadableSpan, request: ReadableSpan) -> tuple[Any, ...]:
    """Return what is below the request: its name, whether it is its child, its status and its text."""
    text = str((span.attributes or {})["db.query.text"])
    is_child = span.parent is not None and span.parent.span_id == request.context.span_id
    return span.name, is_child, span.status.is_ok or span.status.is_unset, text.split(maxsplit=1)[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("in_thread", [False, True], ids=["in the loop", "in a thread"])
def test_a_request_and_its_statements_are_one_trace(
    exported: InMemorySpanExporter, settings: Any, *, in_thread: bool
) -> None:
    settings.API_IN_EVENT_LOOP = not in_thread
    pet, key = PetFactory(), APIKey.objects.issue(name="Shop")[1]
    connection.close()
    got = sent(f"/v1/pets/{pet.pk}", authorization=f"Bearer {key}", traceparent=PARENT, x_request_id="one")
    assert (got.status, json.loads(got.body)["id"]) == (200, pet.pk)
    *statements, request = exported.get_finished_spans()
    assert (request.name, dict(request.attributes or {})) == (
        "GET pet-detail",
        {
            "http.request.method": "GET",
            "http.route": "pet-detail",
            "http.response.status_code": 200,
            "petstore.request_id": "one",
        },
    )
    assert f"{request.context.trace_id:032x}" == PARENT.split("-")[1]
    assert request.parent
    assert f"{request.parent.span_id:016x}" == PARENT.split("-")[2]
    of_request = [span for span in statements if str((span.attributes or {})["db.query.text"]).split()[0] == "SELECT"]
    assert [shown(span, request) for span in of_request] == [
        ("SELECT", True, True, "SELECT")
    ] * 2  # the key, the animal
    assert {str((span.attributes or {})["db.system.name"]) for span in of_request} == {connection.vendor}


def test_a_request_that_the_event_loop_leaves_to_a_thread_has_one_span(
    exported: InMemorySpanExporter, settings: Any
) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["https://shop.example"]
    key = APIKey.objects.issue(name="Shop")[1]
    connection.close()
    got = sent("/v1/pets/1", authorization=f"Bearer {key}", origin="https://shop.example")
    assert got.status == 404
    assert [span.name for span in exported.get_finished_spans() if span.name != "SELECT"][-1:] == ["GET pet-detail"]
    assert [span.name for span in exported.get_finished_spans()].count("GET pet-detail") == 1


def test_probes_and_unknown_addresses(exported: InMemorySpanExporter) -> None:
    assert [sent(path).status for path in ("/livez", "/readyz", "/v1/nowhere")] == [200, 200, 401]
    assert [span.name for span in exported.get_finished_spans() if span.name.startswith("GET")] == ["GET unknown-route"]


def test_a_statement_that_fails_says_so_without_its_message(exported: InMemorySpanExporter) -> None:
    """A message of PostgreSQL has the values that a constraint is about."""

    def fails(*_: Any) -> None:
        message = "DETAIL: Key (name)=(Secret) already exists."
        raise RuntimeError(message)

    with tracing._span("GET", SpanKind.SERVER), pytest.raises(RuntimeError):
        tracing._traced(fails, "INSERT INTO a", {}, False, {"connection": connection})  # noqa: FBT003
    insert, _request = exported.get_finished_spans()
    assert (insert.name, insert.status.is_ok, insert.status.description, insert.events) == ("INSERT", False, None, ())
