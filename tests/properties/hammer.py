"""One process of several that use up the same rate limits; tests.properties.test_limits starts it.

A line of its input is a key id and a limit; it prints how many of its requests passed.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

from rest import limits

THREADS = 16
TRIES = 10
"""Requests of a thread for one line."""


def passed(key_id: str, rate_limit: str, barrier: Barrier) -> int:
    """Ask as often as one thread does, once all of them are there."""
    key = SimpleNamespace(key_id=key_id, rate_limit=rate_limit)
    barrier.wait()
    return sum(limits.count(key).allowed for _ in range(TRIES))


def main() -> None:
    limits.CACHE_SECONDS = 10  # a busy machine is no reason to stop counting here
    barrier = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        for line in sys.stdin:
            key_id, rate_limit = line.split()
            counts = pool.map(lambda _, key_id=key_id, limit=rate_limit: passed(key_id, limit, barrier), range(THREADS))
            sys.stdout.write(f"{sum(counts)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
