"""A Debian that boots systemd in namespaces of its own, with no network but its loopback."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import textwrap
from pathlib import Path
from typing import Self

from tests.server import ROOT

from lab.debian.base import FOLDER, base, run
from lab.trial.programs import find, wait_until

GUIDE = (ROOT / "docs" / "install.md").read_text()
COMMAND_SECONDS = "300"
ALONE = ("--quiet", "--register=no", "--keep-unit")
"""Options of systemd-nspawn for a host without systemd."""


def blocks(title: str, guide: str = GUIDE) -> list[str]:
    """Return the commands of a part of the guide, each block as it is written there."""
    part = re.split(r"^##+ ", guide.split(f"# {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    return [textwrap.dedent(block) for block in re.findall(r"^ *```sh\n(.*?)^ *```$", part, re.MULTILINE | re.DOTALL)]


class CommandError(Exception):
    """A command in the machine failed."""


class Machine:
    """It is on in the block. Its disk is kept over `cut_power`, and goes at the end."""

    def __init__(self, packages: str, **shown: Path) -> None:
        """Make its disk, with Debian's packages in the cache of apt, and these folders of ours under /NAME."""
        self.disk = FOLDER / "machine"
        self.shown = [f"--bind-ro={folder}:/{name}" for name, folder in shown.items()]
        shutil.rmtree(self.disk, ignore_errors=True)
        run("cp", "--archive", base(), self.disk)
        self.cache = FOLDER / "packages"
        self.cache.mkdir(exist_ok=True)
        run(
            find("systemd-nspawn"), *ALONE, "--directory", self.disk, "--pipe", *self._binds(), "--resolv-conf=copy-host",
            "sh", "-euc", f"apt-get update; apt-get install --yes --download-only {packages}",
        )  # fmt: skip
        self.process: subprocess.Popen[bytes]
        self.init = 0

    def _binds(self) -> list[str]:
        return [f"--bind={self.cache}:/var/cache/apt/archives", *self.shown]

    def __enter__(self) -> Self:
        self.turn_on()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut_power()
        shutil.rmtree(self.disk)

    def turn_on(self) -> None:
        """Boot, and wait until systemd has started everything."""
        with (FOLDER / "console.log").open("ab") as log:
            self.process = subprocess.Popen(
                [find("systemd-nspawn"), *ALONE, "--boot", "--directory", self.disk, "--private-network", *self._binds()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.init = wait_until(self._find_init)
        wait_until(self._is_up)

    def _find_init(self) -> int:
        if self.process.poll() is not None:
            raise CommandError(f"It does not boot: see {FOLDER}/console.log")
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next((int(each) for each in children if Path(f"/proc/{each}/comm").read_text() == "systemd\n"), 0)

    def _is_up(self) -> bool:
        command = [*self._inside(), "systemctl", "is-active", "--quiet", "multi-user.target"]
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def cut_power(self) -> None:
        """End everything in it at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)
        self.process.wait(30)

    def _inside(self) -> list[str]:
        return [
            find("nsenter"),
            "--target",
            str(self.init),
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--root",
            "--wd",
        ]

    def run(self, commands: str) -> str:
        """Run them as root in a shell without a terminal, until one fails, and return what they print."""
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "DEBIAN_FRONTEND": "noninteractive",
        }  # fmt: skip
        done = subprocess.run(
            ["timeout", COMMAND_SECONDS, *self._inside(), "bash", "-euo", "pipefail", "-c", commands], env=environment,
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise CommandError(
                f"{textwrap.indent(commands, '  ')}\nfailed with status {done.returncode}:\n{done.stdout[-4000:]}"
            )
        return done.stdout

    def enter_network(self) -> None:
        """Let the connections of this thread begin in the machine."""
        with Path(f"/proc/{self.init}/ns/net").open("rb") as network:
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
