"""Several instances of the service before three database machines: what each part costs a request, and what is lost.

    .venv/bin/python -m lab.growth

Each instance, with an HAProxy beside it, and each database machine has a network namespace of its own. nginx, PgBouncer
and Redis are in another one. All have the files that ship. First, 1, 2 and 4 instances get the same requests in turn,
nine lists to one addition; then four with PgBouncer, and four for a key with a rate limit. At the end, callers read and
add while an instance is killed, and the machine of the primary. Needs root, and what the trial needs.
"""

import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from typing import NamedTuple

from tests.flood import additions, lists, responses
from tests.operating.pgbouncer import own_file
from tests.protocol.nginx import running_nginx
from tests.server import running_redis

from lab.benchmarks.processes import cpu_seconds, manage, run
from lab.trial.cluster import NUMBERS
from lab.trial.partitions import US, Apart, address, enter, networks
from lab.trial.programs import Program, find, free_port, send, wait_until
from lab.trial.readers import Readers
from lab.trial.service import GUNICORN, databases
from lab.trial.verdict import report, report_reads
from lab.trial.writers import Writers

INSTANCES = (5, 6, 7, 8)
ROUNDS, SECONDS, CONNECTIONS = 5, 4.0, 16

Cpu = Callable[[], float]
"""Returns the CPU seconds of a part so far."""


class Column(NamedTuple):
    """What is measured: these instances, with this key."""

    name: str
    upstreams: list[str]
    key: str


def main() -> int:
    """Run it in a network of its own, and return the exit status."""
    if "PETSTORE_APART" not in os.environ:
        command = ["unshare", "--net", sys.executable, "-m", "lab.growth"]
        return subprocess.run(command, env=os.environ | {"PETSTORE_APART": "1"}, check=False).returncode
    with (
        networks((*NUMBERS, *INSTANCES)) as spaces,
        Apart.running(spaces) as cluster,
        running_redis(cluster.folder, "--bind", f"127.0.0.1 {address(US)}", "--protected-mode", "no") as cache,
    ):
        environment = databases(cluster) | {"SECRET_KEY": secrets.token_hex(32)}
        for arguments in (("migrate", "--verbosity=0"), ("load_demo_data",)):
            run(*manage(*arguments), environment=environment)
        issue = manage("issue_api_key", "Growth", "--secret-only")
        keys = [run(*issue, *limit, environment=environment).output.strip() for limit in ((), RATE_LIMIT)]
        environment["CACHE_URL"] = cache.replace("127.0.0.1", address(US))
        with running(cluster, spaces, environment) as (programs, direct, pooled):
            programs["Redis"] = [int((cluster.folder / "redis.log").read_text().split(":", 1)[0])]
            columns = [Column(f"{count}", direct[:count], keys[0]) for count in (1, 2, 4)]
            columns += [Column("4, PgBouncer", pooled, keys[0]), Column("4, rate limit", direct, keys[1])]
            compare(cluster, columns, {name: partial(_cpu, pids) for name, pids in programs.items()})
            return break_them(cluster, programs["service"], direct, keys[0])


RATE_LIMIT = ("--rate-limit", "1000000/min")


def _cpu(pids: list[int]) -> float:
    return sum(map(cpu_seconds, pids))


def compare(cluster: Apart, columns: list[Column], parts: dict[str, Cpu]) -> None:
    """Print what a request costs each part, in µs of CPU: medians of the rounds, in which the columns take turns."""
    primary = cluster.primary()
    for name, numbers in (("primary", [primary]), ("two standbys", [each for each in NUMBERS if each != primary])):
        parts[f"PostgreSQL, {name}"] = partial(_cpu, [cluster.postgresql(each)[0] for each in numbers])
    rounds = [[_round(cluster, column, parts) for column in columns] for _ in range(ROUNDS)]
    print(f"| µs of CPU | {' | '.join(column.name for column in columns)} |\n| --- |{' ---: |' * len(columns)}")
    for name in rounds[0][0]:
        medians = (statistics.median(each[at][name] for each in rounds) for at in range(len(columns)))
        print(f"| {name} | {' | '.join(f'{median:,.0f}' for median in medians)} |", flush=True)


def _round(cluster: Apart, column: Column, parts: dict[str, Cpu]) -> dict[str, float]:
    requests, statuses = cycle(lists(column.key) * 9 + additions(column.key)), Counter[int]()
    with running_nginx(*column.upstreams) as nginx:
        pid = int((nginx.folder / "nginx.pid").read_text())
        parts = parts | {"nginx": partial(cpu_seconds, pid)}
        written, before, end = _wal(cluster), {name: cpu() for name, cpu in parts.items()}, time.monotonic() + SECONDS
        going = lambda: time.monotonic() < end  # noqa: E731
        for _, status in responses(nginx.plain, requests, connections=CONNECTIONS, going=going):
            statuses[status] += 1
        if statuses.keys() != {200, 201}:
            raise SystemExit(f"Requests failed: {statuses}")
        spent = {name: (cpu() - before[name]) * 1e6 / statuses.total() for name, cpu in parts.items()}
    spent["bytes of WAL for an addition"] = (_wal(cluster) - written) / statuses[201]
    return spent | {"requests per second": statuses.total() / SECONDS}


def _wal(cluster: Apart) -> int:
    return int(cluster.query("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")[0][0])


def break_them(cluster: Apart, services: list[int], upstreams: list[str], key: str) -> int:
    """Kill an instance, then the primary's machine, under load; print what was lost and return the exit status."""
    with running_nginx(*upstreams) as nginx:
        writers, readers = Writers(nginx.plain, key, 0.1), Readers(nginx.plain, key, 0.05)
        with writers.writing(8), readers.reading(8):
            time.sleep(5)
            seconds = [_back_after(writers, lambda: os.kill(services[0], signal.SIGKILL))]
            time.sleep(5)
            primary = cluster.primary()
            seconds.append(_back_after(writers, lambda: cluster.signal(primary, signal.SIGKILL)))
            cluster.start(primary)
            cluster.wait_until_whole()
            time.sleep(5)
        print(f"No addition for {seconds[0]:.1f} s without an instance, for {seconds[1]:.1f} s without the primary.")
        return max(report(cluster, writers, seconds), report_reads(cluster, writers, readers))


def _back_after(writers: Writers, lose: Callable[[], None]) -> float:
    begun = time.monotonic()
    lose()
    wait_until(lambda: writers.acknowledged_since(time.monotonic() - 0.5))
    time.sleep(2)
    wait_until(lambda: writers.acknowledged_since(time.monotonic() - 0.5))
    return writers.longest_pause(begun)


@contextmanager
def running(
    cluster: Apart, spaces: dict[int, int], environment: dict[str, str]
) -> Iterator[tuple[dict[str, list[int]], list[str], list[str]]]:
    """Run all for the block. Give the processes of each part, and the addresses: with HAProxy, and with PgBouncer."""
    behind = {"DATABASE_BEHIND_PGBOUNCER": "true", "WEB_CONCURRENCY": "1", "ALLOWED_HOSTS": "127.0.0.1"}
    programs: dict[str, list[Program]] = {"service": [], "HAProxy": [], "PgBouncer": []}
    with ExitStack() as stack:

        def start(part: str, program: Program, end: Callable[[], None]) -> None:
            programs[part].append(program)
            program.start()
            stack.callback(end)

        bouncer, port = pgbouncer(cluster)
        start("PgBouncer", bouncer, bouncer.stop)
        for number in INSTANCES:
            within, settings = enter(spaces[number]), environment | behind | {"HOST": address(number)}
            haproxy = [*within, find("haproxy"), "-f", str(cluster.folder / "haproxy.cfg")]
            beside = Program(cluster.folder, f"haproxy{number}", haproxy, {}, None)
            start("HAProxy", beside, beside.kill)
            pooled = f"postgres://petstore@{address(US)}:{port}/petstore"
            for name, own in (
                ("8000", {"DATABASE_BEHIND_PGBOUNCER": "false"}),
                ("8001", {"DATABASE_URL": pooled}),
            ):
                program = Program(
                    cluster.folder, f"{number}-{name}", [*within, *GUNICORN], settings | own | {"PORT": name}, None
                )
                start("service", program, program.stop)
        ready = [(address(number), port) for port in (8000, 8001) for number in INSTANCES]
        wait_until(lambda: all(_is_ready(*each) for each in ready))
        processes = {part: [program.pid for program in some] for part, some in programs.items()}
        processes["HAProxy"].append(cluster.haproxy.pid)
        named = [f"{host}:{port}" for host, port in ready]
        yield processes, named[: len(INSTANCES)], named[len(INSTANCES) :]


def _is_ready(host: str, port: int) -> bool:
    return send(port, "GET", "/readyz", headers={"Host": "127.0.0.1"}, host=host)[0] == 200


def pgbouncer(cluster: Apart) -> tuple[Program, int]:
    """Return PgBouncer with the file that ships, before HAProxy, and its port."""
    port, database = free_port(), f"host=127.0.0.1 port={cluster.port} user=petstore password=PASSWORD"
    file = own_file(cluster.folder, database=database, port=port, host=address(US))
    return Program(cluster.folder, "pgbouncer", [find("pgbouncer"), str(file)], {}, cluster.account), port


if __name__ == "__main__":
    raise SystemExit(main())
