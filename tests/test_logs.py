"""One line a request, and never a secret."""

import asyncio
import io
import json
import logging
import sys
from select import PIPE_BUF
from typing import Any
from urllib.parse import quote

import pytest

from petstore_site import logs
from petstore_site.apikeys import keys
from petstore_site.apikeys.models import APIKey
from petstore_site.serving.access import AFTER_SECONDS, MOST_TOGETHER, AccessRecord, Batch, observe
from rest.request import Request
from tests.conftest import ApiClient
from tests.serving.calling import scope

SECRET = "pets_test_abcd1234" + "S" * 38
LEAKS = [
    (f"key {SECRET} was sent", "key pets_test_abcd1234*** was sent"),
    (f"Authorization: Bearer {SECRET}", "Authorization: Bearer pets_test_abcd1234***"),
    ("Authorization: bearer something-else", "Authorization: bearer ***"),
    ("postgres://keeper:hunter2@db/shop", "postgres://keeper:***@db/shop"),
    ("redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"),
    (f"postgres://keeper:p%2Fw%40x@db/shop {SECRET}", "postgres://keeper:***@db/shop pets_test_abcd1234***"),
    (f"/v1/{SECRET}%2F%0A".replace("_", "%255F"), "/v1/pets_test_abcd1234***/%0A"),
    ("a key pets%5Ftest%5F%61bcd1234SSSS", "a key pets_test_abcd1234***"),
    ("half of 100 % is 50%25", "half of 100 % is 50%25"),
    ("nothing to hide at 12:30", "nothing to hide at 12:30"),
]


def record(message: str, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("petstore", logging.INFO, "x.py", 1, message, (), None)
    made.__dict__ |= extra
    return made


@pytest.mark.parametrize(("message", "written"), LEAKS)
def test_secrets_are_redacted(message: str, written: str) -> None:
    assert json.loads(logs.JSONFormatter().format(record(message)))["message"] == written
    assert logs.TextFormatter().format(record(message)).endswith(f" {written}")


@pytest.mark.parametrize("prefix", ["pets_live_", "shop-2_", "P."])
@pytest.mark.parametrize("start", ["", "Authorization: Bearer ", "?key="])
def test_keys_with_another_prefix_too(monkeypatch: pytest.MonkeyPatch, prefix: str, start: str) -> None:
    monkeypatch.setitem(keys.PREFIXES, "production", prefix)
    monkeypatch.setattr(logs, "SECRET", keys.secret_with([prefix]))
    key = keys.generate(prefix)
    written = json.loads(logs.JSONFormatter().format(record(f"{start}{key} was sent")))["message"]
    shown = f"{key[: len(prefix) + 8]}***"
    assert written in {f"{start}{shown} was sent", "Authorization: Bearer *** was sent"}


@pytest.mark.parametrize("formatter", [logs.JSONFormatter(), logs.TextFormatter()])
def test_tracebacks_too(formatter: logging.Formatter) -> None:
    try:
        int(SECRET)
    except ValueError:
        text = formatter.format(record("failed", exc_info=sys.exc_info()))
    assert "ValueError: invalid literal for int() with base 10: 'pets_test_abcd1234***" in text
    assert SECRET not in text


def test_a_line_of_json_is_one_line(api: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.setFormatter(logs.JSONFormatter())
    api.get("/v1/nowhere%0Ainjected?api_key=hunter2", X_Request_ID="abc")
    text = caplog.text.splitlines()[0]
    line = json.loads(text)
    assert line.pop("milliseconds") > 0
    assert line.pop("time").endswith("+00:00")
    assert line.pop("message").startswith("GET /v1/nowhere\ninjected 404 route_not_found ")
    assert line == {
        "level": "INFO",
        "logger": "petstore.requests",
        "request_id": "abc",
        "method": "GET",
        "path": "/v1/nowhere\ninjected",
        "route": "unknown-route",
        "status": 404,
        "code": "route_not_found",
        "key_id": APIKey.objects.get().key_id,
    }
    made = next(line for line in caplog.records if line.name == "petstore.requests")
    assert "\n" not in logs.TextFormatter().format(made)


def asked(name: str) -> Request:
    return Request(scope("/livez", x_request_id=name))


def test_the_event_loop_logs_several_requests_later_each_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.setFormatter(logs.JSONFormatter())
    caplog.set_level(logging.INFO)

    async def observe_three() -> None:
        later = Batch()
        for name in "abc":
            later.observe(AccessRecord(asked(name), 200, 0.001))
        assert caplog.records == []
        await asyncio.sleep(20 * AFTER_SECONDS)
        later.observe(AccessRecord(asked("d"), 200, 0.001))
        await asyncio.sleep(20 * AFTER_SECONDS)

    asyncio.run(observe_three())
    lines = [json.loads(line) for line in caplog.text.splitlines()]
    assert [line["request_id"] for line in lines if line["logger"] == "petstore.requests"] == ["a", "b", "c", "d"]


def test_many_requests_are_logged_at_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.handler.setFormatter(logs.JSONFormatter())
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("petstore_site.serving.access.AFTER_SECONDS", 60)
    names = [f"{number}" for number in range(MOST_TOGETHER + 4)]

    async def observe_many() -> None:
        batch = Batch()
        for name in names:
            batch.observe(AccessRecord(asked(name), 200, 0.001))
        await asyncio.sleep(0)

    asyncio.run(observe_many())
    lines = [json.loads(line) for line in caplog.text.splitlines()]
    assert [line["request_id"] for line in lines if line["logger"] == "petstore.requests"] == names


class Writes(io.StringIO):
    """A stream that keeps what is written at once."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def write(self, text: str, /) -> int:
        self.parts.append(text)
        return super().write(text)


@pytest.mark.parametrize("formatter", [logs.JSONFormatter(), logs.TextFormatter()])
def test_lines_of_requests_are_written_at_once_but_not_more_than_a_pipe_takes_whole(
    formatter: logging.Formatter,
) -> None:
    """Workers share it: what is longer could have lines of others in it."""
    handler, stream = logs.LinesHandler(), Writes()
    handler.setStream(stream)
    handler.setFormatter(formatter)
    logger = logging.getLogger("petstore.requests")
    logger.addHandler(handler)
    names = [f"{number:02}" + "é" * length for number, length in enumerate([3] * 5 + [900, 300, 900] + [3] * 5)]
    made = [AccessRecord(Request(scope(f"/v1/pets/{quote(name)}")), 404, 0.001) for name in names]
    try:
        observe(*made[:2])
        observe(*made)
    finally:
        logger.removeHandler(handler)
        handler.close()
    assert stream.parts[0].count("\n") == 2
    assert 1 < len(stream.parts[1:]) < len(names)
    assert max(len(part.encode()) for part in stream.parts) <= PIPE_BUF
    lines = stream.getvalue().splitlines()
    assert [name in line for name, line in zip([*names[:2], *names], lines, strict=True)] == [True] * 15


def test_one_secret_among_lines_is_redacted_in_its_own(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.setFormatter(logs.JSONFormatter())
    observe(*[AccessRecord(Request(scope(path)), 404, 0.001) for path in ("/a", f"/{SECRET}", "/b")])
    assert [json.loads(line)["path"] for line in caplog.text.splitlines()] == ["/a", "/pets_test_abcd1234***", "/b"]


def test_no_line_is_lost_for_what_it_holds() -> None:
    line = json.loads(logs.JSONFormatter().format(record("", lines=[{"message": "a\udc80b", "id": 2**70, "at": ()}])))
    assert (line["message"], line["id"], line["at"]) == ("a\udc80b", 2**70, [])


def test_what_is_logged_after_a_request_is_not_taken_for_it(api: ApiClient) -> None:
    api.get("/v1/pets", X_Request_ID="abc")
    assert json.loads(logs.JSONFormatter().format(record("idle")))["request_id"] == "-"


def test_a_key_in_the_wrong_place_is_not_logged(api: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.setFormatter(logs.TextFormatter())
    api.get(f"/v1/pets/{api.key}")
    api.get(f"/v1/pets?api_key={api.key}", X_Request_ID=str(api.key))
    assert str(api.key) not in caplog.text
    assert str(api.key)[:18] in caplog.text
