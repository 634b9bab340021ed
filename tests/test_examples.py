"""The changes in docs/examples/ apply to the code, and do what they say.

If one no longer applies, run `git apply --3way docs/examples/NAME.patch`, fix it, and replace its diff by that of `git diff`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.patch"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the tree, with what is not committed yet."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_change_applies_and_works(copy: Path, example: Path) -> None:
    text = example.read_text(encoding="utf-8").partition("\ndiff --git ")[0]
    migrations = re.findall(r"^Run: python (manage\.py makemigrations .+)$", text, re.MULTILINE)
    [tests] = re.findall(r"^Check: (.+)$", text, re.MULTILINE)
    run(copy, "git", "apply", "--recount", "-C1", str(example))
    for command in migrations:
        run(copy, sys.executable, *command.split())
    run(copy, sys.executable, "-m", "ruff", "check", "--no-cache", "--exclude=migrations")
    run(copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests.split())


def run(folder: Path, *command: str) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_contributing_names_each_example() -> None:
    named = re.findall(r"\(docs/examples/([\w-]+)\.patch\)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert sorted(named) == [example.stem for example in EXAMPLES]
