"""Several instances of the service before three database machines: what each part costs a request, and what is lost.

    .venv/bin/python -m lab.growth

Each instance and each database machine has a network namespace of its own. nginx, PgBouncer and Redis are in another
one, each with the file that ships. First, 1, 2 and 4 instances get the same requests in turn: nine lists to one
addition, from a key with a rate limit. Then callers read and add while an instance is killed, and the machine of the
primary. Needs root, and what the trial needs.
"""

import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path

from tests.flood import additions, lists, responses
from tests.protocol.nginx import running_nginx
from tests.server import running_redis

from lab.benchmarks.processes import cpu_seconds, manage, run
from lab.trial.cluster import FILES, NUMBERS
from lab.trial.partitions import US, Apart, address, enter, networks
from lab.trial.programs import Program, find, free_port, send, wait_until
from lab.trial.readers import Readers
from lab.trial.service import GUNICORN, databases
from lab.trial.verdict import report, report_reads
from lab.trial.writers import Writers

INSTANCES = (5, 6, 7, 8)
ROUNDS, SECONDS, CONNECTIONS = 5, 4.0, 16


def main() -> int:
    """Run it in a network of its own, and return the exit status."""
    if "PETSTORE_APART" not in os.environ:
        command = ["unshare", "--net", sys.executable, "-m", "lab.growth"]
        return subprocess.run(command, env=os.environ | {"PETSTORE_APART": "1"}, check=False).returncode
    with (
        networks((*NUMBERS, *INSTANCES)) as spaces,
        Apart.running(spaces) as cluster,
        running_pgbouncer(cluster) as pgbouncer,
        running_redis(cluster.folder, "--bind", f"127.0.0.1 {address(US)}", "--protected-mode", "no") as cache,
    ):
        direct = databases(cluster) | {"SECRET_KEY": secrets.token_hex(32)}
        behind = {"DATABASE_URL": f"postgres://petstore@{address(US)}:{pgbouncer.port}/petstore"}
        behind |= {"DATABASE_BEHIND_PGBOUNCER": "true", "CACHE_URL": cache.replace("127.0.0.1", address(US))}
        for arguments in (("migrate", "--verbosity=0"), ("load_demo_data",)):
            run(*manage(*arguments), environment=direct)
        issue = manage("issue_api_key", "Growth", "--secret-only", "--rate-limit", "1000000/min")
        key = run(*issue, environment=direct).output.strip()
        with running_instances(cluster, spaces, direct | behind) as instances:
            redis = int((cluster.folder / "redis.log").read_text().split(":", 1)[0])
            parts = {
                "service": lambda: sum(cpu_seconds(each.pid) for each, _ in instances),
                "PostgreSQL, primary": lambda: cpu_seconds(cluster.postgresql(cluster.primary())[0]),
                "PostgreSQL, two standbys": lambda: sum(
                    cpu_seconds(cluster.postgresql(each)[0]) for each in NUMBERS if each != cluster.primary()
                ),
                "PgBouncer": lambda: cpu_seconds(pgbouncer.program.pid),
                "HAProxy": lambda: cpu_seconds(cluster.haproxy.pid),
                "Redis": lambda: cpu_seconds(redis),
            }
            compare(instances, parts, key)
            return break_them(cluster, instances, key)


def compare(instances: "Instances", parts: dict[str, Callable[[], float]], key: str) -> None:
    """Print what a request costs each part, in µs of CPU, with 1, 2 and 4 instances in turn: medians of the rounds."""
    figures: dict[int, list[dict[str, float]]] = {1: [], 2: [], 4: []}
    for _ in range(ROUNDS):
        for count, rounds in figures.items():
            with running_nginx(*(upstream for _, upstream in instances[:count])) as nginx:
                pid = int((nginx.folder / "nginx.pid").read_text())
                rounds.append(_round(nginx.plain, key, parts | {"nginx": partial(cpu_seconds, pid)}))
    names = list(figures[1][0])
    print(f"| µs of CPU of a request | {' | '.join(f'{count} instances' for count in figures)} |")
    print(f"| --- |{' ---: |' * len(figures)}")
    for name in names:
        medians = (statistics.median(each[name] for each in rounds) for rounds in figures.values())
        print(f"| {name} | {' | '.join(f'{median:,.0f}' for median in medians)} |", flush=True)


def _round(port: int, key: str, parts: dict[str, Callable[[], float]]) -> dict[str, float]:
    requests = cycle(lists(key) * 9 + additions(key))
    before, end, statuses = {name: cpu() for name, cpu in parts.items()}, time.monotonic() + SECONDS, list[int]()
    for _, status in responses(port, requests, connections=CONNECTIONS, going=lambda: time.monotonic() < end):
        statuses.append(status)
    if set(statuses) != {200, 201}:
        raise SystemExit(f"Requests failed: {sorted({*statuses})}")
    spent = {name: (cpu() - before[name]) * 1e6 / len(statuses) for name, cpu in parts.items()}
    return spent | {"requests per second": len(statuses) / SECONDS}


def break_them(cluster: Apart, instances: "Instances", key: str) -> int:
    """Kill an instance, then the primary's machine, under load; print what was lost and return the exit status."""
    with running_nginx(*(upstream for _, upstream in instances)) as nginx:
        writers, readers = Writers(nginx.plain, key, 0.1), Readers(nginx.plain, key, 0.05)
        seconds: list[float] = []
        with writers.writing(8), readers.reading(8):
            time.sleep(5)
            lost, _ = instances[-1]
            seconds.append(_back_after(writers, lost.kill))
            time.sleep(5)
            primary = cluster.primary()
            seconds.append(_back_after(writers, lambda: cluster.signal(primary, signal.SIGKILL)))
            lost.start()
            cluster.start(primary)
            cluster.wait_until_whole()
            time.sleep(5)
        print(f"instance lost: {seconds[0]:.1f} s; primary lost: {seconds[1]:.1f} s without an addition")
        return max(report(cluster, writers, seconds), report_reads(cluster, writers, readers))


def _back_after(writers: Writers, lose: Callable[[], None]) -> float:
    begun = time.monotonic()
    lose()
    wait_until(lambda: writers.acknowledged_since(time.monotonic() - 0.5))
    time.sleep(2)
    wait_until(lambda: writers.acknowledged_since(time.monotonic() - 0.5))
    return writers.longest_pause(begun)


Instances = list[tuple[Program, str]]
"""gunicorn, and its address."""


@contextmanager
def running_instances(cluster: Apart, spaces: dict[int, int], environment: dict[str, str]) -> Iterator[Instances]:
    """Run one in each namespace for the block, with one worker."""
    instances: Instances = []
    for number in INSTANCES:
        own = {"HOST": address(number), "PORT": "8000", "WEB_CONCURRENCY": "1", "ALLOWED_HOSTS": "127.0.0.1"}
        command = [*enter(spaces[number]), *GUNICORN]
        program = Program(cluster.folder, f"gunicorn{number}", command, environment | own, None)
        instances.append((program, f"{address(number)}:8000"))
    with ExitStack() as stack:
        for program, _ in instances:
            program.start()
            stack.callback(program.stop)
        wait_until(lambda: all(_is_ready(address(number)) for number in INSTANCES))
        yield instances


def _is_ready(host: str) -> bool:
    return send(8000, "GET", "/readyz", headers={"Host": "127.0.0.1"}, host=host)[0] == 200


class PgBouncer:
    """PgBouncer with the file that ships, before HAProxy."""

    def __init__(self, cluster: Apart) -> None:
        self.port = free_port()
        changed = {
            "host=127.0.0.1 port=5432": f"host=127.0.0.1 port={cluster.port} user=petstore password=PASSWORD",
            "listen_addr = 127.0.0.1": f"listen_addr = {address(US)}",
            "listen_port = 6432": f"listen_port = {self.port}",
            "unix_socket_dir = /var/run/postgresql": f"unix_socket_dir = {cluster.folder}",
            "auth_type = scram-sha-256": "auth_type = any",
        }
        text = (FILES.parent / "pgbouncer" / "pgbouncer.ini").read_text(encoding="utf-8")
        for old, new in changed.items():
            text = text.replace(old, new)
        file = cluster.folder / "pgbouncer.ini"
        file.write_text(text, encoding="utf-8")
        self.program = Program(cluster.folder, "pgbouncer", [find("pgbouncer"), str(file)], {}, cluster.account)


@contextmanager
def running_pgbouncer(cluster: Apart) -> Iterator[PgBouncer]:
    """Run it for the block."""
    pgbouncer = PgBouncer(cluster)
    pgbouncer.program.start()
    try:
        wait_until(lambda: "process up" in Path(pgbouncer.program.log).read_text(encoding="utf-8"))
        yield pgbouncer
    finally:
        pgbouncer.program.stop()


if __name__ == "__main__":
    raise SystemExit(main())
