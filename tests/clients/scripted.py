"""A server that gives the responses of a script, also the ones that a good service gives rarely."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Literal, NamedTuple

Response = tuple[int, Any, dict[str, str]] | Literal["hang up", "break off", "hang", "drip"]
"""Status, body and headers; or the connection ends before the response, or within it; nothing comes, or it never ends."""


class Request(NamedTuple):
    """One request that came."""

    line: str
    authorization: str | None
    idempotency_key: str | None
    if_none_match: str | None
    user_agent: str | None
    traces: list[str | None]
    at: float


class Script:
    """What is left to send, and what came."""

    def __init__(self, responses: list[Response]) -> None:
        self.left = list(responses)
        self.requests: list[Request] = []
        self.over = Event()
        self.url = ""


@contextmanager
def scripted_server(*responses: Response) -> Iterator[Script]:
    """Send one response after the other for the block, which must ask for all of them and no more."""
    script = Script(list(responses))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            key, once, etag, program = map(
                self.headers.get, ("Authorization", "Idempotency-Key", "If-None-Match", "User-Agent")
            )
            line = f"{self.command} {self.path}"
            traces = [self.headers.get(name) for name in ("Traceparent", "Tracestate")]
            script.requests.append(Request(line, key, once, etag, program, traces, time.monotonic()))
            match script.left.pop(0):
                case "hang":
                    script.over.wait(30)
                case "drip":
                    self.respond(200, "[", {"Content-Length": "1000"})
                    while not script.over.wait(0.2):
                        self.wfile.write(b" ")
                case "break off":
                    self.respond(200, "[", {"Content-Length": "1000"})
                case (status, body, headers):
                    self.respond(status, body if isinstance(body, str) else json.dumps(body), headers)

        do_POST = do_GET  # noqa: N815 (http.server's name)

        def respond(self, status: int, body: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            usual = {"Content-Type": "application/json", "Content-Length": str(len(body.encode()))}
            for name, value in (usual | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        script.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield script
        finally:
            script.over.set()
            server.shutdown()
            thread.join()
    assert len(script.requests) == len(responses)
