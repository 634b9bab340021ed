"""A short form of the trial of three machines: the primary's machine is killed, frozen and thawed, and switched over."""

import subprocess
import sys

from tests.protocol.nginx import program
from tests.server import ROOT


def test_no_acknowledged_animal_is_lost() -> None:
    for name in ("etcd", "haproxy", "patroni"):
        program(name)
    command = [sys.executable, "-m", "lab.trial", "--kills", "1", "--switchovers", "1", "--writers", "10"]
    command += ["--forgets", "1"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=500, check=False)
    assert "animals acknowledged: 0 lost, 0 doubled." in done.stdout, done.stdout
    assert " reads: 0 lack an acknowledged animal, 0 show one that vanished." in done.stdout, done.stdout
    assert "One order explains them all." in done.stdout, done.stdout
    assert "3 breaks: " in done.stdout, "how long they take says nothing on a machine that is busy with other tests"
