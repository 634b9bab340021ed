"""The changes in docs/examples/ apply to the code, do what they say, and pass the fast tests, in a year and in six weeks.

So none of the fast tests knows today's date, and all of them pass on the next Django too, if it is installed (`make django61`).
A year and a month ahead is a nearer day of the year too: a span of days goes over its end at other times than today.

"Run:" in an example is a command that finishes it, "Check:" names slow tests that it changes or adds.
If one no longer applies, run `git apply --3way docs/examples/NAME.patch`, fix it, and replace its diff by that of `git diff`.
"""

import faulthandler
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.server import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.patch"))
ALONE = ("patch",)
"""Those that do not apply after the others. They change the API."""

OF_THE_API = tuple(f"tests/{folder}" for folder in ("api", "contract", "serving", "portal", "recorded"))

APPLY = ("git", "apply", "--recount", "-C1")
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
FAST = (*PYTEST, "-n", "auto", "-m", "not slow")
NEXT_DJANGO = ROOT / ".venv-django61"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_each_applies_alone(example: Path) -> None:
    done(ROOT, *APPLY, "--check", str(example))


@pytest.mark.skipif(not shutil.which("cc"), reason="cc is not installed")
@pytest.mark.parametrize(("alone", "days"), [(None, 400), *((name, 45) for name in ALONE)], ids=["most", *ALONE])
def test_they_work_and_pass_the_fast_tests_on_another_day(tmp_path: Path, alone: str | None, days: int) -> None:
    """Most are tried at once, one applied after another, with all fast tests in a year on the next Django.

    One alone is tried in six weeks with its own, and those of the API.
    """
    faulthandler.cancel_dump_traceback_later()  # each command has its time, longer than that of a test
    tree = copied(tmp_path / "tree")
    done(tmp_path, "cc", "-shared", "-fPIC", "-o", "clock.so", str(ROOT / "tests" / "clock.c"))
    ahead = {"LD_PRELOAD": str(tmp_path / "clock.so"), "DAYS_AHEAD": str(days)}
    taken = [each for each in EXAMPLES if (each.stem == alone if alone else each.stem not in ALONE)]
    for example in taken:
        done(tree, *APPLY, str(example))
    texts = "\n".join(example.read_text(encoding="utf-8").partition("\ndiff --git ")[0] for example in taken)
    for command in dict.fromkeys(re.findall(r"^Run: (.+)$", texts, re.MULTILINE)):
        done(tree, *command.split())
    done(tree, "git", "add", "--all", ":!.venv")
    done(tree, "python", "-m", "ruff", "check", "--no-cache", "--exclude=migrations")
    own = re.findall(r"^\+\+\+ b/(tests/\S*test_\w+\.py)$", "".join(map(Path.read_text, taken)), re.MULTILINE)
    has_next = (NEXT_DJANGO / "installed").exists()
    if alone or has_next:
        done(tree, "python", *FAST, *(OF_THE_API if alone else ()), *own, **ahead)
    if not alone:
        done(tree, str(NEXT_DJANGO / "bin" / "python") if has_next else "python", *FAST, **ahead)
    for slow_tests in re.findall(r"^Check: (.+)$", texts, re.MULTILINE):
        done(tree, "python", *PYTEST, *slow_tests.split())


def copied(folder: Path) -> Path:
    """Return a copy of the tree, with what is not committed yet, and with the libraries of this one."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    done(folder, "git", "init", "--quiet")
    return folder


def done(folder: Path, *command: str, **variables: str) -> None:
    kept = {"HOME": os.environ.get("HOME", ""), "PATH": f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}"}
    ended = subprocess.run(
        command, cwd=folder, env=kept | variables, capture_output=True, text=True, timeout=2_400, check=False
    )
    assert ended.returncode == 0, f"{folder.name}: {command}\n{ended.stdout}{ended.stderr}"


def test_contributing_names_each_example() -> None:
    named = re.findall(r"\(docs/examples/([\w-]+)\.patch\)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert sorted(named) == [example.stem for example in EXAMPLES]
