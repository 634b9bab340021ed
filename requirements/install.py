"""Install a lock into a virtual environment, by hash: `python3 requirements/install.py FOLDER LOCK`.

It says how far pip is, a line for each package, and starts over after an interrupted install, or if the environment's
Python is gone. Needs Python 3.11 or newer, nothing else.
"""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def main(folder: Path, lock: Path) -> int:
    """Install, and return pip's exit status."""
    unfinished, python = folder / "unfinished", folder / "bin" / "python"
    if unfinished.exists() and _runs(unfinished.read_text(encoding="utf-8")):
        sys.exit(f"Another make is installing into {folder}. Wait for it, or remove {folder}.")
    if unfinished.exists() or not _has_pip(python):
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(str(os.getpid()), encoding="utf-8")
    if not python.exists():
        try:
            import ensurepip  # noqa: F401, PLC0415 - Debian has it in a package of its own
        except ImportError:
            sys.exit(f"{sys.executable} has no venv. On Debian, run: apt-get install python3-venv")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    status = _install(python, lock, folder)
    if status == 0:
        unfinished.unlink()
    return status


def _runs(process: str) -> bool:
    with suppress(OSError, ValueError):
        os.kill(int(process), 0)
        return True
    return False


def _has_pip(python: Path) -> bool:
    with suppress(OSError):
        return subprocess.run([python, "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return False


def _install(python: Path, lock: Path, folder: Path) -> int:
    total = len(re.findall("^[a-z]", lock.read_text(encoding="utf-8"), re.MULTILINE))
    sys.stdout.write(f"Installing the packages of {lock} into {folder}. This is needed only once.\n")
    options = ["--disable-pip-version-check", "--progress-bar=off", "--no-deps", "--require-hashes"]
    command = [str(python), "-m", "pip", "install", *options, "-r", str(lock)]
    done = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:
        for line in pip.stdout or ():
            if found := re.match(r"(?:Collecting|Processing|Requirement already satisfied:) (?:\S*/)?([\w.-]+)", line):
                done += 1
                name = re.sub(r"-\d.*\.whl$", "", found[1])
                sys.stdout.write(f"  {done} of {total}: {name}\n")
            elif line.startswith("Ignoring "):  # it is for another system or another Python
                total -= 1
            elif line.startswith("Installing collected packages"):
                sys.stdout.write("  Downloaded. Installing …\n")
            sys.stdout.flush()
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
