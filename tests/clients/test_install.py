"""The line that the portal shows for each client, typed by a newcomer with a fresh folder."""

import html
import re
import sys
from pathlib import Path

import pytest

from clients.tools import NO_NETWORK, node_tools, run
from tests.clients.conftest import or_skip
from tests.server import Gunicorn

PYTHON = """
import sys
from petstore_client import PetStore
print(sum(1 for _ in PetStore(*sys.argv[1:]).pets()))
"""
NODE = """
import { PetStore } from "petstore-client";
const [baseUrl, key] = process.argv.slice(2);
let count = 0;
for await (const _ of new PetStore({ baseUrl, key }).pets()) count++;
console.log(count);
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty virtual environment."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "venv", cwd=folder)
    return folder


@pytest.fixture
def known(server: Gunicorn) -> str:
    return server.shell("from pets.models import Pet; print(Pet.objects.count())")


def line_for(server: Gunicorn, program: str) -> list[str]:
    """Return the line of the page that begins with the program, in words."""
    page = server.send("GET", "/docs/clients/").body.decode()
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    line = re.search(rf"^.*?({program} install \S+)$", text, re.MULTILINE)
    assert line
    return line[1].replace('"', "").split()


def install(*command: str | Path, folder: Path) -> None:
    """Run the line; without a registry for what the client needs, skip the test."""
    try:
        run(*command, cwd=folder)
    except RuntimeError as error:
        if NO_NETWORK.search(str(error)):
            pytest.skip("the clients cannot be installed: no registry responds")
        raise


def test_pip_installs_the_wheel_from_the_service(server: Gunicorn, known: str, environment: Path) -> None:
    install("venv/bin/python", "-m", *line_for(server, "pip"), folder=environment)
    arguments = (f"{server.url}/v1", server.issue_key("pip"))
    assert run("venv/bin/python", "-c", PYTHON, *arguments, cwd=environment) == known


def test_pip_refuses_a_wheel_with_another_hash(server: Gunicorn, environment: Path) -> None:
    *command, url = line_for(server, "pip")
    with pytest.raises(RuntimeError, match="DO NOT MATCH THE HASHES"):
        run("venv/bin/python", "-m", *command, "--no-deps", url[:-4] + "0000", cwd=environment)


def test_npm_installs_the_tarball_from_the_service(server: Gunicorn, known: str, tmp_path: Path) -> None:
    with or_skip():
        node_tools()
    install(*line_for(server, "npm"), folder=tmp_path)
    (tmp_path / "count.mjs").write_text(NODE)
    assert run("node", "count.mjs", f"{server.url}/v1", server.issue_key("npm"), cwd=tmp_path) == known
