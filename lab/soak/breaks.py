"""What breaks, one after the other."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from threading import Event
from typing import NamedTuple

import psycopg
from tests.server import until

from lab.chaos.callers import Connection
from lab.soak.instances import Shop, freeze, thaw
from lab.soak.load import Keys

FROZEN_SECONDS = 5


class Break(NamedTuple):
    """A break; times by the monotonic clock."""

    name: str
    begun: float
    back: float
    """When both instances read and added an animal again."""


class Breaks:
    """Breaks something every so many seconds."""

    def __init__(self, shop: Shop, keys: Keys, seconds: float) -> None:
        self._shop, self._keys, self._seconds = shop, keys, seconds
        self._chance = Random(1)
        self.done: list[Break] = []

    def work(self, over: Event) -> None:
        """Break until the event, and wait each time until all is well."""
        for each in self._kinds():
            if over.wait(self._seconds):
                return
            begun = time.monotonic()
            each()
            until(self._is_back)
            self.done.append(Break(each.__name__.strip("_"), begun, time.monotonic()))

    def _kinds(self) -> Iterator[Callable[[], None]]:
        return cycle(
            [
                self._kill_worker,
                self._crash_database,
                self._kill_service,
                self._kill_backend,
                self._restart_service,
                self._restart_database,
                self._freeze_redis,
            ]
        )

    def _is_back(self) -> bool:
        connections = [Connection(each.port, self._keys.key) for each in self._shop.instances]
        try:
            return all(
                connection.add("Probe", once=False).answer.status == 201
                and connection.send("GET", "/v1/pets").answer.status == 200
                for connection in connections
            )
        finally:
            for connection in connections:
                connection.close()

    def _kill_worker(self) -> None:
        os.kill(self._chance.choice(self._shop.broken.workers), signal.SIGKILL)

    def _kill_service(self) -> None:
        self._shop.broken.kill()

    def _restart_service(self) -> None:
        self._shop.broken.service.restart()

    def _crash_database(self) -> None:
        self._shop.postgresql.stop(signal.SIGQUIT)
        self._shop.postgresql.start()

    def _restart_database(self) -> None:
        self._shop.postgresql.stop()
        self._shop.postgresql.start()

    def _kill_backend(self) -> None:
        """SIGKILL one server process: PostgreSQL ends all the others and recovers, as after a crash."""
        with psycopg.connect(self._shop.postgresql.url) as connection:
            others = "SELECT pid FROM pg_stat_activity WHERE usename = 'petstore' AND pid <> pg_backend_pid() LIMIT 1"
            row = connection.execute(others).fetchone()
        if row:
            os.kill(row[0], signal.SIGKILL)

    def _freeze_redis(self) -> None:
        freeze(self._shop.redis)
        time.sleep(FROZEN_SECONDS)
        thaw(self._shop.redis)
