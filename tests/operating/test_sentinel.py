"""The service finds Redis through Sentinel: when the master dies, requests pass, and then the replica counts on."""

import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis

from tests.server import Gunicorn, bearer, free_port, running_redis, running_server, until

SENTINEL = """\
port {port}
bind 127.0.0.1
dir {folder}
sentinel monitor petstore 127.0.0.1 {master} 1
sentinel auth-pass petstore hunter2
sentinel down-after-milliseconds petstore 600000
sentinel failover-timeout petstore 3000
requirepass hunter2
"""
PASSWORD = ("--requirepass", "hunter2", "--masterauth", "hunter2")


class Cache(NamedTuple):
    """A master, its replica, and a Sentinel that watches them."""

    url: str
    """For `CACHE_URL`. Nothing listens at the first of its two Sentinels."""
    master: Any
    replica: Any
    sentinel: Any


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    for name in ("master", "replica", "sentinel"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        first = stack.enter_context(running_redis(tmp_path / "master", *PASSWORD))
        master = client(first)
        port = str(master.connection_pool.connection_kwargs["port"])
        of_master = ("--replicaof", "127.0.0.1", port, "--repl-diskless-sync-delay", "0")
        replica = client(stack.enter_context(running_redis(tmp_path / "replica", *PASSWORD, *of_master)))
        until(lambda: replica.info("replication")["master_link_status"] == "up")
        sentinel = stack.enter_context(running_sentinel(tmp_path / "sentinel", port))
        watch = client(f"redis://127.0.0.1:{sentinel}")
        until(lambda: watch.sentinel_slaves("petstore"))
        yield Cache(f"redis+sentinel://:hunter2@127.0.0.1:1,127.0.0.1:{sentinel}/petstore", master, replica, watch)


def client(url: str) -> Any:
    return redis.from_url(url, password="hunter2")


@contextmanager
def running_sentinel(folder: Path, master: str) -> Iterator[int]:
    """Run a Sentinel for the block and give its port."""
    port, file, log = free_port(), folder / "sentinel.conf", folder / "log"
    file.write_text(SENTINEL.format(port=port, folder=folder, master=master))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(shutil.which("redis-server")), file, "--sentinel"], stdout=output, stderr=output
        )
    try:
        until(lambda: "+monitor master petstore" in log.read_text())
        yield port
    finally:
        process.terminate()
        process.wait()


def checks(server: Gunicorn) -> Any:
    return server.send("GET", "/readyz").json().get("checks", {})


def test_requests_pass_while_the_master_is_lost_and_the_replica_keeps_the_counts(cache: Cache) -> None:
    with running_server(CACHE_URL=cache.url) as server:
        server.manage("load_demo_data")
        key = server.issue_key("Partner", "--rate-limit", "5/day")
        until(lambda: checks(server).get("cache") == "ok")
        assert [server.get("/v1/pets", key).status for _ in range(7)] == [200] * 5 + [429] * 2
        until(lambda: cache.master.wait(1, 100) == 1)

        os.kill(cache.master.info()["process_id"], signal.SIGKILL)
        # Before, a pause of the master could look like its loss.
        cache.sentinel.sentinel_set("petstore", "down-after-milliseconds", 500)
        statuses: Counter[int] = Counter()

        def is_counted_again() -> bool:
            status = server.get("/v1/pets", key).status
            statuses[status] += 1
            return status == 429

        until(is_counted_again)
        assert set(statuses) <= {200, 429}
        assert cache.replica.info("replication")["role"] == "master"
        until(lambda: checks(server).get("cache") == "ok")
        until(
            lambda: '"default";r=0;' in server.send("GET", "/v1/pets", headers=bearer(key)).headers.get("RateLimit", "")
        )
