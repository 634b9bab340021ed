"""The files of the portal for tools run as they were downloaded: the collection in newman, the .http file in httpyac."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clients.tools import node_tools, run
from tests.clients.conftest import or_skip
from tests.clients.test_http_file import requests
from tests.server import Gunicorn, running_server

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def programs() -> Path:
    with or_skip():
        return node_tools(HERE) / ".bin"


@pytest.fixture(scope="module")
def server() -> Iterator[Gunicorn]:
    with running_server(workers=1) as server:
        server.manage("load_demo_data")
        yield server


def downloaded(server: Gunicorn, name: str, folder: Path) -> Path:
    file = folder / name
    file.write_bytes(server.send("GET", f"/docs/{name}").body)
    return file


def in_newman(programs: Path, server: Gunicorn, folder: Path, **variables: str) -> list[dict[str, Any]]:
    """Run the collection with its tests, all of which must pass, and return what was done for each request."""
    collection = downloaded(server, "petstore.postman_collection.json", folder)
    values = {"key": server.issue_key("newman")} | variables
    options = [part for name, value in values.items() for part in ("--env-var", f"{name}={value}")]
    report = folder / "report.json"
    reporter = ("--reporters", "json", "--reporter-json-export", report)
    run(programs / "newman", "run", collection, *options, *reporter, cwd=folder)
    done: list[dict[str, Any]] = json.loads(report.read_text())["run"]["executions"]
    return done


def test_newman_runs_the_collection(programs: Path, server: Gunicorn, tmp_path: Path) -> None:
    done = in_newman(programs, server, tmp_path)
    assert {one["item"]["name"]: (one["response"]["code"], len(one["assertions"])) for one in done} == {
        "List animals": (200, 4),
        "Add an animal": (201, 4),
        "Get an animal": (200, 4),
        "List categories": (200, 4),
        "Get a category": (200, 4),
        "List changes": (200, 4),
    }


def added(done: list[dict[str, Any]]) -> tuple[str, int, bool]:
    """Return what adding an animal sent and got: its Idempotency-Key, the ID, and whether it was a replay."""
    [one] = [one for one in done if one["item"]["name"] == "Add an animal"]
    sent = {header["key"]: header["value"] for header in one["request"]["header"]}
    got = {header["key"].lower() for header in one["response"]["header"]}
    body = json.loads(bytes(one["response"]["stream"]["data"]))
    return sent["Idempotency-Key"], body["id"], "idempotency-replayed" in got


def test_each_run_has_an_idempotency_key_of_its_own(programs: Path, server: Gunicorn, tmp_path: Path) -> None:
    first, second = (added(in_newman(programs, server, tmp_path)) for _ in range(2))
    assert len(first[0]) == len(second[0]) == 36
    assert first[0] != second[0]
    assert first[1] < second[1]
    assert (first[2], second[2]) == (False, False)


def test_a_fixed_idempotency_key_shows_the_replay(programs: Path, server: Gunicorn, tmp_path: Path) -> None:
    fixed = {"key": server.issue_key("fixed"), "idempotencyKey": "mine"}
    first, second = (added(in_newman(programs, server, tmp_path, **fixed)) for _ in range(2))
    assert first == ("mine", first[1], False)
    assert second == ("mine", first[1], True)


def test_httpyac_runs_the_requests(programs: Path, server: Gunicorn, tmp_path: Path) -> None:
    file = downloaded(server, "petstore.http", tmp_path)
    text = file.read_text()
    key = f"@key = {server.issue_key('httpyac')}"
    file.write_text(text.replace("@key = pets_test_…", key))
    to_a_file = ("sh", "-c", '"$0" "$@" >printed.json')  # httpyac ends before a pipe has everything
    run(*to_a_file, programs / "httpyac", "send", file, "--all", "--json", cwd=tmp_path)
    printed = json.loads((tmp_path / "printed.json").read_text())
    statuses = {one["name"]: one["response"]["statusCode"] for one in printed["requests"]}
    assert statuses == {request.name: request.status for request in requests(text)}
