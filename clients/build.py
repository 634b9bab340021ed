"""Build the clients into clients/dist: `make clients`.

The generated code is not in the repository: each build generates it again from docs/openapi.yaml, in a new folder.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from clients.tools import DESCRIPTION, HERE, ROOT, CannotInstallError, node_tools, path_with, python_tools, run

DIST = HERE / "dist"

SAME_EACH_TIME = {"SOURCE_DATE_EPOCH": "315532800"}
"""The time of the files in the wheel: 1 January 1980, the first that a zip file can have. npm uses one of its own."""


def build_python(folder: Path, tools: Path) -> Path:
    """Generate, type-check and pack the Python client in `folder`; return the wheel. A warning is an error."""
    source = _copy("python", folder)
    generator = ("openapi-python-client", "generate", "--fail-on-warning", "--path", DESCRIPTION)
    options = ("--meta", "none", "--custom-template-path", "templates", "--output-path", "petstore_client/generated")
    run(*generator, *options, cwd=source, environment=path_with(tools) | {"RUFF_NO_CACHE": "true"})
    run(tools / "python", "-m", "mypy", "--cache-dir", tools.parent / "mypy", "petstore_client", cwd=source)
    run(tools / "python", "-m", "flit_core.wheel", "--outdir", folder, cwd=source, environment=SAME_EACH_TIME)
    return next(folder.glob("*.whl"))


def build_typescript(folder: Path, modules: Path) -> Path:
    """Generate, type-check and pack the TypeScript client in `folder`; return the tarball."""
    source = _copy("typescript", folder)
    (source / "node_modules").symlink_to(modules)
    run("node_modules/.bin/openapi-typescript", DESCRIPTION, "--output", "src/schema.ts", cwd=source)
    version = json.loads((source / "package.json").read_text(encoding="utf-8"))["version"]
    (source / "src" / "version.ts").write_text(f'export const VERSION = "{version}";\n', encoding="utf-8")
    run("node_modules/.bin/tsc", cwd=source)
    run("npm", "pack", "--ignore-scripts", "--pack-destination", folder, cwd=source)
    return next(folder.glob("*.tgz"))


def _copy(client: str, folder: Path) -> Path:
    """Copy what is kept by hand, and the license, to `folder`."""
    source = shutil.copytree(HERE / client, folder / client, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(ROOT / "LICENSE", source)
    return source


def main() -> None:
    """Build both clients and print where they are."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory(prefix="petstore-clients-") as folder:
        for package in (build_python(Path(folder), python_tools()), build_typescript(Path(folder), node_tools())):
            shutil.copy(package, DIST)
            sys.stdout.write(f"{DIST.relative_to(ROOT) / package.name}\n")


if __name__ == "__main__":
    try:
        main()
    except CannotInstallError as error:
        sys.exit(f"Not built: {error}.")
