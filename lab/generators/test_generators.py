"""Tools of other people read our description: linters without a warning, generators whose clients type-check and run.

The clients of openapi-python-client and openapi-typescript, on which ours are built, are tested in `tests/clients`.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clients.tools import DESCRIPTION, ROOT, node_tools, python_tools, run
from tests.clients.conftest import or_skip
from tests.server import Gunicorn, running_server
from tests.whole import shown

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def modules() -> Path:
    with or_skip():
        return node_tools(HERE)


@pytest.fixture(scope="module")
def python() -> Path:
    with or_skip():
        return python_tools(ROOT / "lab" / "requirements" / "generators.txt", ROOT / ".venv-generators")


@pytest.fixture(scope="module")
def server() -> Iterator[Gunicorn]:
    with running_server(workers=1) as server:
        server.manage("load_demo_data")
        yield server


@pytest.fixture
def check(server: Gunicorn) -> Callable[[str], None]:
    """Compare what a walk printed with what the service has."""

    def check(printed: str) -> None:
        key = server.issue_key("Reader")
        seen: dict[str, Any] = json.loads(printed)
        rows = "list(Pet.objects.order_by('-pk').values_list('pk', flat=True))"
        known = json.loads(server.manage("shell", "--verbosity=0", "-c", f"from pets.models import Pet; print({rows})"))
        pet = shown(id=known[0], name="Señor 🐶", categoryId=1)
        assert seen == {"ids": known[1:], "added": pet, "found": pet}
        assert server.get("/v1/pets?limit=1", key).json() == [pet]

    return check


def test_spectral_has_nothing_to_say(modules: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("extends: ['spectral:oas']")
    options = ("--ruleset", tmp_path / "rules.yaml", "--fail-severity", "hint")
    run(modules / ".bin" / "spectral", "lint", *options, DESCRIPTION, cwd=tmp_path)


def test_redocly_has_nothing_to_say(modules: Path, tmp_path: Path) -> None:
    options = ("--extends", "recommended", "--format", "json", "--max-problems", "100")
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    printed = run(modules / ".bin" / "redocly", "lint", DESCRIPTION, *options, cwd=tmp_path, environment=quiet)
    assert json.loads(printed)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_the_client_of_orval_with_zod(
    modules: Path, server: Gunicorn, check: Callable[[str], None], tmp_path: Path
) -> None:
    for name in ("orval.config.mjs", "package.json", "tsconfig.json", "walk.ts"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(modules)
    told = {"DESCRIPTION": str(DESCRIPTION), "BASE": f"{server.url}/v1"}
    run("node_modules/.bin/orval", "--config", "orval.config.mjs", cwd=tmp_path, environment=told)
    run("node_modules/.bin/tsc", cwd=tmp_path)
    check(run("node", "walk.js", server.issue_key("orval"), "1", cwd=tmp_path))


def test_the_models_of_datamodel_code_generator(
    python: Path, server: Gunicorn, check: Callable[[str], None], tmp_path: Path
) -> None:
    shutil.copy(HERE / "walk.py", tmp_path)
    kind = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--use-annotated")
    run(python / "datamodel-codegen", "--input", DESCRIPTION, *kind, "--output", "models.py", cwd=tmp_path)
    run(python / "python", "-m", "mypy", "--strict", "--cache-dir", os.devnull, "walk.py", "models.py", cwd=tmp_path)
    arguments = (f"{server.url}/v1", server.issue_key("datamodel"), "1")
    check(run(python / "python", "-W", "error", "walk.py", *arguments, cwd=tmp_path))
