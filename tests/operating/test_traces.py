"""Traces: off, nothing of them is loaded; on, no value that a caller sent leaves the service."""

import gzip
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.server import ROOT, Gunicorn, manage, running_server, until

SECRETS = ("Secret name", "secret-parameter", "secret-header", "secret-agent", "secret-idempotency")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Received(NamedTuple):
    """What came to a collector: bodies by path, and the address for the service."""

    port: int
    bodies: dict[str, list[bytes]]


@contextmanager
def collector() -> Iterator[Received]:
    """Accept everything for the block."""
    bodies: dict[str, list[bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
            bodies.setdefault(self.path, []).append(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Received(server.server_port, bodies)
        server.shutdown()


@pytest.fixture(scope="module")
def received() -> Iterator[Received]:
    with collector() as received:
        yield received


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('database')}/petstore.sqlite3"
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": url}, "migrate", "--verbosity=0")
    return url


@pytest.fixture(scope="module")
def server(received: Received, database: str) -> Iterator[Gunicorn]:
    """A traced service whose table of idempotency keys lacks a column: a POST with such a key is a 500."""
    on: dict[str, Any] = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{received.port}",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with running_server(database=database, workers=1, **on) as server:
        server.command("load_demo_data")
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
            connection.execute("ALTER TABLE idempotency_idempotentrequest RENAME COLUMN fingerprint TO gone")
        yield server


def spans(received: Received) -> dict[str, Any]:
    """Return each span that came, by its name."""
    requests = [ExportTraceServiceRequest.FromString(body) for body in received.bodies.get("/v1/traces", [])]
    return {
        span.name: span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def test_a_request_is_a_part_of_the_trace_of_its_caller(server: Gunicorn, received: Received) -> None:
    key = server.issue_key()
    path = "/v1/pets?limit=1&unknown=secret-parameter"
    headers = {
        "Authorization": f"Bearer {key}",
        "traceparent": PARENT,
        "X-Other": "secret-header",
        "User-Agent": "secret-agent",
        "X-Request-ID": "one",
    }
    assert server.send("GET", path, headers=headers).status == 200
    until(lambda: "GET pet-list" in spans(received))
    request = spans(received)["GET pet-list"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    assert attributes(request) == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "http.route": "pet-list",
        "network.protocol.version": "1.1",
        "petstore.request_id": "one",
        "server.address": f"127.0.0.1:{server.port}",
        "server.port": server.port,
        "url.scheme": "http",
    }


def test_addresses_that_are_no_text_and_unknown_ones_have_their_responses(server: Gunicorn, received: Received) -> None:
    key = server.issue_key()
    sent = [
        server.send("GET", path, headers={"Authorization": f"Bearer {key}"}) for path in ("/v1/pets?a=%ff", "/v1/no")
    ]
    assert [each.status for each in sent] == [200, 404]
    until(lambda: "GET unknown-route" in spans(received))
    assert server.send("GET", "/livez").status == 200
    assert [name for name in spans(received) if "livez" in name] == []


def test_no_value_leaves_the_service(server: Gunicorn, received: Received) -> None:
    key = server.issue_key("Secret name of a key")
    headers = {"Idempotency_Key": "secret-idempotency", "X_Other": "secret-header", "X_Request_ID": "two"}
    body = {"name": "Secret name", "categoryId": 1}
    assert server.post("/v1/pets?p=secret-parameter", key, body, **headers).status == 500
    until(lambda: "POST pet-list" in spans(received))
    sent = b"".join(body for bodies in received.bodies.values() for body in bodies)
    assert [secret for secret in (*SECRETS, key, key[-38:]) if secret.encode() in sent] == []
    assert spans(received)["POST pet-list"].status.code == 2  # an error


def test_no_thread_is_there_before_the_workers_are_forked(database: str) -> None:
    """It could hold a lock at that moment, and none of a worker's threads would release it."""
    on = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    program = "import petstore_site.asgi, threading; print(threading.active_count())"
    env = {"PATH": os.environ["PATH"], "DATABASE_URL": database} | on
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize("module", ["opentelemetry.exporter", "petstore_site.serving.tracing"])
def test_what_is_off_is_not_loaded(module: str) -> None:
    code = f"import sys, petstore_site.wsgi; print([name for name in sys.modules if name.startswith({module!r})])"
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_without_its_packages_the_service_says_how_to_install_them() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None; import petstore_site.settings"
    environment = {"PATH": os.environ["PATH"], "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    said = "OTEL_EXPORTER_OTLP_ENDPOINT: needs more packages: pip install --require-hashes -r requirements/opentelemetry.txt"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"  - {said}")
