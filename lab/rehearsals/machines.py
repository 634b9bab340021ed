"""Chapters about machines: replace one, and get etcd back when most or all of it is lost."""

import contextlib
import shutil
import time

from lab.rehearsals.stage import (
    RehearsalError,
    etcd_folder,
    etcdctl,
    expect,
    kill,
    patronictl,
    say,
    timed,
    wipe,
    writing,
)  # fmt: skip
from lab.trial.cluster import NUMBERS, Cluster
from lab.trial.programs import send, wait_until
from lab.trial.service import Service, running_service


def replace_node() -> None:
    """Lose the primary's machine with its disk, and put an empty one in its place."""
    with Cluster.running() as cluster, running_service(cluster) as service, writing(cluster, service) as writers:
        lost = cluster.primary()
        kill(cluster, lost)
        wipe(cluster, lost)
        writers.wait_for_another()
        say(f"db{lost}, the primary, was lost with its disk; db{cluster.primary()} took over")
        writers.say_pause()
        with timed("there are three etcd again"):
            replace_in_etcd(cluster, lost)
        with timed("PostgreSQL was copied and follows"):
            cluster.machines[lost].patroni.start()
            cluster.wait_until_whole()
        writers.say_pause()
        say(patronictl(cluster, lost, "list"))


def replace_in_etcd(cluster: Cluster, number: int) -> None:
    """Remove the one that is gone, and let one with the same name join with an empty disk."""
    listed = (line.split(", ") for line in etcdctl(cluster, "member list").splitlines())
    for member in [identifier for identifier, _, name, *_ in listed if name == f"db{number}"]:
        etcdctl(cluster, f"member remove {member}")
    etcd = cluster.machines[number].etcd
    peers = etcd.environment["ETCD_INITIAL_ADVERTISE_PEER_URLS"]
    printed = wait_until(lambda: _accepted(cluster, f"member add db{number} --peer-urls={peers}"))
    lines = [line.replace('"', "").split("=", 1) for line in printed.splitlines() if line.startswith("ETCD_")]
    etcd.environment |= dict(lines)
    expect(etcd.environment["ETCD_INITIAL_CLUSTER_STATE"] == "existing", printed)
    etcd.start()
    wait_until(lambda: _is_healthy(cluster, number))


def _accepted(cluster: Cluster, command: str) -> str:
    """Return what it printed, or nothing: etcd wants some seconds between two new ones (`unhealthy cluster`)."""
    with contextlib.suppress(RehearsalError):
        return etcdctl(cluster, command)
    return ""


def _is_healthy(cluster: Cluster, number: int) -> bool:
    port = int(cluster.addresses[f"db{number}:2379"].rpartition(":")[2])
    return b'"true"' in send(port, "GET", "/health")[1]


def lose_quorum() -> None:
    """Lose two of three etcd with their disks, go on with the third, and let two new ones join."""
    with Cluster.running() as cluster, running_service(cluster) as service, writing(cluster, service) as writers:
        primary, (kept, *lost) = cluster.primary(), NUMBERS
        for number in lost:
            _lose_etcd_of(cluster, number)
        time.sleep(
            30
        )  # longer than the 20 s after which a leader without etcd steps back, if it did not reach the others
        writers.wait_for_another()
        say(f"etcd of db{lost[0]} and db{lost[1]} was lost 30 s ago")
        writers.say_pause()
        with timed("there are three etcd again"):
            _go_on_with(cluster, kept)
            for number in lost:
                replace_in_etcd(cluster, number)
        cluster.wait_until_whole()
        expect(cluster.primary() == primary, "another machine became the primary")
        say(f"the primary is still db{primary}")
        writers.say_pause()


def _lose_etcd_of(cluster: Cluster, number: int) -> None:
    cluster.machines[number].etcd.kill()
    shutil.rmtree(etcd_folder(cluster, number))


def _go_on_with(cluster: Cluster, number: int) -> None:
    """Start the etcd that is left alone, once with this setting and then without."""
    etcd = cluster.machines[number].etcd
    usual = etcd.environment
    for settings in (usual | {"ETCD_FORCE_NEW_CLUSTER": "true"}, usual):
        etcd.environment = settings
        etcd.start()
        wait_until(lambda: _is_healthy(cluster, number))


def lose_etcd() -> None:
    """Lose all three etcd with their disks, and start them empty."""
    with Cluster.running() as cluster, running_service(cluster) as service:
        settings = cluster.ask(cluster.primary(), "GET", "/config")[1]
        _lose_all_of_etcd(cluster, service)
        expect(
            cluster.ask(cluster.primary(), "GET", "/config")[1] == settings, "Patroni has other settings than before."
        )
        say("Patroni's settings are as before")


def _lose_all_of_etcd(cluster: Cluster, service: Service) -> None:
    with writing(cluster, service) as writers:
        primary = cluster.primary()
        for number in NUMBERS:
            _lose_etcd_of(cluster, number)
        time.sleep(30)
        writers.wait_for_another()
        say("all of etcd was lost 30 s ago")
        writers.say_pause()
        for number in NUMBERS:
            if number != primary:
                cluster.machines[number].patroni.stop()
        for number in NUMBERS:
            cluster.machines[number].etcd.start()
        # Only now: a standby that finds an empty etcd would elect itself, and may lack what was acknowledged.
        wait_until(lambda: f"db{primary}" in _accepted(cluster, "get /service/petstore/leader"))
        for number in NUMBERS:
            if number != primary:
                cluster.machines[number].patroni.start()
        cluster.wait_until_whole()
        expect(cluster.primary() == primary, "another machine became the primary")
        say(f"the primary is still db{primary}")
        writers.say_pause()
