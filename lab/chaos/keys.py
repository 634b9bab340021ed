"""Keys are rotated and revoked while they are used."""

import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import NamedTuple

import psycopg

from lab.chaos.callers import Connection
from lab.chaos.store import Store, running_store
from lab.chaos.table import Row

DEAD = 1
"""Seconds after which a key that ended is rejected everywhere."""

PAUSE = 0.02
"""Seconds between two uses of a key."""


class Use(NamedTuple):
    """A use of a key, by the clock."""

    begun: float
    ended: float
    status: int


class User:
    """Uses a key in a thread until it is stopped."""

    def __init__(self, port: int, key: str) -> None:
        self.uses: list[Use] = []
        self._connection = Connection(port, key)
        self._stop = Event()
        self._thread = Thread(target=self._use)
        self._thread.start()

    def _use(self) -> None:
        while not self._stop.wait(PAUSE):
            begun = time.time()
            status = self._connection.send("GET", "/v1/pets?limit=1").answer.status
            self.uses.append(Use(begun, time.time(), status))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()


def keys_rotated(*, long: bool) -> Iterator[Row]:
    """Rotate a key again and again, and use each of them until after its grace. Then revoke some."""
    with running_store() as store:
        key = store.service.manage_json("issue_api_key", "Rotated")
        users = {key["key_id"]: User(store.port, key["key"])}
        for _ in range(20 if long else 5):
            key = store.service.manage_json("rotate_api_key", key["key_id"], "--grace", "1min")
            users[key["key_id"]] = User(store.port, key["key"])
        ends = _ends(store)
        time.sleep(max(ends.values()) + 2 * DEAD - time.time())
        yield from _judge(users, ends, f"{len(ends)} rotations with a grace of 1 min, each key used all the time")
        revoked = {key["key_id"]: users.pop(key["key_id"])}
        for _ in range(9 if long else 2):
            key = store.service.manage_json("issue_api_key", "Revoked")
            revoked[key["key_id"]] = User(store.port, key["key"])
        time.sleep(1)
        for name in revoked:
            store.service.manage("revoke_api_key", name, "--yes")
        time.sleep(2 * DEAD)
        yield from _judge(revoked, _ends(store), f"{len(revoked)} keys revoked while they are used")


def _ends(store: Store) -> dict[str, float]:
    """Return when keys end, by the clock."""
    query = "SELECT key_id, extract(epoch FROM least(expires_at, revoked_at)) FROM apikeys_apikey"
    with psycopg.connect(store.postgresql.url) as connection:
        return {name: float(end) for name, end in connection.execute(query) if end}


def _judge(users: dict[str, User], ends: dict[str, float], tried: str) -> Iterator[Row]:
    for user in users.values():
        user.stop()
    uses = [(use, ends.get(name, float("inf"))) for name, user in users.items() for use in user.uses]
    early = sum(use.ended < end and use.status != 200 for use, end in uses)
    before = sum(use.ended < end for use, end in uses)
    yield Row("0 requests are rejected before a key ends", tried, f"{early} of {before:,}", not early)
    longest = max((use.begun - end for use, end in uses if use.status == 200), default=0)
    rejected = sum(use.status == 401 for use, _ in uses)
    seen = f"accepted for {max(longest, 0):.2f} s at most, then {rejected:,} times 401"
    yield Row(f"a key is dead {DEAD} s after it ended", tried, seen, longest <= DEAD and rejected > 0)
