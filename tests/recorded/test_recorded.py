"""Every response is what it was when it was recorded: status, headers, bytes.

To record again after an intended change: `RECORD=1 python -m pytest tests/recorded`, then read the difference.
"""

import json
import os
import re
import runpy
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.handlers.wsgi import WSGIHandler

from tests.in_loop import AdapterFirst
from tests.recorded.requests import ORIGIN, SECRET_KEY, Sent, fill, requests
from tests.recorded.wsgi import exchange
from tests.server import ROOT

Answers = list[tuple[str, dict[str, Any]]]
"""Line and response of each request."""

RECORD = Path(__file__).with_name("responses.json")
LONGEST_TEXT = 300
SAFE = "/?&=%;[]+.:,"
VOLATILE = [
    (re.compile(r"t=[0-9]+"), "t=SECONDS"),
    (re.compile(r"^[0-9a-f]{32}$"), "REQUEST ID"),
    (re.compile(r"^[A-Z][a-z]{2}, .* GMT$"), "DATE"),
    (re.compile(r"/v1/pets/[0-9]+$"), "/v1/pets/NEW"),
    (re.compile(r'^\{"id":[0-9]+,"name":"(Rex|.{1,2} B|a{255})'), r'{"id":NEW,"name":"\1'),
]
SERVER = {"date", "server", "connection", "transfer-encoding"}
"""Headers that the server adds."""


def recorded(status: int, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Return a response as it is recorded: without what is different each time, long bodies by their hash."""
    left_out = SERVER | ({"content-length"} if status == 201 else set())  # the new ID may be longer
    lowered = {name.lower(): value for name, value in headers.items()}
    shown = {name: _steady(name, value) for name, value in lowered.items() if name not in left_out}
    text = _steady("", body.decode()) if status == 201 else body.decode()
    if len(text) > LONGEST_TEXT:
        text = f"{len(text)} characters, SHA-256 {sha256(text.encode()).hexdigest()}"
    return {"status": status, "headers": dict(sorted(shown.items())), "body": text}


def _steady(name: str, value: str) -> str:
    if name == "content-security-policy":
        return "; ".join(sorted(value.split("; ")))
    if name == "retry-after":
        return "SECONDS"
    if name in {"sunset", "etag", "link"}:
        return value
    for pattern, steady in VOLATILE:
        value = pattern.sub(steady, value)
    return value


class Browser:
    """Sends the recorded requests to a WSGI application, and keeps what came."""

    def __init__(self, keys: dict[str, str], service: Any) -> None:
        self.keys = keys
        self.service = service
        self.answers: Answers = []
        self.tags: dict[str, str] = {}
        self.link = ""

    def send_all(self) -> Answers:
        for sent in requests(self.next_page):
            path = quote(sent.path, safe=SAFE)
            status, headers, body = exchange(self.service, sent.method, path, self.headers(sent), sent.body)
            self.link = headers.get("Link", "")
            self.remember(sent.path, headers.get("ETag", ""))
            self.answers.append((sent.line, recorded(status, headers, body)))
        return self.answers

    def next_page(self) -> str:
        """Return the query of the link in the last response, empty if there is none."""
        return self.link.partition("?")[2].partition(">")[0] if 'rel="next"' in self.link else ""

    def remember(self, path: str, tag: str) -> None:
        """Keep the entity tags that conditions name."""
        name = {"/v1/pets?limit=1": "list", "/v1/pets/1000001": "pet"}.get(path)
        if name and tag:
            self.tags[name] = tag.strip('"')

    def headers(self, sent: Sent) -> dict[str, str]:
        headers = {name: value % self.tags if "%(" in value else value for name, value in sent.headers.items()}
        headers.setdefault("Host", "localhost")
        if sent.key.startswith("="):
            headers["Authorization"] = sent.key[1:]
        elif sent.key:
            headers["Authorization"] = f"Bearer {self.keys[sent.key]}"
        return headers


@pytest.fixture
def keys(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Fill a service whose cursors are signed as recorded, and which the shop's scripts can use; return its keys."""
    monkeypatch.setenv("CORS_ALLOWED_ORIGINS", ORIGIN)
    read = runpy.run_path(str(ROOT / "petstore_site" / "settings.py"))
    settings.CORS_ALLOWED_ORIGINS = read["CORS_ALLOWED_ORIGINS"]
    settings.SECRET_KEY = SECRET_KEY
    settings.ALLOWED_HOSTS = ["localhost"]
    return fill()


def test_responses_are_as_recorded(keys: dict[str, str]) -> None:
    answers = Browser(keys, WSGIHandler()).send_all()
    if os.environ.get("RECORD"):
        shared = _shared([answer["headers"] for _, answer in answers])
        _write(shared, answers)
    assert len(answers) > 300
    assert_as_recorded(answers)


def test_responses_are_the_same_in_the_event_loop(keys: dict[str, str]) -> None:
    service = AdapterFirst(WSGIHandler())
    answers = Browser(keys, service).send_all()
    assert len(answers) - service.behind > 250
    assert_as_recorded(answers)


def assert_as_recorded(answers: Answers) -> None:
    """Every response has the recorded status, headers and body."""
    kept = json.loads(RECORD.read_text())
    expected = [(line, answer | {"headers": kept["headers"] | answer["headers"]}) for line, answer in kept["responses"]]
    assert [line for line, _ in answers] == [line for line, _ in expected]
    assert list(_differences(answers, expected)) == []


def _differences(answers: Answers, expected: Answers) -> Iterator[str]:
    for (line, answer), (_, wanted) in zip(answers, expected, strict=True):
        flat, wanted_flat = ({**each.pop("headers"), **each} for each in (dict(answer), dict(wanted)))
        for name in sorted(flat.keys() | wanted_flat.keys()):
            if flat.get(name) != wanted_flat.get(name):
                yield f"{line}: {name} is {flat.get(name)!r}, was {wanted_flat.get(name)!r}"


def _shared(all_headers: list[dict[str, str]]) -> dict[str, str]:
    """Return the headers that all responses have."""
    return {
        name: value for name, value in all_headers[0].items() if all(each.get(name) == value for each in all_headers)
    }


def _write(shared: dict[str, str], answers: Answers) -> None:
    lines = [
        [line, answer | {"headers": {n: v for n, v in answer["headers"].items() if n not in shared}}]
        for line, answer in answers
    ]
    texts = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    RECORD.write_text(f'{{"headers": {json.dumps(shared)},\n"responses": [\n{texts}\n]}}\n')
