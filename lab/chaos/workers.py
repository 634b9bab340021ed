"""Workers of gunicorn are killed and restarted."""

import os
import signal
import time
from collections.abc import Iterator
from itertools import cycle

from tests.flood import additions, flood, lists
from tests.protocol.nginx import running_nginx
from tests.server import listening, until
from tests.timed import Timed, timed

from lab.chaos.callers import Callers
from lab.chaos.ledger import Ledger
from lab.chaos.store import Store, running_store, serving, wait_for_all
from lab.chaos.table import Row, counted, slowest, statuses


def worker_killed(*, long: bool) -> Iterator[Row]:
    """SIGKILL the only worker, then one of two under load."""
    times = 20 if long else 3
    with running_store(workers=1) as store:
        killed = [_kill_the_only(store) for _ in range(times)]
    yield slowest("a killed worker is replaced within 3 s", f"SIGKILL of the only worker, {times} times", killed, 3)
    ledger = Ledger("killed")
    with running_store() as store, Callers(store.port, store.key, ledger) as callers:
        for _ in range(times):
            wait_for_all(store.service)
            time.sleep(1)
            os.kill(serving(store.service)[0], signal.SIGKILL)
        wait_for_all(store.service)
        callers.stop()
        tried = f"SIGKILL of one of two workers, {times} times, 12 callers"
        failed = sum(call.answer.status not in {200, 201} for call in callers.calls)
        seen = statuses(callers.calls)
        yield Row("only what the killed worker had in hand fails", tried, seen, failed <= len(callers) * times)
        yield ledger.row(store.postgresql.url, tried)


def _kill_the_only(store: Store) -> Timed:
    os.kill(serving(store.service)[0], signal.SIGKILL)
    call = timed(lambda: store.service.send("GET", "/livez"))
    wait_for_all(store.service)
    return call


def restarted(*, long: bool) -> Iterator[Row]:
    """Restart the service under load, behind nginx, on a socket that stays."""
    times, requests = (20, 100_000) if long else (3, 6_000)
    with listening() as listener, running_store(listener=listener) as store, running_nginx(store.port) as nginx:
        mix = cycle([*lists(store.key) * 3, *additions(store.key)])
        with flood(nginx.plain, mix, connections=8) as calls:
            for _ in range(times):
                store.service.restart()
            until(lambda: len(calls) >= requests, seconds=600)
        failed = [call for call in calls if call.status not in {200, 201}]
        yield Row(
            "a restart fails no request", f"restarted {times} times behind nginx, 8 callers",
            counted(call.status for call in calls), not failed,
        )  # fmt: skip
