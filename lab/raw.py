"""Requests that no client library would send, as bytes on a connection of their own, and the responses allowed."""

import http.client
import json
import random
import socket
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

SECONDS = 15
CLOSED = "closed"
"""The server may hang up on what is not a whole HTTP request."""

GUNICORN_REJECTS = {400, 414, 417, 431, 501}
"""What gunicorn rejects itself, with a page: behind nginx, nginx rejects it with Errors (docs/nginx.md)."""


class Target(NamedTuple):
    """Where to send to, and what a right request there needs."""

    host: str
    port: int
    path: str
    key: str
    category: int


class Verdict(NamedTuple):
    """What came back, and what is wrong with it, if anything is."""

    status: int | str
    fault: str = ""


def a_body_of_noise(dice: random.Random, target: Target) -> bytes:
    return _post(target, dice.randbytes(dice.randrange(200)))


def a_body_with_wrong_bytes(dice: random.Random, target: Target) -> bytes:
    return _post(target, _damaged(dice, _pet(target)))


def a_header_of_noise(dice: random.Random, target: Target) -> bytes:
    name = dice.choice(["Authorization", "If-None-Match", "X-Request-ID", "Accept", "Content-Type", "Idempotency-Key"])
    return _request("GET", f"{target.path}/pets", target, name.encode() + b": " + dice.randbytes(dice.randrange(40)))


def a_query_of_noise(dice: random.Random, target: Target) -> bytes:
    noise = "".join(f"%{byte:02x}" for byte in dice.randbytes(dice.randrange(1, 20)))
    return _request("GET", f"{target.path}/pets?{dice.choice(['limit', 'status', 'cursor'])}={noise}", target)


def a_request_with_wrong_bytes(dice: random.Random, target: Target) -> bytes:
    return _damaged(dice, _post(target, _pet(target)))


def noise(dice: random.Random, _target: Target) -> bytes:
    return dice.randbytes(dice.randrange(1, 400))


KINDS: list[Callable[[random.Random, Target], bytes]] = [
    a_body_of_noise,
    a_body_with_wrong_bytes,
    a_header_of_noise,
    a_query_of_noise,
    a_request_with_wrong_bytes,
    noise,
]


def _pet(target: Target) -> bytes:
    return json.dumps({"name": "Rex 🐶", "categoryId": target.category, "status": "sold"}).encode()


def _post(target: Target, body: bytes) -> bytes:
    head = b"Content-Type: application/json\r\nContent-Length: %d" % len(body)
    return _request("POST", f"{target.path}/pets", target, head) + body


def _request(method: str, path: str, target: Target, *more: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {target.host}", f"Authorization: Bearer {target.key}"]
    return b"\r\n".join([*(line.encode() for line in lines), *more, b"Connection: close", b"", b""])


def _damaged(dice: random.Random, request: bytes) -> bytes:
    damaged = bytearray(request)
    for _ in range(dice.randint(1, 4)):
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    return bytes(damaged)


def send(request: bytes, target: Target) -> Verdict:
    """Send it, close our half, and judge the first response."""
    method = request.partition(b" ")[0].decode("latin-1")
    with closing(socket.create_connection((target.host, target.port), timeout=SECONDS)) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            with closing(http.client.HTTPResponse(connection, method=method)) as answer:
                answer.begin()
                return _judge(answer.status, answer.headers["Content-Type"], answer.read(), method)
        except TimeoutError:
            return Verdict("hung", f"no response within {SECONDS} seconds")
        except (ConnectionError, http.client.BadStatusLine):
            return Verdict(CLOSED)


def _judge(status: int, content_type: str | None, body: bytes, method: str) -> Verdict:
    if content_type == "text/html" and status in GUNICORN_REJECTS:
        return Verdict(f"{status} by gunicorn")
    if status >= 500:
        return Verdict(status, f"a server error: {body!r}")
    if status < 400 or method == "HEAD":
        return Verdict(status)
    try:
        error = json.loads(body)
    except ValueError:
        return Verdict(status, f"no JSON: {body!r}")
    is_right = content_type == "application/json" and _is_error(error, status)
    return Verdict(status, "" if is_right else f"no Error: {body!r}")


def _is_error(error: object, status: int) -> bool:
    return (
        isinstance(error, dict)
        and list(error) == ["code", "message", "status"]
        and error["status"] == status
        and all(isinstance(error[name], str) and error[name] for name in ("code", "message"))
    )
