"""The chapter about another region: three more machines follow, and take over as planned."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from lab.rehearsals.stage import Watched, count_up, patronictl, say, timed
from lab.trial.cluster import Cluster
from lab.trial.programs import wait_until
from lab.trial.service import running_service

SLOT = "other_region"


def move_region() -> None:
    """Let a standby cluster follow, move to it, and let the old one follow the new one."""
    with Cluster.running() as here:
        patronictl(here, 1, "edit-config", "petstore", "--force", "--set", f"slots.{SLOT}.type=physical")
        with _following(here) as there, running_service(here) as service:
            writers = Watched(service)
            with writers.writing(10):
                writers.wait_for_another()
                writers.begin()
                _move(here, there)
                writers.wait_for_another()
                writers.say_pause()
                there.wait_until_whole()
            count_up(there, writers)
            wait_until(lambda: _role(here) == "standby_leader")
            wait_until(lambda: _position(here) == _position(there))
            say(patronictl(here, 1, "list"))
            say(patronictl(there, 1, "list"))


@contextmanager
def _following(here: Cluster) -> Iterator[Cluster]:
    """Run three more machines, whose first one copies the primary of the others and follows it."""
    with tempfile.TemporaryDirectory(prefix="petstore-ha-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        there = Cluster(Path(folder))
        # The book names all three machines. Here they share one address, and Patroni knows one port for all of them.
        port = here.machines[here.primary()].postgresql_port
        source = {"host": "127.0.0.1", "port": port, "primary_slot_name": SLOT}
        for number, machine in there.machines.items():
            # With the same names, a standby of the other region would count as one that confirms commits.
            machine.patroni.environment["PATRONI_NAME"] = f"db{number + len(here.machines)}"
            _add_settings(machine.patroni.folder / "patroni.yml", {"standby_cluster": source, "slots": {SLOT: {"type": "physical"}}})  # fmt: skip
        try:
            with timed("the other region follows"):
                for number in there.machines:
                    there.start(number)
                there.haproxy.start()
                wait_until(lambda: _role(there) == "standby_leader")
                wait_until(lambda: len(_streaming(there)) == 3)
            yield there
        finally:
            there.stop()


def _add_settings(file: Path, settings: dict[str, Any]) -> None:
    """Add them to those that the new cluster begins with."""
    content = yaml.safe_load(file.read_text())
    content["bootstrap"]["dcs"] |= settings
    file.write_text(yaml.safe_dump(content))


def _move(here: Cluster, there: Cluster) -> None:
    """Stop writing here, wait until there has everything, and begin to write there."""
    with timed("this region takes no more writes"):
        target = ["--host", "127.0.0.1", "--port", str(there.port), "--primary-slot-name", SLOT]
        patronictl(here, 1, "demote-cluster", "petstore", "--force", *target)
    with timed("the other one has all of it"):
        wait_until(lambda: _position(there) == _position(here))
    with timed("the other one takes writes"):
        patronictl(there, 1, "promote-cluster", "petstore", "--force")
    _lead(here, there)


def _lead(here: Cluster, there: Cluster) -> None:
    """Have the HAProxy beside the service lead to the other region."""
    text = (there.folder / "haproxy.cfg").read_text().replace(f"127.0.0.1:{there.port}", f"127.0.0.1:{here.port}")
    for name in [name for name in there.addresses if name.startswith("127.0.0.1:")]:
        text = text.replace(there.addresses[name], here.addresses[name])
    (here.folder / "haproxy.cfg").write_text(text)
    here.haproxy.start()


def _members(cluster: Cluster) -> list[dict[str, Any]]:
    body = next((body for number in cluster.machines if (body := cluster.ask(number, "GET", "/cluster")[1])), b"{}")
    found: list[dict[str, Any]] = json.loads(body).get("members", [])
    return found


def _role(cluster: Cluster) -> str:
    roles = {str(each["role"]) for each in _members(cluster)}
    return next((role for role in ("leader", "standby_leader") if role in roles), "")


def _streaming(cluster: Cluster) -> list[str]:
    return [each["name"] for each in _members(cluster) if each["state"] in {"running", "streaming"}]


def _position(cluster: Cluster) -> int:
    """Return how much WAL its leader has, or has replayed."""
    [leader] = [each for each in _members(cluster) if each["role"] in {"leader", "standby_leader"}]
    number = (int(leader["name"].removeprefix("db")) - 1) % len(cluster.machines) + 1
    body = json.loads(cluster.ask(number, "GET", "/patroni")[1])
    position: int = body["xlog"].get("location") or body["xlog"]["replayed_location"]
    return position
