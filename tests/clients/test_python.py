"""The Python client that openapi-python-client makes of the description, against a real service."""

import sys
from functools import partial
from pathlib import Path

import pytest

from clients.tools import DESCRIPTION, path_with, python_tools, run
from tests.clients.conftest import Service, expected_walk, or_skip, walk

CONSUMER = Path(__file__).with_name("consumer.py")

MYPY = """
[mypy]
strict = true

# The generator's own template hands *args: object to httpx's __exit__; no description changes that.
[mypy-petstore_client.client]
disable_error_code = arg-type
"""


@pytest.fixture(scope="module")
def tools() -> Path:
    with or_skip():
        return python_tools()


@pytest.fixture(scope="module")
def folder(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated package and the consumer beside it; a warning of the generator is an error."""
    folder = tmp_path_factory.mktemp("python")
    generator = ("openapi-python-client", "generate", "--fail-on-warning", "--path", DESCRIPTION)
    run(
        *generator,
        "--meta",
        "none",
        "--output-path",
        folder / "petstore_client",
        cwd=folder,
        environment=path_with(tools),
    )
    (folder / "consumer.py").write_text(CONSUMER.read_text())
    return folder


def consume(folder: Path, tools: Path, given: str) -> str:
    return run(tools / "python", "-W", "error", "consumer.py", given, cwd=folder)


def test_types_are_right_to_a_strict_checker(folder: Path, tools: Path) -> None:
    (folder / "mypy.ini").write_text(MYPY)
    options = ("--config-file=mypy.ini", "--cache-dir", folder / "cache", "--python-executable", tools / "python")
    command = (sys.executable, "-m", "mypy", *options, "petstore_client", "consumer.py")
    assert run(*command, cwd=folder).startswith("Success: no issues found")


def test_every_operation_and_every_error(folder: Path, tools: Path, service: Service) -> None:
    seen = walk(service, partial(consume, folder, tools))
    assert seen == expected_walk(service)


def test_the_largest_identifier_survives(folder: Path, tools: Path, service: Service) -> None:
    service.add_largest_pet()
    seen = consume(folder, tools, service.arguments("largest"))
    assert seen == '{"get largest": [200, null], "list largest": [200, null]}'
