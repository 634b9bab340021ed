"""`python -m lab.rehearsals [CHAPTER…]`: run these chapters, or all of them."""

import signal
import sys
import time
from collections.abc import Callable

from lab.rehearsals import credentials, machines, regions, restores, upgrades
from lab.rehearsals.stage import say
from lab.trial.programs import find

CHAPTERS: dict[str, Callable[[], None]] = {
    "replace_node": machines.replace_node,
    "lose_quorum": machines.lose_quorum,
    "lose_etcd": machines.lose_etcd,
    "upgrade_patroni": upgrades.upgrade_patroni,
    "upgrade_postgresql": upgrades.upgrade_postgresql,
    "rotate_passwords": credentials.rotate_passwords,
    "renew_certificates": credentials.renew_certificates,
    "restore_to_a_time": restores.restore_to_a_time,
    "move_region": regions.move_region,
}


def main(names: list[str]) -> int:
    """Run them and return the exit status. On SIGTERM they clean up first."""
    signal.signal(signal.SIGTERM, _end)
    chosen = names or list(CHAPTERS)
    if any(CHAPTERS[name].__module__ != credentials.__name__ for name in chosen):
        for program in ("etcd", "etcdctl", "haproxy", "patroni"):
            find(program)
    for name in chosen:
        say(f"== {name}: {(CHAPTERS[name].__doc__ or '').splitlines()[0]}")
        begun = time.monotonic()
        CHAPTERS[name]()
        say(f"done in {time.monotonic() - begun:.0f} s")
    return 0


def _end(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
