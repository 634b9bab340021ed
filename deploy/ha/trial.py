"""Start the whole set on loopback, break it under load, and count what was lost.

    .venv/bin/python deploy/ha/trial.py --kills 20 --freezes 2 --switchovers 2

Three etcd, three Patroni with PostgreSQL, HAProxy and gunicorn run with the files of this folder, in a temporary
folder, and are stopped at the end. Writers add animals through the service. Each repeats an addition with its
Idempotency-Key until it is acknowledged. Readers read meanwhile. Exit status 0 only if every acknowledged animal is
there once, every break ended within 30 s, and one order explains all that was read. docs/high-availability.md
explains it.
"""
# ruff: noqa: EM101, EM102, INP001, S311, S603, T201, TRY003 - a program of its own, which runs others and prints

import argparse
import base64
import contextlib
import http.client
import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from orders import NEVER, Addition
from readers import Readers, judge_all

FILES = Path(__file__).resolve().parent
ROOT = FILES.parent.parent
NUMBERS = (1, 2, 3)
ALLOWED_SECONDS = 30
PATIENCE = 180
"""Seconds until anything is given up."""
FROZEN_SECONDS = 40
"""Longer than the 20 s after which another primary is elected."""

ports = itertools.count(random.randrange(20000, 30000, 50))


def main() -> int:
    """Run the trial and return the exit status."""
    parser = argparse.ArgumentParser(description="Break a highly available PostgreSQL under load on this machine.")
    parser.add_argument("--kills", type=int, default=2, help="How often the primary is killed (default: 2).")
    parser.add_argument("--machines", type=int, default=0, help="How often its machine is killed, besides.")
    parser.add_argument("--freezes", type=int, default=0, help="How often its machine is frozen for 40 s.")
    parser.add_argument("--forgets", type=int, default=0, help="The same, and etcd forgets the leader at its end.")
    parser.add_argument("--switchovers", type=int, default=0, help="How often another one takes over as planned.")
    parser.add_argument("--writers", type=int, default=50)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--pause", type=float, default=1.0, help="Seconds between two animals of a writer.")
    parser.add_argument("--seed", type=int, default=1, help="The order of the breaks.")
    arguments = parser.parse_args()
    breaks = ([kill_machine, kill_postgresql] * arguments.kills)[: arguments.kills]
    breaks += [kill_machine] * arguments.machines + [freeze] * arguments.freezes
    breaks += [forget] * arguments.forgets
    breaks += [switch_over] * arguments.switchovers
    random.Random(arguments.seed).shuffle(breaks)
    with running_cluster() as cluster, running_service(cluster) as service:
        writers = Writers(service.port, service.key, arguments.pause)
        readers = Readers(service.port, service.key, arguments.pause / 5)
        seconds: list[float] = []
        with (
            writers.writing(arguments.writers),
            readers.reading(arguments.readers),
            contextlib.suppress(TimeoutError),
        ):
            for each in breaks:
                seconds.append(tried(each, cluster, writers, readers))
                cluster.wait_until_whole()
        status = max(report(cluster, writers, seconds), len(seconds) < len(breaks))
        return max(status, report_reads(cluster, writers, readers))


def tried(break_it: "Break", cluster: "Cluster", writers: "Writers", readers: Readers) -> float:
    """Break the primary, print and return the seconds until an animal was acknowledged that was sent afterwards."""
    primary = cluster.primary()
    begun = time.monotonic()
    with break_it(cluster, primary):
        wait_until(lambda: writers.acknowledged_since(begun))
        seconds = time.monotonic() - begun
        name = break_it.__name__.replace("_", " ")
        print(
            f"{name:16} db{primary}: back after {seconds:.1f} s, primary is db{cluster.primary()}", end="", flush=True
        )
    time.sleep(2)  # those that failed last have read again
    print(f", reads failed for {readers.failing(begun):.1f} s", flush=True)
    return seconds


def report(cluster: "Cluster", writers: "Writers", seconds: list[float]) -> int:
    """Compare what was acknowledged with the database, print it, and return the exit status."""
    rows = cluster.query("SELECT name, array_agg(id) FROM pets_pet WHERE name LIKE 'trial %' GROUP BY name")
    stored: dict[str, list[int]] = dict(rows)
    lost = [name for name, number in writers.acknowledged.items() if number not in stored.get(name, [])]
    doubled = [name for name, numbers in stored.items() if len(numbers) > 1]
    late = [each for each in seconds if each > ALLOWED_SECONDS]
    unexpected = {status: count for status, count in writers.responses.items() if status not in {201, 409, 503}}
    print(
        f"{len(writers.acknowledged)} animals acknowledged: {len(lost)} lost, {len(doubled)} doubled. "
        f"Responses: {dict(writers.responses)}.\n"
        f"{len(seconds)} breaks: back after {min(seconds, default=0):.1f} to {max(seconds, default=0):.1f} s, "
        f"{len(late)} after more than {ALLOWED_SECONDS} s."
    )
    return 1 if lost or doubled or late or unexpected else 0


def report_reads(cluster: "Cluster", writers: "Writers", readers: Readers) -> int:
    """Compare what was read with what was added, print it, and return the exit status."""
    stored = dict(cluster.query("SELECT id, name FROM pets_pet"))
    seen = [each for one in readers.seen for each in one]
    verdict = judge_all(seen, writers.additions(), stored, time.monotonic())
    statuses = Counter(each.status for each in seen)
    print(
        f"{len(seen)} reads, {sum(each.from_standby for each in seen)} from a standby: {len(verdict.lacking)} lack an "
        f"acknowledged animal, {len(verdict.vanished)} show one that vanished. Responses: {dict(statuses)}.\n"
        f"The slowest took {max(each.received - each.sent for each in seen):.1f} s. "
        + (f"No order explains them: {verdict.order[:9]}." if verdict.order else "One order explains them all.")
    )
    return 0 if verdict.is_good and statuses.keys() <= {200, 404, 503} else 1


# --- What breaks -----------------------------------------------------------------------------------------------------

Break = Callable[["Cluster", int], contextlib.AbstractContextManager[None]]
"""Breaks the machine with this number when it is entered, and repairs it when it is left."""


@contextlib.contextmanager
def kill_machine(cluster: "Cluster", number: int) -> Iterator[None]:
    """Kill etcd, Patroni and PostgreSQL, and start them again when another machine has taken over."""
    cluster.signal(number, signal.SIGKILL)
    yield
    cluster.start(number)


@contextlib.contextmanager
def kill_postgresql(cluster: "Cluster", number: int) -> Iterator[None]:
    """Kill all processes of PostgreSQL. Patroni does the rest."""
    send_to_all(cluster.postgresql(number), signal.SIGKILL)
    yield


@contextlib.contextmanager
def freeze(cluster: "Cluster", number: int) -> Iterator[None]:
    """Freeze the machine, which is cut off while it has all its connections, and then believes to be the primary."""
    until = time.monotonic() + FROZEN_SECONDS
    cluster.signal(number, signal.SIGSTOP)
    try:
        yield
        time.sleep(max(0.0, until - time.monotonic()))
    finally:
        cluster.signal(number, signal.SIGCONT)


@contextlib.contextmanager
def forget(cluster: "Cluster", number: int) -> Iterator[None]:
    """Freeze it, and let the leader's key vanish when it continues, as an etcd does that led before it was frozen."""
    with freeze(cluster, number):
        yield
        time.sleep(FROZEN_SECONDS)
        cluster.forget_leader()


@contextlib.contextmanager
def switch_over(cluster: "Cluster", number: int) -> Iterator[None]:
    """Let Patroni choose another primary."""
    status, body = cluster.ask(number, "POST", "/switchover", {"leader": f"db{number}"})
    if status != 200:
        raise SystemExit(f"No switchover: {status} {body!r}")
    yield


# --- The cluster -----------------------------------------------------------------------------------------------------


class Machine(NamedTuple):
    """The programs that run on one machine, and their ports."""

    etcd: "Program"
    patroni: "Program"
    data: Path
    postgresql_port: int
    api_port: int


class Cluster:
    """Three machines with the files of this folder, on ports of 127.0.0.1, and HAProxy before them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.account = "postgres" if os.geteuid() == 0 else None  # PostgreSQL does not run as root
        if self.account:
            shutil.chown(folder, self.account)
        # Replaced in the files: the addresses of the machines, and the few others that are this machine's own.
        self.addresses = {f"db{each}:{port}": f"{self.host(each)}:{free_port()}" for each in NUMBERS for port in PORTS}
        self.addresses |= {"/var/run/postgresql": str(folder)}
        self.addresses |= {f"127.0.0.1:{port}": f"127.0.0.1:{free_port()}" for port in (5433,)}
        self.port = free_port()
        self.machines = {number: self._machine(number) for number in NUMBERS}
        self.haproxy = Program(folder, "haproxy", [find("haproxy"), "-f", self._haproxy_file()], {}, None)

    def host(self, _number: int) -> str:
        """Return the address of this machine."""
        return "127.0.0.1"

    def within(self, _number: int) -> list[str]:
        """Return what begins each command of this machine."""
        return []

    @property
    def servers(self) -> str:
        """All addresses of PostgreSQL."""
        return ",".join(self.addresses[f"db{each}:5432"] for each in NUMBERS)

    def start(self, number: int) -> None:
        """Start what runs on this machine."""
        self.machines[number].etcd.start()
        self.machines[number].patroni.start()

    def signal(self, number: int, sent: signal.Signals) -> None:
        """Send it to all that runs on this machine."""
        machine = self.machines[number]
        send_to_all([machine.patroni.pid, machine.etcd.pid, *self.postgresql(number)], sent)

    def postgresql(self, number: int) -> list[int]:
        """Return the processes of PostgreSQL on this machine, the postmaster first."""
        try:
            postmaster = int((self.machines[number].data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii")
        except (OSError, IndexError):
            return []
        return [postmaster, *map(int, children.split())]

    def ask(self, number: int, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send a request to the Patroni of this machine; the status is 0 if there is no response."""
        name = base64.b64encode(b"patroni:PASSWORD").decode()
        sent = json.dumps(body) if body else None
        api = self.machines[number].api_port
        return send(api, method, path, sent, {"Authorization": f"Basic {name}"}, host=self.host(number))

    def primary(self) -> int:
        """Wait until there is a primary, and return its number."""
        return int(
            wait_until(lambda: next((each for each in NUMBERS if self.ask(each, "GET", "/primary")[0] == 200), 0))
        )

    def forget_leader(self) -> None:
        """End the lease of the leader's key in etcd."""
        key = base64.b64encode(b"/service/petstore/leader").decode()
        found = self._ask_etcd("kv/range", {"key": key})["kvs"]
        self._ask_etcd("lease/revoke", {"ID": found[0]["lease"]})

    def wait_until_whole(self) -> None:
        """Wait until there are a primary, two standbys that follow it, and a synchronous one among them."""
        wait_until(self._is_whole)

    def query(self, statement: str) -> list[Any]:
        """Run a statement on the primary as a superuser."""
        address = f"postgres://postgres:PASSWORD@{self.addresses[f'db{self.primary()}:5432']}"
        with psycopg.connect(f"{address}/petstore", autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def create_database(self) -> None:
        """Create the service's role and database."""
        address = f"postgres://postgres:PASSWORD@{self.addresses[f'db{self.primary()}:5432']}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE ROLE petstore LOGIN PASSWORD 'PASSWORD'")
            connection.execute("CREATE DATABASE petstore OWNER petstore")
            connection.execute("GRANT pg_monitor TO petstore")

    def stop(self) -> None:
        """End everything."""
        self.haproxy.kill()
        for number, machine in self.machines.items():
            self.signal(number, signal.SIGKILL)
            machine.patroni.kill()
            machine.etcd.kill()

    def _ask_etcd(self, path: str, body: Any) -> Any:
        """Send a request to the etcd beside the primary."""
        host, port = self.addresses[f"db{self.primary()}:2379"].split(":")
        return json.loads(send(int(port), "POST", f"/v3/{path}", json.dumps(body), host=host)[1])

    def _is_whole(self) -> bool:
        body = self.ask(self.primary(), "GET", "/cluster")[1]
        found = json.loads(body or b"{}").get("members", [])
        roles = Counter(each["role"] for each in found if each["state"] in {"running", "streaming"})
        behind = [each for each in found if each["role"] != "leader" and each.get("lag") not in range(1_000_000)]
        return roles == {"leader": 1, "sync_standby": 1, "replica": 1} and not behind

    def _machine(self, number: int) -> Machine:
        home = self.folder / f"db{number}"
        home.mkdir()
        if self.account:
            shutil.chown(home, self.account)
        own = {"ETCD_NAME": f"db{number}", "PATRONI_NAME": f"db{number}"}
        own |= {"ETCD_DATA_DIR": f"{home}/etcd", "PATRONI_POSTGRESQL_DATA_DIR": f"{home}/data"}
        own |= {"PATRONI_POSTGRESQL_PGPASS": f"{home}/pgpass", "PATRONI_POSTGRESQL_BIN_DIR": find_postgresql()}
        etcd = self._environment("etcd.env", number) | own
        patroni = self._environment("patroni.env", number) | own
        file = home / "patroni.yml"
        file.write_text(self._filled((FILES / "patroni.yml").read_text(encoding="utf-8")), encoding="utf-8")
        careful = home / "careful_patroni.py"
        shutil.copyfile(FILES / careful.name, careful)  # PostgreSQL's account cannot always read our folder
        python = str(Path(find("patroni")).with_name("python3"))
        before = self.within(number)
        account = None if before else self.account
        return Machine(
            Program(home, "etcd", [*before, find("etcd")], etcd, account),
            Program(home, "patroni", [*before, python, str(careful), str(file)], patroni, account),
            home / "data",
            *(int(self.addresses[f"db{number}:{port}"].split(":")[1]) for port in (5432, 8008)),
        )

    def _environment(self, name: str, number: int) -> dict[str, str]:
        """Return the variables of a file that is written for db1."""
        lines = [line for line in (FILES / name).read_text(encoding="utf-8").splitlines() if line[:1] not in {"", "#"}]
        variables = dict(line.split("=", 1) for line in lines)
        common = {"ETCD_INITIAL_CLUSTER"}
        variables |= {key: text.replace("db1", f"db{number}") for key, text in variables.items() if key not in common}
        return {key: self._filled(text) for key, text in variables.items()}

    def _haproxy_file(self) -> str:
        text = (FILES / "haproxy.cfg").read_text(encoding="utf-8").replace("127.0.0.1:5432", f"127.0.0.1:{self.port}")
        for number in NUMBERS:
            api = self.addresses[f"db{number}:8008"].split(":")[1]
            text = text.replace(f"db{number}:5432 check port 8008", f"db{number}:5432 check port {api}")
        (self.folder / "haproxy.cfg").write_text(self._filled(text), encoding="utf-8")
        return str(self.folder / "haproxy.cfg")

    def _filled(self, text: str) -> str:
        for old, new in self.addresses.items():
            text = text.replace(old, new)
        return text


PORTS = (2379, 2380, 5432, 8008)


@contextlib.contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Run a new cluster with an empty database for the block."""
    # In /tmp, since the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="petstore-ha-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder))
        try:
            for number in NUMBERS:
                cluster.start(number)
            cluster.haproxy.start()
            cluster.wait_until_whole()
            cluster.create_database()
            yield cluster
        finally:
            cluster.stop()


# --- The service and its callers -------------------------------------------------------------------------------------


class Service(NamedTuple):
    """A running gunicorn, and a key for it."""

    port: int
    key: str


@contextlib.contextmanager
def running_service(cluster: Cluster) -> Iterator[Service]:
    """Migrate the database through HAProxy, and run the service for the block."""
    port = free_port()
    address = f"postgres://petstore:PASSWORD@127.0.0.1:{cluster.port}/petstore"
    environment = {"PATH": os.environ["PATH"], "PORT": str(port), "WEB_CONCURRENCY": "2", "DATABASE_URL": address}
    environment["DATABASE_STANDBY_URL"] = f"postgres://petstore:PASSWORD@{cluster.servers}/petstore"
    manage = [sys.executable, str(ROOT / "manage.py")]
    subprocess.run([*manage, "migrate", "--verbosity=0"], env=environment, check=True)
    subprocess.run([*manage, "load_demo_data"], env=environment, stdout=subprocess.DEVNULL, check=True)
    issue = [*manage, "issue_api_key", "Trial", "--secret-only"]
    key = subprocess.run(issue, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "deploy" / "gunicorn.conf.py")]
    gunicorn = Program(cluster.folder, "gunicorn", command, environment, None)
    gunicorn.start()
    try:
        wait_until(lambda: b'"standby": "ok"' in send(port, "GET", "/readyz")[1])
        yield Service(port, key)
    finally:
        gunicorn.stop()


class Writers:
    """Callers that add animals, and what they were acknowledged."""

    def __init__(self, port: int, key: str, pause: float, host: str = "127.0.0.1") -> None:
        self.port, self.key, self.pause, self.host = port, key, pause, host
        self.acknowledged: dict[str, int] = {}
        """The ID of each animal that was acknowledged, by its name, which no other has."""
        self.sent: dict[str, float] = {}
        """When each animal was sent for the first time."""
        self.acknowledged_at: dict[str, float] = {}
        self.responses: Counter[int] = Counter()
        """How often there was each status; 0 is a broken connection."""
        self._stop = threading.Event()
        self._last_sent = 0.0

    @contextlib.contextmanager
    def writing(self, count: int) -> Iterator[None]:
        """Let so many of them write in the block."""
        threads = [threading.Thread(target=self._write, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def acknowledged_since(self, moment: float) -> bool:
        """Return whether an animal was acknowledged that was sent after this moment."""
        return self._last_sent > moment

    def additions(self) -> list[Addition]:
        """Return what was added, and when, for `orders.py`."""
        return [Addition(name, sent, self.acknowledged_at.get(name, NEVER)) for name, sent in list(self.sent.items())]

    def _write(self, writer: int) -> None:
        for count in itertools.count():
            name = f"trial {writer}-{count}"
            while not self._stop.wait(self.pause):
                if self._add(name):
                    break
            if self._stop.is_set():
                return

    def _add(self, name: str) -> bool:
        sent = time.monotonic()
        self.sent.setdefault(name, sent)
        headers = {"Authorization": f"Bearer {self.key}", "Idempotency-Key": name.replace(" ", "-")}
        body = json.dumps({"name": name, "categoryId": 1})
        headers |= {"Content-Type": "application/json"}
        status, response = send(self.port, "POST", "/v1/pets", body, headers, host=self.host)
        self.responses[status] += 1
        if status != 201:
            return False
        self.acknowledged[name] = json.loads(response)["id"]
        self.acknowledged_at[name] = time.monotonic()
        self._last_sent = max(self._last_sent, sent)
        return True


# --- Programs --------------------------------------------------------------------------------------------------------


class Program:
    """A program that can be started again; its output goes to a file."""

    def __init__(
        self, folder: Path, name: str, command: list[str], environment: Mapping[str, str], account: str | None
    ) -> None:
        self.log, self.command, self.folder, self.account = folder / f"{name}.log", command, folder, account
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process, or 0 before the first start."""
        return self.process.pid if self.process else 0

    def start(self) -> None:
        """Start it; one that ran before was killed."""
        self.kill()
        groups = {"user": self.account, "group": self.account, "extra_groups": []} if self.account else {}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **groups,  # type: ignore[call-overload]  # it knows no dictionaries
            )  # fmt: skip

    def stop(self) -> None:
        """Ask it to end, and wait."""
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it if it runs."""
        if self.process:
            self.process.kill()
            self.process.wait()


def send_to_all(processes: list[int], sent: signal.Signals) -> None:
    """Send a signal to those that still run."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            if process:
                os.kill(process, sent)


def send(  # noqa: PLR0913 - each is a part of a request
    port: int,
    method: str,
    path: str,
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    host: str = "127.0.0.1",
) -> tuple[int, bytes]:
    """Send one request on a new connection; the status is 0 if there is no response within 10 s."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def wait_until(condition: Callable[[], Any]) -> Any:
    """Wait for a true value and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            print(f"Given up after {PATIENCE} s.")
            raise TimeoutError
        time.sleep(0.1)
    return value


def free_port() -> int:
    """Return a port below those that the system gives to connections: no one takes it while its server is down."""
    for port in ports:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise SystemExit("There is no free port.")


def find(program: str) -> str:
    """Return the path of a program."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if not found:
        raise SystemExit(f"{program} is not installed. See docs/high-availability.md")
    return found


def find_postgresql() -> str:
    """Return the folder of the newest PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return str(found[-1] if found else Path(find("postgres")).parent)


if __name__ == "__main__":
    raise SystemExit(main())
