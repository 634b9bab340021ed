"""`python -m lab.debian.image`: build the image on a base made here, and run `deploy/look` and the commands of compose.yaml."""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.operating.test_compose import SERVICES, Started, first_start
from tests.server import ROOT, running_redis
from tests.with_postgresql import server

from lab.debian.base import FOLDER, base, releases, run, wheels
from lab.matrix import interpreter
from lab.rehearsals.stage import expect, say, timed
from lab.trial.programs import find, send, wait_until

BASE = (ROOT / "Dockerfile").read_text().split("FROM ")[1].split()[0]
LIBRARIES = "ca-certificates libbz2-1.0 libffi8 liblzma5 libreadline8 libsqlite3-0 libssl3 zlib1g"
IMAGE = "petstore"
ACCOUNT = 10001
CAPABILITIES = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}  # fmt: skip
"""Those that buildah leaves to a container. It drops "all" after what is added."""
ALONE = ("--root", str(FOLDER / "images"), "--runroot", str(FOLDER / "images-run"))
"""Options of buildah for a storage of our own."""


def buildah(command: str, *arguments: str | Path) -> str:
    """Run it and return what it printed."""
    isolation = ["--isolation=chroot"] if command in {"build", "run"} else []
    return run(find("buildah"), *ALONE, command, *isolation, *arguments).strip()


def make_base() -> None:
    """Make an image of the Dockerfile's name from Debian's base and the Python 3.13 of this machine, unless it is there."""
    if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}"):
        return
    python = interpreter("3.13")
    expect(python, "There is no Python 3.13 here.")
    prefix = Path(run(str(python), "-c", "import sys; print(sys.base_prefix)").strip())
    container = buildah("from", "scratch")
    buildah("add", container, base(), "/")
    buildah(
        "run", container, "sh", "-euc", f"apt-get update; apt-get install --yes --no-install-recommends {LIBRARIES}"
    )
    with tempfile.TemporaryDirectory(prefix="petstore-python-") as name:
        (Path(name) / "bin").mkdir()
        shutil.copy2(prefix / "bin/python3.13", Path(name) / "bin/python3.13")
        for link in ("python3", "python"):
            (Path(name) / "bin" / link).symlink_to("python3.13")
        shutil.copytree(prefix / "lib", Path(name) / "lib", symlinks=True, ignore=shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a"))  # fmt: skip
        (Path(name) / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
        buildah("add", container, f"{name}/bin", "/usr/local/bin")
        buildah("add", container, f"{name}/lib", "/usr/local/lib")
        buildah("add", container, f"{name}/pip.conf", "/etc/pip.conf")
    buildah("run", container, "ldconfig")
    buildah("config", "--env", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    buildah("commit", "--rm", container, f"localhost/{BASE}")


def leave_network() -> None:
    """Give this process and what it starts a network of its own, which is a loopback."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "unshare")
    run(find("ip"), "link", "set", "lo", "up")


class Container:
    """The image with some volumes, as a service of compose.yaml has them."""

    def __init__(self, volumes: dict[str, Path], service: dict[str, Any]) -> None:
        """Take what this service sets; a volume is the folder of its name."""
        self.command: list[str] = service["command"] if "command" in service else _config()["Cmd"]
        self.options = [f"--user={service.get('user', ACCOUNT)}"]
        self.options += [f"--cap-drop=CAP_{each}" for each in CAPABILITIES - set(service.get("cap_add", []))]
        for name, value in service.get("environment", {}).items():
            self.options.append(f"--env={name}={_default(str(value))}")
        for volume in service.get("volumes", []):
            name, _, rest = volume.partition(":")
            self.options.append(f"--volume={volumes[name]}:{rest}")

    def _start(self, command: list[str]) -> tuple[str, list[str]]:
        """Return the name of a new container, and how to run a command in it."""
        hosts = [f"--add-host={name}:127.0.0.1" for name in ("cache", "database")]
        name = buildah("from", "--pull=never", *hosts, IMAGE)
        return name, [find("buildah"), *ALONE, "run", "--isolation=chroot", *self.options, name, "--", *command]

    def run(self, *command: str) -> str:
        """Run its command, or this one, to its end."""
        name, started = self._start(list(command) or self.command)
        try:
            return run(*started)
        finally:
            buildah("rm", name)

    @contextmanager
    def running(self, log: Path) -> Iterator[int]:
        """Run its command in the block, then stop it as Docker does. Give the process of buildah."""
        name, started = self._start(self.command)
        with log.open("wb") as written:
            process = subprocess.Popen(started, stdin=subprocess.DEVNULL, stdout=written, stderr=written)
        try:
            yield process.pid
        except TimeoutError:
            say(log.read_text())
            raise
        finally:
            os.kill(_inside(process.pid) or process.pid, signal.SIGTERM)
            process.wait(30)
            buildah("rm", name)


def _inside(process: int) -> int:
    """Return the first process below that has the account of the container, or 0."""
    with contextlib.suppress(OSError):  # one that has just ended
        children = [each.read_text() for each in Path(f"/proc/{process}/task").glob("*/children")]
        for child in map(int, " ".join(children).split()):
            if found := child if Path(f"/proc/{child}").stat().st_uid == ACCOUNT else _inside(child):
                return found
    return 0


def _default(value: str) -> str:
    """Return what compose.yaml has for a variable that is not set: `${NAME:-this}`."""
    return re.sub(r"[$]{\w+:-(.*)}", r"\1", value)


def _config() -> dict[str, Any]:
    config: dict[str, Any] = json.loads(buildah("inspect", "--type=image", IMAGE))["Docker"]["config"]
    return config


def look(folder: Path) -> None:
    """`deploy/look`, with its volume."""
    volume = folder / "var"
    volume.mkdir()
    os.chown(volume, ACCOUNT, ACCOUNT)
    log = folder / "look.log"
    service = {"command": ["sh", "deploy/look"], "volumes": ["petstore:/opt/petstore/var"]}
    with Container({"petstore": volume}, service).running(log), timed("until it serves"):
        wait_until(lambda: send(8000, "GET", "/livez")[0] == 200)
        [key] = re.findall(r"pets_\w+", log.read_text())[:1]
        status, body = send(8000, "GET", "/v1/pets?limit=1", headers={"Authorization": f"Bearer {key}"})
        say(f"the first animal with its key: {status} {body.decode()}")
        expect(status == 200, "The key does not work.")


def compose(folder: Path) -> None:
    """The containers of compose.yaml in their order."""
    volumes = {}
    for name in ("database-secrets", "service-secrets", "migrator-secrets", "backup-secrets", "backups"):
        volumes[name] = folder / name.removesuffix("-secrets")
        volumes[name].mkdir()
    containers = {
        name: Container(volumes, each) for name, each in SERVICES.items() if each["image"].startswith("petstore:")
    }
    containers["prepare"].run()
    with server() as database, running_redis(folder, "--port", "6379"):
        started = Started(folder, database, 5432)
        first_start(started)
        containers["migrate"].run()
        started.run(SERVICES["roles"]["command"][-1])
        with containers["web"].running(folder / "web.log") as process, timed("web: until it is healthy"):
            check = _config()["Healthcheck"]["Test"]
            wait_until(lambda: send(8000, "GET", "/livez")[0] == 200)
            containers["web"].run(*check[1:])
            say(f"readyz: {send(8000, 'GET', '/readyz')[1].decode()}")
            status = Path(f"/proc/{_inside(process)}/status").read_text()
            say("user and capabilities: " + " ".join(re.findall(r"^(?:Uid|CapBnd):\s+(\S+)", status, re.MULTILINE)))
            for command in SERVICES["daily"]["command"][2:]:
                say(f"daily: {command}: {containers['daily'].run('sh', '-euc', command).strip()}")
            for command in SERVICES["backup"]["command"][2:]:
                started.run(command, "backup")
            say(
                "backup: "
                + ", ".join(str(each.relative_to(folder)) for each in sorted((folder / "backups").glob("[bd]*/*")))
            )


def main() -> int:
    """Build it, run it, and remove its containers. On SIGTERM it cleans up first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    packages, repository = wheels(), releases(FOLDER / "context")
    make_base()
    leave_network()
    try:
        with timed("built"):
            options = ("--pull=never", "--format=docker", f"--volume={packages}:/wheels:ro")
            buildah("build", *options, "--tag", IMAGE, repository)
        say(buildah("images", "--format", "{{.Name}}:{{.Tag}} {{.Size}}"))
        for step in (look, compose):
            say(f"== {step.__doc__}")
            with tempfile.TemporaryDirectory(prefix="petstore-image-") as name, timed("done"):
                Path(name).chmod(0o755)
                step(Path(name))
    finally:
        buildah("rm", "--all")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
