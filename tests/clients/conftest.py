"""What tests of the clients need of a machine."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clients.tools import CannotInstallError, run
from tests.server import Gunicorn, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[Gunicorn]:
    """The service with a demonstration catalogue."""
    with running_server(workers=1) as server:
        server.command("load_demo_data")
        yield server


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test if the tools that the block asks for cannot be installed."""
    try:
        yield
    except CannotInstallError as reason:
        pytest.skip(str(reason))


WITHOUT_TYPES = """
const { readFileSync, writeFileSync } = require("node:fs"), { transpileModule } = require("typescript");
for (const file of process.argv.slice(1)) {
  const text = readFileSync(file, "utf8"), compilerOptions = { target: "ES2022", module: "ES2022" };
  writeFileSync(file.replace(".ts", ".js"), transpileModule(text, { compilerOptions }).outputText);
}
"""


def without_types(folder: Path) -> None:
    """Make JavaScript of the TypeScript in a folder. To check its types takes ten times as long."""
    run("node", "--eval", WITHOUT_TYPES, *(path.name for path in folder.glob("*.ts")), cwd=folder)


def package(factory: pytest.TempPathFactory, build: Callable[[Path, Path], Path], tools: Path) -> Path:
    """Return the package of a client, which one process of pytest-xdist builds for all."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / f"{build.__name__}.txt").open("a+") as built:
        fcntl.flock(built, fcntl.LOCK_EX)
        built.seek(0)
        if not (file := built.read()):
            (folder / build.__name__).mkdir()
            file = str(build(folder / build.__name__, tools))
            built.write(file)
    return Path(file)
