"""Make a release: `make release VERSION=1.2.0`, or see it first with `DRY_RUN=1`.

Everything happens in a new clone: versions, the date of the changelog, what is kept of each release, the checks, the
commit, the tag, the artefacts, and the version that follows. Only if all of it succeeds does this repository get the
commits, the tag, and `var/release/VERSION`.
"""  # noqa: INP001 - deploy/ is no package

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = "## {version} (unreleased)\n\n### API\n"
"""How the newest part of the changelog begins. Callers read what is under API, also that nothing changed."""
CHECKS = "lint test-all"
"""What `make` runs in the clone before the commit."""

VERSIONED = {
    "pyproject.toml": r'^version = "(.+)"$',
    "clients/python/pyproject.toml": r'^version = "(.+)"$',
    "clients/typescript/package.json": r'^  "version": "(.+)",$',
    "clients/typescript/package-lock.json": r'"name": "petstore-client",\n +"version": "(.+)",$',
}
"""File → where it says the version of its code, which moves on after a release."""

IMAGE = r"\bpetstore:(\d+\.\d+\.\d+)\b"

DOCUMENTED = {
    "clients/python/README.md": r"petstore_client-(.+)-py3-none-any\.whl",
    "clients/typescript/README.md": r"petstore-client-(.+)\.tgz",
    "docs/install.md": r"(?:get |VERSION=)(\d+\.\d+\.\d+)(?: && ln -sfn petstore-\1)?",
    "docs/api.md": r"The service has a version of its own, (.+): the changelog",
    "README.md": r"^Release (.+) of the service",
    "compose.yaml": IMAGE,
    "deploy/look": IMAGE,
    "deploy/kubernetes/base/jobs.yaml": IMAGE,
    "deploy/kubernetes/base/migrate.yaml": IMAGE,
    "deploy/kubernetes/base/web.yaml": IMAGE,
    "deploy/kubernetes/overlays/external-database/kustomization.yaml": r"newTag: (.+)}",
    "deploy/kubernetes/overlays/production/kustomization.yaml": r"newTag: (.+)}",
}
"""File → where it names the last release."""

SOURCES = "clients/released/SOURCES"
"""What the released clients were made of, with hashes."""


class ReleaseError(Exception):
    """Why there is no release."""


def check(folder: Path, version: str) -> None:
    """Raise `ReleaseError` unless the version can be released from a folder."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        message = f"VERSION must be like 1.2.0, not {version!r}."
        raise ReleaseError(message)
    if git(folder, "status", "--porcelain"):
        message = "The work tree has changes. Commit them, or remove them."
        raise ReleaseError(message)
    if git(folder, "tag", "--list", f"v{version}"):
        message = f"v{version} is tagged already."
        raise ReleaseError(message)
    if parts(version) < parts(present := version_of(folder)):
        message = f"{version} is older than {present}."
        raise ReleaseError(message)
    if UNRELEASED.format(version=version) not in text_of(folder / "CHANGELOG.md"):
        message = f"CHANGELOG.md has no heading '## {version} (unreleased)' with '### API' under it."
        raise ReleaseError(message)


def write(folder: Path, version: str, day: str) -> None:
    """Write the version and the day into the files of a folder."""
    _write_version(folder, VERSIONED | DOCUMENTED, version)
    changelog = folder / "CHANGELOG.md"
    heading = UNRELEASED.format(version=version)
    changelog.write_text(text_of(changelog).replace(heading, heading.replace("unreleased", day)), encoding="utf-8")


def _write_version(folder: Path, places: Mapping[str, str], version: str) -> None:
    for name, pattern in places.items():
        text = text_of(folder / name)
        for found in re.finditer(pattern, text, re.MULTILINE):
            text = text.replace(found[0], found[0].replace(found[1], as_written(name, version)))
        (folder / name).write_text(text, encoding="utf-8")


def as_written(name: str, version: str) -> str:
    """Return a version as the file writes it: `1.3.0.dev0` is `1.3.0-dev.0` to npm (semver.org)."""
    return version.replace(".dev", "-dev.") if name.endswith(".json") else version


def move_on(folder: Path, version: str) -> None:
    """Commit the version that follows a release: what is changed from here on is not the release."""
    major, minor, _ = parts(version)
    following = f"{major}.{minor + 1}.0.dev0"
    _write_version(folder, VERSIONED, following)
    git(folder, "commit", "--quiet", "--all", "--message", f"Begin {following}")


def keep(folder: Path, version: str) -> None:
    """Keep what later releases are compared with: the description, a store, and the clients that the portal serves."""
    copy(folder / "docs" / "openapi.yaml", folder / "docs" / "released" / f"openapi-{version}.yaml")
    run(folder, sys.executable, "-m", "tests.released.make", version)
    upgraded = ("-m", "pytest", "-q", "tests/test_upgrades.py", "-k", version)
    run(folder, sys.executable, *upgraded)
    run(folder, sys.executable, "tests/with_postgresql.py", sys.executable, *upgraded)
    run(folder, sys.executable, "-m", "clients.build")
    released = folder / "clients" / "released"
    for old in released.iterdir():
        old.unlink()
    copytree(folder / "clients" / "dist", released, dirs_exist_ok=True)
    (folder / SOURCES).write_text(sources(folder), encoding="utf-8")


def sources(folder: Path) -> str:
    """Return the hash and the name of each file that the clients are made of, as `sha256sum` writes them."""
    names = git(folder, "ls-files", "clients/python", "clients/typescript", "docs/openapi.yaml").splitlines()
    return "".join(f"{sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in sorted(names))


def check_clients(folder: Path) -> None:
    """Raise `ReleaseError` if the clients differ from the released ones that have the same version."""
    version = version_of(folder / "clients" / "python")
    is_released = (folder / "clients" / "released" / f"petstore_client-{version}-py3-none-any.whl").exists()
    if is_released and sources(folder) != text_of(folder / SOURCES):
        message = f"The clients differ from those that were released as {version}. Give them another version."
        raise ReleaseError(message)


def commit(folder: Path, version: str) -> None:
    """Commit the release, and tag it with its part of the changelog."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", f"Release {version}")
    git(folder, "tag", "--annotate", "--cleanup=verbatim", f"v{version}", "--message", notes(folder, version))


def notes(folder: Path, version: str) -> str:
    """Return the part of the changelog about a version."""
    found = re.search(
        rf"^## {re.escape(version)} \(.+?(?=^## |\Z)", text_of(folder / "CHANGELOG.md"), re.DOTALL | re.MULTILINE
    )
    if found is None:
        message = f"CHANGELOG.md has nothing about {version}."
        raise ReleaseError(message)
    return f"Release {version}\n\n{found[0].strip()}\n"


def artefacts(folder: Path, version: str, target: Path) -> None:
    """Write what is published: source, clients, description, SBOM and notes, with the hashes of them all."""
    target.mkdir(parents=True)
    name = f"petstore-{version}"
    git(folder, "archive", f"--prefix={name}/", f"--output={target / name}.tar.gz", f"v{version}")
    copytree(folder / "clients" / "released", target, ignore=ignore_patterns("SOURCES"), dirs_exist_ok=True)
    copy(folder / "docs" / "openapi.yaml", target)
    run(folder, "make", "--old-file=.venv/installed-dev", f"PY={sys.executable}", f"SBOM={target}", "sbom")
    (target / "NOTES.md").write_text(notes(folder, version), encoding="utf-8")
    files = sorted(target.iterdir())
    lines = [f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (target / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def release(root: Path, version: str, *, checks: list[str], is_dry_run: bool) -> None:
    """Release a version of the repository at `root`."""
    check(root, version)
    with tempfile.TemporaryDirectory(prefix="petstore-release-") as temporary:
        clone, results = Path(temporary, "petstore"), Path(temporary, "artefacts")
        run(root, "git", "clone", "--quiet", str(root), str(clone))
        write(clone, version, f"{datetime.now(UTC):%Y-%m-%d}")
        keep(clone, version)
        if checks:
            run(clone, "make", *checks)
        commit(clone, version)
        artefacts(clone, version, results)
        move_on(clone, version)
        say(git(clone, "show", "--stat=160", "--no-renames", "--format=%s", f"v{version}^{{commit}}", "HEAD"))
        say(text_of(results / "SHA256SUMS"))
        if is_dry_run:
            say("Dry run: nothing changed.")
        else:
            publish(root, version, clone, results)


def publish(root: Path, version: str, clone: Path, results: Path) -> None:
    """Take the commits, the tag and the artefacts over from the clone."""
    git(root, "fetch", "--quiet", "--no-tags", str(clone), "HEAD")
    git(root, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
    git(root, "fetch", "--quiet", str(clone), f"refs/tags/v{version}:refs/tags/v{version}")
    target = copytree(results, root / "var" / "release" / version, dirs_exist_ok=True)
    say(f"Released {version}: the tag v{version}, and {target.relative_to(root)}.")
    say("Next: git push --follow-tags")


def version_of(folder: Path) -> str:
    """Return the version that a folder has."""
    return str(tomllib.loads(text_of(folder / "pyproject.toml"))["project"]["version"])


def parts(version: str) -> list[int]:
    """Return a version as numbers, to compare; what is being developed, such as `1.3.0.dev0`, counts as `1.3.0`."""
    return [int(part) for part in version.split(".")[:3]]


def text_of(file: Path) -> str:
    """Return what a file has."""
    return file.read_text(encoding="utf-8")


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it prints."""
    return run(folder, "git", *arguments)


def run(folder: Path, *command: str) -> str:
    """Run a program and return what it prints; raise `ReleaseError` if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our words
    if done.returncode:
        message = f"{shlex.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        raise ReleaseError(message)
    return done.stdout.strip()


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and release."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="Do all of it, and keep nothing.")
    parser.add_argument("--checks", default=CHECKS, help=f"What make runs before the commit. Default: {CHECKS}")
    given = parser.parse_args(arguments)
    try:
        release(ROOT, given.version, checks=given.checks.split(), is_dry_run=given.dry_run)
    except ReleaseError as error:
        sys.exit(f"Not released. {error}")


if __name__ == "__main__":
    main()
