"""docs/petstore.http runs as it is: every request in it, in order, against a real service."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from clients.tools import DESCRIPTION
from tests.server import Answer, Gunicorn, running_server

FILE = Path(__file__).parent.parent.parent / "docs" / "petstore.http"
CODES = {
    "listPetsDamagedCursor": "invalid_cursor",
    "createPetInvalid": "validation_failed",
    "getPetUnknown": "pet_not_found",
    "withoutKey": "api_key_missing",
}


class Request(NamedTuple):
    """One request as the file has it, with variables; `status` is 200 unless a `# @status` line says otherwise."""

    name: str
    status: int
    method: str
    address: str
    headers: dict[str, str]
    body: str


def requests(text: str) -> Iterator[Request]:
    """Read what follows each `###`: comments, the request line, headers, an empty line, the body."""
    for block in re.split(r"^###.*\n", text, flags=re.MULTILINE)[1:]:
        notes = dict(re.findall(r"^# @(\w+) (\S+)$", block, re.MULTILINE))
        head, _, body = re.sub(r"^#.*\n", "", block, flags=re.MULTILINE).partition("\n\n")
        first, *lines = head.strip().splitlines()
        method, address = first.split()
        headers = dict(line.split(": ", 1) for line in lines)
        yield Request(notes["name"], int(notes.get("status", 200)), method, address, headers, body.strip())


def variables(text: str) -> dict[str, str]:
    """Read the lines `@name = value`."""
    return dict(re.findall(r"^@(\w+) = (\S+)$", text, re.MULTILINE))


def filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)


def send(server: Gunicorn, request: Request, values: dict[str, str]) -> Answer:
    path = filled(request.address, values).removeprefix(values["host"])
    headers = {name: filled(text, values) for name, text in request.headers.items()}
    body = filled(request.body, values).encode() or None
    return server.send(request.method, path, body=body, headers=headers)


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, Answer]]:
    """The response to each request of the file, by its name."""
    text = FILE.read_text()
    with running_server(workers=1) as server:
        server.manage("load_demo_data")
        key = server.issue_key()
        nala = server.post("/v1/pets", key, {"name": "Nala", "categoryId": 1}).json()["id"]
        given = {"host": server.url, "key": key, "categoryId": "1", "petId": str(nala)}
        assert variables(text).keys() == given.keys()
        answers: dict[str, Answer] = {}
        for request in requests(text):
            assert request.name not in answers
            answers[request.name] = send(server, request, given)
        yield answers


def test_every_request_is_answered_as_the_file_says(answers: dict[str, Answer]) -> None:
    expected = {request.name: request.status for request in requests(FILE.read_text())}
    assert {name: answer.status for name, answer in answers.items()} == expected


def test_every_operation_is_in_the_file() -> None:
    paths = yaml.safe_load(DESCRIPTION.read_text())["paths"].values()
    operations = {operation["operationId"] for path in paths for operation in path.values()}
    assert operations <= {request.name for request in requests(FILE.read_text())}


def test_rejections_have_the_code_that_the_file_is_about(answers: dict[str, Answer]) -> None:
    assert {name: json.loads(answers[name].body)["code"] for name in CODES} == CODES


def test_a_repeated_request_is_replayed(answers: dict[str, Answer]) -> None:
    first, again = answers["createPetOnce"], answers["createPetReplayed"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.body == first.body


def test_the_animal_of_the_variable_is_fetched(answers: dict[str, Answer]) -> None:
    assert answers["getPet"].json()["name"] == "Nala"


def test_only_the_same_is_not_sent_again(answers: dict[str, Answer]) -> None:
    assert answers["listPetsUnchanged"].body == b""
    assert answers["listPetsUnchanged"].headers["ETag"] == answers["listPets"].headers["ETag"]
