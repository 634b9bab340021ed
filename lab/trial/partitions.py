"""Cut the network between the machines of the trial, also one way only, and judge what was written and read meanwhile.

    .venv/bin/python -m lab.trial.partitions

Each machine and each of two instances of the service has a network namespace of its own, on one bridge in another one.
Packets are lost one way by giving the sender a wrong hardware address of the receiver. One instance (near) is beside
the synchronous standby, the other one (far) beside the primary. Needs root, and what `trial.py` needs.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.trial.cluster import NUMBERS, Cluster
from lab.trial.programs import Program, find, free_port, send, wait_until
from lab.trial.readers import Readers, judge_all
from lab.trial.service import GUNICORN, Service, databases, running_service
from lab.trial.verdict import report
from lab.trial.writers import Writers

NEAR, FAR, US = 5, 6, 9
HOSTS = [*NUMBERS, NEAR, FAR]
CUT_SECONDS = 40

CUTS = ("split", "near_alone", "primary_mute", "primary_deaf", "standby_mute", "standby_deaf", "etcd_leader")

Ways = list[tuple[int, int]]
"""From where to where packets are lost."""


def main() -> int:
    """Run it in a network of its own, and return the exit status."""
    if "PETSTORE_APART" not in os.environ:
        command = ["unshare", "--net", sys.executable, "-m", "lab.trial.partitions", *sys.argv[1:]]
        return subprocess.run(command, env=os.environ | {"PETSTORE_APART": "1"}, check=False).returncode
    with (
        networks() as spaces,
        Apart.running(spaces) as cluster,
        running_service(cluster) as service,
        instance(cluster, NEAR, service) as near,
        instance(cluster, FAR, service) as far,
    ):
        return run(cluster, near, far)


def run(cluster: "Apart", near: Service, far: Service) -> int:
    """Cut all that can be cut, and judge."""
    writers = Writers(far.port, far.key, 0.5, cluster.host(FAR))
    readers = [Readers(each.port, each.key, 0.2, cluster.host(at)) for each, at in ((near, NEAR), (far, FAR))]
    seconds: list[float] = []
    with writers.writing(8), readers[0].reading(4), readers[1].reading(4):
        for name in CUTS:
            seconds.append(tried(name, cluster, writers, readers))
            cluster.wait_until_whole()
            time.sleep(5)
    return report(cluster, writers, seconds)


def tried(name: str, cluster: "Apart", writers: Writers, readers: list[Readers]) -> float:
    """Cut, wait, heal, and print what the callers got. Return the seconds until additions work after that."""
    primary, standby, other = cluster.roles()
    added, begun = len(writers.acknowledged), time.monotonic()
    with paused(cluster.etcd_leader()) if name == "etcd_leader" else cut(cluster, ways(name, primary, standby, other)):
        time.sleep(CUT_SECONDS)
    healed = time.monotonic()
    wait_until(lambda: writers.acknowledged_since(healed))
    seconds = time.monotonic() - healed
    time.sleep(2)
    near, far = (some.counted(begun, healed) for some in readers)
    print(
        f"{name:13} {len(writers.acknowledged) - added} added; reads near {near}, far {far}; "
        f"back {seconds:.1f} s after it healed, primary db{primary} → db{cluster.primary()}\n"
        f"{'':13} {judged(cluster, writers, readers, begun)}",
        flush=True,
    )
    return seconds


def judged(cluster: "Apart", writers: Writers, readers: list[Readers], begun: float) -> str:
    """Judge what was read since then, and say it in words."""
    seen = [each for some in readers for one in some.seen for each in list(one) if each.sent >= begun]
    additions = writers.additions()
    stored = dict(cluster.query("SELECT id, name FROM pets_pet"))
    verdict = judge_all(seen, additions, stored, time.monotonic())
    there = set(stored.values())
    gone = sum(not there.issuperset(each.animals.values()) for each in seen)
    return (
        f"{len(verdict.lacking)} lack an acknowledged animal, {gone} show one that is not stored, "
        f"{len(verdict.vanished)} show one that a later read lacks; "
        f"{'no' if verdict.order else 'one'} order explains them"
    )


def ways(name: str, primary: int, standby: int, other: int) -> Ways:
    """Return which packets are lost."""
    databases = [standby, other]
    return {
        "split": _both([standby, NEAR], [primary, other, FAR]),
        "near_alone": [(NEAR, primary)],
        "primary_mute": [(primary, each) for each in [*databases, NEAR]],
        "primary_deaf": [(each, primary) for each in [*databases, NEAR]],
        "standby_mute": [(standby, each) for each in (primary, other)],
        "standby_deaf": [(each, standby) for each in (primary, other)],
    }[name]


def _both(one: list[int], others: list[int]) -> Ways:
    return [way for here in one for there in others for way in ((here, there), (there, here))]


@contextlib.contextmanager
def cut(cluster: "Apart", lost: Ways) -> Iterator[None]:
    """Lose packets in the block."""
    for sender, receiver in lost:
        _ip(cluster.spaces[sender], f"neigh replace {address(receiver)} lladdr 02:00:00:00:ff:ff nud permanent dev net")
    try:
        yield
    finally:
        for sender, receiver in lost:
            _ip(cluster.spaces[sender], f"neigh del {address(receiver)} dev net")


@contextlib.contextmanager
def paused(process: int) -> Iterator[None]:
    """Stop a process in the block."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


class Apart(Cluster):
    """The cluster with a network namespace for each machine."""

    def __init__(self, folder: Path, spaces: dict[int, int]) -> None:
        self.spaces = spaces
        super().__init__(folder)

    def host(self, number: int) -> str:
        """Return the address of this machine."""
        return address(number)

    def within(self, number: int) -> list[str]:
        """Return what begins each command of this machine."""
        who = pwd.getpwnam("postgres")
        return [*enter(self.spaces[number]), f"--setuid={who.pw_uid}", f"--setgid={who.pw_gid}"]

    def roles(self) -> tuple[int, int, int]:
        """Return the primary, its synchronous standby and the other one."""
        primary, standby = self.primary(), self.synchronous_standby()
        return primary, standby, 6 - primary - standby

    def etcd_leader(self) -> int:
        """Return the process of etcd's leader."""
        for each in NUMBERS:
            port = int(self.addresses[f"db{each}:2379"].split(":")[1])
            metrics = send(port, "GET", "/metrics", host=self.host(each))[1]
            if b"\netcd_server_is_leader 1" in metrics:
                return self.machines[each].etcd.pid
        raise SystemExit("etcd has no leader.")


def address(number: int) -> str:
    """Return the address of a host."""
    return f"10.77.0.{number}"


@contextlib.contextmanager
def networks(hosts: Iterable[int] = HOSTS) -> Iterator[dict[int, int]]:
    """Create a namespace for each host, and return the process that keeps it."""
    here = os.getpid()
    for command in (
        "link set lo up",
        "link add net type bridge",
        "link set net up",
        f"addr add {address(US)}/24 dev net",
    ):
        _ip(here, command)
    keepers = {each: subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for each in hosts}
    time.sleep(1)
    try:
        for number, keeper in keepers.items():
            _ip(here, f"link add to{number} master net type veth peer name net netns {keeper.pid}")
            _ip(here, f"link set to{number} up")
            for command in ("link set lo up", "link set net up", f"addr add {address(number)}/24 dev net"):
                _ip(keeper.pid, command)
        yield {number: keeper.pid for number, keeper in keepers.items()}
    finally:
        for keeper in keepers.values():
            keeper.kill()


@contextlib.contextmanager
def instance(cluster: Apart, number: int, service: Service) -> Iterator[Service]:
    """Run HAProxy and the service in a namespace for the block."""
    within, port = enter(cluster.spaces[number]), free_port()
    file = cluster.folder / "haproxy.cfg"
    haproxy = Program(cluster.folder, f"haproxy{number}", [*within, find("haproxy"), "-f", str(file)], {}, None)
    environment = databases(cluster) | {"PORT": str(port), "HOST": address(number), "WEB_CONCURRENCY": "1"}
    gunicorn = Program(cluster.folder, f"gunicorn{number}", [*within, *GUNICORN], environment, None)
    haproxy.start()
    gunicorn.start()
    try:
        wait_until(lambda: send(port, "GET", "/readyz", host=address(number))[0] == 200)
        yield Service(port, service.key)
    finally:
        gunicorn.stop()
        haproxy.kill()


def enter(process: int) -> list[str]:
    """Return what begins a command in the network namespace of this process."""
    return [find("nsenter"), f"--target={process}", "--net"]


def _ip(process: int, command: str) -> None:
    subprocess.run([*enter(process), shutil.which("ip", path="/usr/sbin:/sbin") or "ip", *command.split()], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
