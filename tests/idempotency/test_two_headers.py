"""Two `Idempotency-Key` headers, as bytes: WSGI hands them over as one."""

from collections.abc import Iterator

import pytest

from tests.conftest import error
from tests.protocol.wire import exchange, request
from tests.server import Gunicorn, running_server

MALFORMED = error("bad_request", "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters.", 400)


@pytest.fixture(scope="module")
def server() -> Iterator[Gunicorn]:
    with running_server(workers=1) as server:
        server.manage("load_demo_data")
        yield server


@pytest.fixture(scope="module")
def key(server: Gunicorn) -> str:
    return server.issue_key()


def add(server: Gunicorn, key: str, *lines: str) -> bytes:
    body = b'{"name":"Rex","categoryId":1}'
    head = [f"Authorization: Bearer {key}", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines]
    return request("/v1/pets", *head, method="POST") + body


@pytest.mark.parametrize("second", ["two", "one", "", '"two"'])
@pytest.mark.parametrize("first", ["one", "", '"one"'])
def test_two_keys_are_none(server: Gunicorn, key: str, first: str, second: str) -> None:
    (answer,) = exchange(server.port, add(server, key, f"Idempotency-Key: {first}", f"idempotency-key: {second}"))
    assert (answer.status, answer.error()) == (400, MALFORMED)


def test_a_comma_is_part_of_a_key(server: Gunicorn, key: str) -> None:
    answers = exchange(server.port, add(server, key, "Idempotency-Key: one,two") * 2)
    assert [answer.headers.get("Idempotency-Replayed") for answer in answers] == [None, "true"]
