"""What both start from, kept in var/debian: Debian's base, the locked packages for it, and the code as releases."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from packaging.markers import Marker
from tests.server import ROOT

from lab.trial.programs import find

SUITE = "bookworm"
FOLDER = ROOT / "var" / "debian"
WHEELS = FOLDER / "wheels"
PYTHONS = ("3.11.2", "3.13.0")
"""That of Debian, and the oldest that the image may have."""


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """Run a program and return what it printed; it must succeed."""
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def base() -> Path:
    """Return the folder with Debian's base; the first time, build it from the mirror of this machine."""
    made = FOLDER / SUITE
    if not made.exists():
        part = made.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        run(find("debootstrap"), "--variant=minbase", "--include=systemd-sysv", SUITE, part, *_mirror())
        part.rename(made)
    return made


def _mirror() -> list[str]:
    """Return the address that apt has for this suite, or nothing: debootstrap knows one."""
    indexes = run("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages").splitlines()
    return [site for site, _, suite in (line.partition(" ") for line in indexes) if suite == SUITE][:1]


def released(version: str) -> str:
    """Return the commit of a release."""
    return run("git", "log", "-1", "--format=%H", "--grep", f"^Release {version}$").strip()


def wheels(*older: str) -> Path:
    """Return the folder with the locked packages for each Python, got by pip as it is set up on this machine.

    With those of older releases, for Debian's Python.
    """
    requirements = (ROOT / "requirements/base.txt").read_text()
    wanted = [(version, requirements) for version in PYTHONS]
    wanted += [(PYTHONS[0], run("git", "show", f"{released(each)}:requirements/base.txt")) for each in older]
    for version, text in wanted:
        locked = FOLDER / "locked.txt"
        locked.write_text(_locked(version, text))
        run(
            sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:",
            "--python-version", version, "--requirement", locked, "--dest", WHEELS,
        )  # fmt: skip
    return WHEELS


def _locked(python: str, requirements: str) -> str:
    """Return what is locked for this Python, without conditions: pip would hold them against the one that runs it."""
    kept = []
    for entry in re.split(r"^(?=\w)", requirements, flags=re.MULTILINE):
        first, line_end, rest = entry.partition(" \\\n")
        package, _, condition = first.partition(" ; ")
        if not condition or Marker(condition).evaluate({"python_full_version": python}):
            kept.append(f"{package}{line_end}{rest}")
    return "".join(kept)


def releases(clone: Path, *names: str, broken: str = "", tagged: str = "") -> Path:
    """Make a repository of what is committed here, with these releases, of which a broken one can't be loaded.

    And with the tag of an old one: until 1.5 the guide uses it.
    """
    shutil.rmtree(clone, ignore_errors=True)
    run("git", "clone", "--quiet", ROOT, clone)
    if tagged:
        run("git", "tag", "--force", f"v{tagged}", released(tagged), folder=clone)
    project = clone / "pyproject.toml"
    for name in names:
        project.write_text(
            re.sub(r'^version = ".*"', f'version = "{name}"', project.read_text(), count=1, flags=re.MULTILINE)
        )
        loaded = clone / "petstore_site" / "asgi.py"
        before = loaded.read_text()
        if name == broken:
            loaded.write_text(f"{before}\nimport a_module_that_was_forgotten\n")
        git = ("git", "-c", "user.name=Lab", "-c", "user.email=lab@petstore.example")
        run(*git, "commit", "--quiet", "--all", "--message", f"Release {name}", folder=clone)
        loaded.write_text(before)
    return clone
