"""The .http file of the portal runs in httpyac as it was downloaded."""

import json
from collections.abc import Iterator
from pathlib import Path

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
