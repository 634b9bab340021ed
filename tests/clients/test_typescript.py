"""The TypeScript client of openapi-typescript and openapi-fetch, against a real service."""

from functools import partial
from pathlib import Path

import pytest

from clients.tools import DESCRIPTION, node_tools, run
from tests.clients.conftest import Service, expected_walk, or_skip, walk


@pytest.fixture(scope="module")
def modules() -> Path:
    with or_skip():
        return node_tools()


@pytest.fixture(scope="module")
def folder(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated types and the consumer beside them."""
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(modules)
    (folder / "package.json").write_text('{"type": "module"}')
    for name in ("tsconfig.json", "consumer.ts"):
        (folder / name).write_text(Path(__file__).with_name(name).read_text())
    generator = ("node_modules/.bin/openapi-typescript", DESCRIPTION, "--output", "petstore.ts")
    run(*generator, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def compiled(folder: Path) -> Path:
    """The folder, once the checker has nothing to say (`noEmitOnError`) and the JavaScript is written."""
    run("node_modules/.bin/tsc", "--strict", "--project", "tsconfig.json", cwd=folder)
    return folder


def consume(folder: Path, given: str) -> str:
    return run("node", "consumer.js", given, cwd=folder)


def test_types_are_right_to_the_strict_compiler(compiled: Path) -> None:
    assert (compiled / "consumer.js").exists()


def test_every_operation_and_every_error(compiled: Path, service: Service) -> None:
    assert walk(service, partial(consume, compiled)) == expected_walk(service)


def test_the_largest_identifier_survives_as_digits_only(compiled: Path, service: Service) -> None:
    """The consumer shows both: what JSON.parse does to an identifier over 2^53, and what is safe."""
    service.add_largest_pet()
    seen = consume(compiled, service.arguments("largest"))
    assert seen == '{"get largest":[200,null],"list largest":[200,null]}'
