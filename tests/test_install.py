"""How `make` installs a lock, without a network, and what it says is missing."""

import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

from tests.server import ROOT


def wheel(folder: Path) -> Path:
    """Return the smallest package that pip installs."""
    path = folder / "rex-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("rex.py", "")
        file.writestr("rex-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: rex\nVersion: 1.0\n")
        file.writestr("rex-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("rex-1.0.dist-info/RECORD", "")
    return path


def test_a_package_for_another_system_is_neither_counted_nor_named(tmp_path: Path) -> None:
    package, lock, folder = wheel(tmp_path), tmp_path / "lock.txt", tmp_path / "environment"
    lock.write_text(
        f"ida==1.0 ; python_version < '3' --hash=sha256:{'0' * 64}\n"
        f"rex @ {package.as_uri()} --hash=sha256:{sha256(package.read_bytes()).hexdigest()}\n"
    )
    command: list[str | Path] = [sys.executable, ROOT / "requirements" / "install.py", folder, lock]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            f"Installing the packages of {lock} into {folder}. This is needed only once.",
            "  1 of 1: rex",
            "  Downloaded. Installing …",
        ],
    ), done.stderr
    assert subprocess.run([folder / "bin" / "python", "-c", "import rex"], check=False).returncode == 0


def test_an_old_python_is_named_in_a_sentence(tmp_path: Path) -> None:
    old = tmp_path / "python"
    pretend = "import sys; sys.version_info, sys.version = (3, 7, 16), '3.7.16 (main)'; exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{pretend}" "$2"\n')
    old.chmod(0o755)
    command = ["make", "--silent", "python", f"PYTHON={old}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    sentence = "Python 3.7.16 is too old. Python 3.11 or newer is required: make ... PYTHON=python3.12"
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (2, "", sentence)
