"""`deploy/ha/careful_patroni.py` with the real Patroni and etcd: when a primary creates its key again."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.nginx import program
from tests.server import ROOT, SECONDS, free_port, until

PLACES = f"{ROOT}/.venv-rehearsals/bin:{os.environ['PATH']}"
"""Where Patroni is: `make test-all` installs it."""

# Runs with Patroni's Python. Prints whether db1, which led, leads again after its key has vanished.
SCRIPT = """
import sys
import careful_patroni
from patroni.dcs import get_dcs

careful_patroni.protect()

def machine(name):
    common = {"scope": "petstore", "name": name, "ttl": 20, "loop_wait": 5, "retry_timeout": 5}
    return get_dcs(common | {"etcd3": {"host": "127.0.0.1:" + sys.argv[1]}})

old, new = machine("db1"), machine("db2")
assert old.attempt_to_acquire_leader()
assert old.set_sync_state_value('{"leader":"db1","sync_standby":"db2"}')
view = old.get_cluster()
assert old.update_leader(view, None)
if sys.argv[2] == "succeeded":
    assert new.set_sync_state_value('{"leader":"db2","sync_standby":"db3"}')
old._client.call_rpc("/lease/revoke", {"ID": view.leader.session})
print("leads again:", old.update_leader(view, None))
"""


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[int]:
    client, peer = free_port(), free_port()
    command = [program("etcd"), "--data-dir", str(tmp_path / "etcd"), "--name", "one"]
    for kind, port in (("client", client), ("peer", peer)):
        command += [f"--listen-{kind}-urls", f"http://127.0.0.1:{port}"]
    command += ["--advertise-client-urls", f"http://127.0.0.1:{client}"]
    command += ["--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"]
    command += ["--initial-cluster", f"one=http://127.0.0.1:{peer}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is not None or _listens(client))
        yield client
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("since", "leads"), [("succeeded", False), ("nothing", True)])
def test_a_primary_creates_a_vanished_key_only_if_nobody_succeeded_it(etcd: int, since: str, *, leads: bool) -> None:
    patroni = shutil.which("patroni", path=PLACES)
    if patroni is None:
        pytest.skip("patroni is not on PATH, and not in .venv-rehearsals (make -C lab patroni)")
    python = Path(patroni).with_name("python3")
    done = subprocess.run(
        [python, "-c", SCRIPT, str(etcd), since], cwd=ROOT / "deploy/ha", capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    assert f"leads again: {leads}" in done.stdout, done.stderr


def _listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
