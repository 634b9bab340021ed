"""The rate limiter against a list of moments, and under threads of several processes with a Redis that they share."""

import math
import os
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_site.apikeys.models import APIKey
from rest.limits import build_limiter
from tests.conftest import ApiClient
from tests.properties.examples import Clock
from tests.properties.hammer import THREADS, TRIES
from tests.server import ROOT, running_redis

LIMITS = {"2/s": (2, 1), "3/min": (3, 60)}
# No sum of them is a whole number of seconds: at the very end of a window either response is right.
WAITS = st.sampled_from([0, 0.0131, 0.3717, 0.7331, 13.6913, 41.3219])


@pytest.fixture
def limited(db: None) -> list[tuple[ApiClient, int, int]]:
    """A client for each limit, with its number of requests and its seconds."""
    return [
        (ApiClient(APIKey.objects.issue(name="Partner", rate_limit=written)[1]), *limit)
        for written, limit in LIMITS.items()
    ]


@given(steps=st.lists(st.tuples(WAITS, st.integers(0, len(LIMITS) - 1)), min_size=5, max_size=30))
def test_no_window_of_time_has_more_than_the_limit_and_none_less(
    limited: list[tuple[ApiClient, int, int]], steps: list[tuple[float, int]]
) -> None:
    build_limiter.cache_clear()
    clock = Clock()
    served: list[list[float]] = [[] for _ in limited]
    with mock.patch("time.time", clock.seconds):
        for wait, which in steps:
            clock.passes(timedelta(seconds=wait))
            now = clock.seconds()
            client, most, seconds = limited[which]
            counted = [at for at in served[which] if at > now - seconds]
            answer = client.get("/v1/categories")
            if len(counted) < most:
                counted.append(now)
                served[which].append(now)
                assert answer.status_code == 200
            else:
                assert answer.status_code == 429
                assert int(answer["Retry-After"]) == math.ceil(counted[0] + seconds - now)
            assert answer["RateLimit"].startswith(f'"default";r={most - len(counted)};')


@pytest.mark.parametrize("processes", [1, 2])
def test_exactly_the_limit_passes_however_many_ask(tmp_path: Path, processes: int) -> None:
    """16 threads in each process; without a shared cache one process counts as exactly."""
    most = THREADS * TRIES * processes
    limits = [1, 2, 7, 20, 63, 64, 100, most - 1, most]
    with ExitStack() as stack:
        cache = stack.enter_context(running_redis(tmp_path)) if processes > 1 else "memory://"
        hammers = [stack.enter_context(hammer(cache)) for _ in range(processes)]
        assert [passed(hammers, f"key{number} {limit}/day") for number, limit in enumerate(limits)] == limits


def hammer(cache: str) -> "subprocess.Popen[str]":
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "petstore_site.settings", "CACHE_URL": cache}
    command = [sys.executable, "-m", "tests.properties.hammer"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def passed(hammers: list[Any], line: str) -> int:
    """Let all of them use up one limit at the same time; return how many requests passed."""
    for process in hammers:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
    return sum(int(process.stdout.readline()) for process in hammers)
