"""What the chapters share: the commands of the book in a plain shell, writers that watch, and the final count."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.trial.cluster import FILES, Cluster
from lab.trial.programs import find, wait_until
from lab.trial.service import Service
from lab.trial.verdict import count
from lab.trial.writers import Writers


class RehearsalError(Exception):
    """Something did not happen as the book says."""


def expect(condition: object, said: str) -> None:
    """Fail with this sentence unless the condition holds."""
    if not condition:
        raise RehearsalError(said)


def say(text: str) -> None:
    """Print a part of the result at once."""
    sys.stdout.write(textwrap.indent(f"{text.rstrip()}\n", "  "))
    sys.stdout.flush()


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say how long the block took."""
    begun = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - begun:.1f} s")


# --- The callers -----------------------------------------------------------------------------------------------------


class Watched(Writers):
    """Writers that say for how long no addition was acknowledged."""

    def __init__(self, service: Service) -> None:
        """Have them call this service, five times a second each."""
        super().__init__(service.port, service.key, 0.2)
        self.begin()

    def begin(self) -> None:
        """Measure from now on."""
        self._begun = time.monotonic()

    def say_pause(self) -> None:
        """Print the longest time without an acknowledged addition since the last call."""
        say(f"longest time without an acknowledged addition: {self.longest_pause(self._begun):.1f} s")
        self.begin()

    def wait_for_another(self) -> None:
        """Wait until an addition is acknowledged that was sent from now on."""
        now = time.monotonic()
        wait_until(lambda: self.acknowledged_since(now))


@contextmanager
def writing(cluster: Cluster, service: Service) -> Iterator[Watched]:
    """Let callers add animals in the block; afterwards none that was acknowledged may be missing or there twice."""
    writers = Watched(service)
    with writers.writing(10):
        writers.wait_for_another()
        writers.begin()
        yield writers
        writers.wait_for_another()
    count_up(cluster, writers)


def count_up(cluster: Cluster, writers: Writers) -> None:
    """Compare what was acknowledged with the database."""
    lost, doubled = count(cluster, writers)
    say(f"{len(writers.acknowledged):,} animals acknowledged: {len(lost)} lost, {len(doubled)} doubled")
    say(f"responses by status: {dict(sorted(writers.responses.items()))}")
    expect(not lost and not doubled, "Animals are lost or doubled.")
    expect(set(writers.responses) <= {201, 409, 503}, "There were responses that no caller expects.")


# --- The machines ----------------------------------------------------------------------------------------------------


def kill(cluster: Cluster, number: int) -> None:
    """Lose all that runs on this machine at once."""
    cluster.signal(number, signal.SIGKILL)
    cluster.machines[number].patroni.kill()
    cluster.machines[number].etcd.kill()


def wipe(cluster: Cluster, number: int) -> None:
    """Empty its disk."""
    shutil.rmtree(cluster.machines[number].data)
    shutil.rmtree(etcd_folder(cluster, number))


def etcd_folder(cluster: Cluster, number: int) -> Path:
    """Return where its etcd keeps its data."""
    return Path(cluster.machines[number].etcd.environment["ETCD_DATA_DIR"])


def members(cluster: Cluster) -> dict[int, str]:
    """Return the role of each machine, as Patroni says."""
    found = json.loads(cluster.ask(cluster.primary(), "GET", "/cluster")[1])["members"]
    return {int(each["name"].removeprefix("db")): str(each["role"]) for each in found}


def standbys(cluster: Cluster) -> list[int]:
    """Return the two machines that follow, the one that confirms commits last."""
    roles = members(cluster)
    return sorted((number for number in roles if roles[number] != "leader"), key=lambda each: roles[each])


# --- The commands of the book ----------------------------------------------------------------------------------------


def etcdctl(cluster: Cluster, command: str) -> str:
    """Run it against the three as the book does."""
    endpoints = ",".join(cluster.addresses[f"db{number}:2379"] for number in cluster.machines)
    return _run([find("etcdctl"), *command.split()], {"ETCDCTL_ENDPOINTS": endpoints, "ETCDCTL_API": "3"})


def patronictl(cluster: Cluster, number: int, *arguments: str, typed: str = "") -> str:
    """Run the command that ships, on this machine: it knows nothing but what is in Patroni's files."""
    patroni = cluster.machines[number].patroni
    home = patroni.folder
    settings = {name: text for name, text in patroni.environment.items() if name.startswith("PATRONI_")}
    (home / "patroni_env.conf").write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    script = (FILES / "patronictl").read_text().replace("/etc/patroni_env.conf", f"{home}/patroni_env.conf")
    script = script.replace("/etc/patroni/config.yml", f"{home}/patroni.yml")
    (home / "patronictl").write_text(script.replace("/opt/patroni/bin/", f"{Path(patroni.command[0]).parent}/"))
    return _run(["/bin/sh", str(home / "patronictl"), *arguments], {}, typed)


def as_postgres(cluster: Cluster, *command: str, environment: Mapping[str, str] | None = None) -> str:
    """Run a command as the account that owns the data."""
    return _run(list(command), environment or {}, account=cluster.account, folder=cluster.folder)


def _run(
    command: list[str],
    environment: Mapping[str, str],
    typed: str = "",
    *,
    account: str | None = None,
    folder: Path | None = None,
) -> str:
    groups: Any = {"user": account, "group": account, "extra_groups": []} if account else {}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | dict(environment), cwd=folder,
        input=typed, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **groups,
    )  # fmt: skip
    expect(done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout
